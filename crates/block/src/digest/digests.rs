//! The hashes of all leaves, as they are stored.
//!
//! **Invariant:** the header and the number of hashes were checked when they were opened.

use sha2::{Digest, Sha256};
use sinterfs_model::{Error, Result};
use zerocopy::FromBytes;

use super::layout::{Hash, Header, LEAF_BITS, MAGIC, OF_ALL, OF_LEAF, SHA_256, VERSION};
use super::root::Root;
use crate::Bytes;

/// The hashes of all leaves.
#[derive(Debug, Clone)]
pub struct Digests {
    /// The stored form.
    stored: Bytes,
    header: Header,
}

impl Digests {
    /// Takes stored digests. `Corrupt` or `Unsupported` for what are none.
    pub fn open(stored: Bytes) -> Result<Self> {
        let none = || Error::corrupt("these are no digests");
        let (header, hashes) = Header::ref_from_prefix(&stored).map_err(|_| none())?;
        let header = *header;
        if header.magic != MAGIC {
            return Err(none());
        }
        if header.version.get() != VERSION || header.hash.get() != SHA_256 {
            let (version, hash) = (header.version, header.hash);
            let what = format!("digests of version {version}, hash {hash}");
            return Err(Error::unsupported(what));
        }
        if !LEAF_BITS.contains(&header.leaf_bits.get()) || header.zero.get() != 0 {
            return Err(Error::corrupt("digests that make no sense"));
        }
        let leaves = header.covered.get().div_ceil(1 << header.leaf_bits.get());
        if leaves.checked_mul(size_of::<Hash>() as u64) != Some(hashes.len() as u64) {
            let covered = header.covered;
            let what = format!("{} bytes of hashes for {covered} bytes", hashes.len());
            return Err(Error::corrupt(what));
        }
        Ok(Self { stored, header })
    }

    /// Returns the stored form.
    pub fn stored(&self) -> &[u8] {
        &self.stored
    }

    /// Computes the root.
    pub fn root(&self) -> Root {
        let mut hash = Sha256::new_with_prefix(OF_ALL);
        hash.update(&self.stored);
        Root(hash.finalize().into())
    }

    /// Returns how many bytes are covered.
    pub fn covered(&self) -> u64 {
        self.header.covered.get()
    }

    /// Returns the bytes of each leaf but the last, which may be shorter.
    pub fn leaf_size(&self) -> u64 {
        1 << self.header.leaf_bits.get()
    }

    /// Returns whether these are the bytes of a leaf.
    pub(super) fn fits(&self, leaf: u64, bytes: &[u8]) -> bool {
        let start = usize::try_from(leaf).ok().and_then(|leaf| {
            let at = leaf.checked_mul(size_of::<Hash>())?;
            at.checked_add(size_of::<Header>())
        });
        let expected = start.and_then(|at| self.stored.get(at..)?.get(..size_of::<Hash>()));
        expected == Some(&hash_of_leaf(bytes))
    }
}

fn hash_of_leaf(bytes: &[u8]) -> Hash {
    let mut hash = Sha256::new_with_prefix(OF_LEAF);
    hash.update(bytes);
    hash.finalize().into()
}
