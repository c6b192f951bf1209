//! The hashes of all leaves, as they are stored.
//!
//! **Invariant:** the header and the number of hashes were checked when they were opened.

use sha2::{Digest, Sha256};
use sinterfs_model::{Error, Result};
use zerocopy::FromBytes;

use super::layout::{
    Hash, Header, LEAF_BITS, LEAF_PREFIX, MAGIC, ROOT_PREFIX, SHA_256, VERSION, WITH_TABLE,
};
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
    /// Opens stored digests. Fails with `Corrupt` or `Unsupported`.
    pub fn open(stored: Bytes) -> Result<Self> {
        let no_digests = || Error::corrupt("no digests: the header does not match");
        let (header, hashes) = Header::ref_from_prefix(&stored).map_err(|_| no_digests())?;
        let header = *header;
        if header.magic != MAGIC {
            return Err(no_digests());
        }
        let has_table = header.version.get() == WITH_TABLE;
        if !(has_table || header.version.get() == VERSION) || header.hash.get() != SHA_256 {
            let (version, hash) = (header.version, header.hash);
            let what = format!("digests of version {version}, hash {hash}");
            return Err(Error::unsupported(what));
        }
        let table = header.entries.get();
        if !LEAF_BITS.contains(&header.leaf_bits.get()) || !has_table && table != 0 {
            return Err(Error::corrupt("digests with an impossible header"));
        }
        let leaves = leaves_of(&header);
        let len = leaves.checked_mul(size_of::<Hash>() as u64);
        let len = len.and_then(|len| len.checked_add(table.checked_mul(ENTRY as u64)?));
        if len != Some(hashes.len() as u64) {
            let covered = header.covered;
            let what = format!(
                "{} bytes of hashes and {table} entries for {covered} bytes",
                hashes.len()
            );
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
        let mut hash = Sha256::new_with_prefix(ROOT_PREFIX);
        hash.update(&self.stored);
        Root(hash.finalize().into())
    }

    /// Returns the number of covered bytes.
    pub fn covered(&self) -> u64 {
        self.header.covered.get()
    }

    /// Returns the table of which the root is, too; `None` in version 1.
    pub fn table(&self) -> Option<Vec<u64>> {
        if self.header.version.get() != WITH_TABLE {
            return None;
        }
        let hashes = usize::try_from(leaves_of(&self.header)).ok()?;
        let skip = hashes.checked_mul(size_of::<Hash>())?;
        let table = self.stored.get(size_of::<Header>().checked_add(skip)?..)?;
        let (entries, _) = table.as_chunks::<ENTRY>();
        Some(entries.iter().map(|one| u64::from_le_bytes(*one)).collect())
    }

    /// Returns the length of each leaf in bytes; the last one may be shorter.
    pub fn leaf_size(&self) -> u64 {
        1 << self.header.leaf_bits.get()
    }

    /// Returns whether these bytes match the hash of a leaf.
    pub fn matches(&self, leaf: u64, bytes: &[u8]) -> bool {
        let leaf = Some(leaf).filter(|leaf| *leaf < leaves_of(&self.header));
        let start = leaf.and_then(|leaf| usize::try_from(leaf).ok());
        let start = start.and_then(|leaf| {
            let at = leaf.checked_mul(size_of::<Hash>())?;
            at.checked_add(size_of::<Header>())
        });
        let expected = start.and_then(|at| self.stored.get(at..)?.get(..size_of::<Hash>()));
        expected == Some(&hash_of_leaf(bytes))
    }
}

/// Bytes of an entry of the table.
pub(super) const ENTRY: usize = 8;

/// Returns the number of leaves.
fn leaves_of(header: &Header) -> u64 {
    let covered = header.covered.get();
    covered.div_ceil(1 << header.leaf_bits.get())
}

fn hash_of_leaf(bytes: &[u8]) -> Hash {
    let mut hash = Sha256::new_with_prefix(LEAF_PREFIX);
    hash.update(bytes);
    hash.finalize().into()
}
