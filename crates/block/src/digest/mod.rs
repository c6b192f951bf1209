//! Digests of all bytes of an image: hashes of its leaves, and a root over these.
//!
//! In: bytes in order, or digests as they are stored. Out: digests, their root, a source that hands
//! out nothing else than the bytes it was made of ([`Verified`]). Spec: `docs/formats/digest.md`.
//!
//! **Invariant:** the root is taken over every byte of the stored form, so who knows the root needs
//! to trust nothing of it.

mod builder;
mod verified;

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};
use sinterfs_model::{Error, Result};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Bytes, ReadAt};

pub use builder::DigestBuilder;
pub use verified::Verified;

/// The first bytes of the stored form.
const MAGIC: [u8; 8] = *b"SINTERDG";

/// The only version there is.
const VERSION: u32 = 1;

/// The only hash there is: SHA-256.
const SHA_256: u16 = 1;

/// Sizes of a leaf that are accepted, as powers of two.
const LEAF_BITS: std::ops::RangeInclusive<u16> = 12..=24;

/// The size of a leaf in new digests, as a power of two: 64 KiB.
const NEW_LEAF_BITS: u16 = 16;

/// What stands before the bytes of a leaf where they are hashed.
const OF_LEAF: [u8; 1] = [0];

/// What stands before stored digests where they are hashed.
const OF_ALL: [u8; 1] = [1];

type Hash = [u8; 32];

/// The start of the stored form; the hashes of all leaves follow.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    version: U32,
    hash: U16,
    leaf_bits: U16,
    covered: U64,
    zero: U64,
}

const _: () = assert!(size_of::<Header>() == 32);

/// The root digest of an image: who knows it knows every byte that the digests cover.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Root(Hash);

impl From<Hash> for Root {
    fn from(hash: Hash) -> Self {
        Self(hash)
    }
}

impl From<Root> for Hash {
    fn from(root: Root) -> Self {
        root.0
    }
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Root({self})")
    }
}

impl FromStr for Root {
    type Err = Error;

    /// Reads 64 hexadecimal digits.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::invalid(format!("`{text}` is no digest of 64 hexadecimal digits"));
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if pairs.len() != 32 || !rest.is_empty() {
            return Err(wrong());
        }
        let mut root = [0; 32];
        for (byte, [high, low]) in root.iter_mut().zip(pairs) {
            let digit = |digit: &u8| char::from(*digit).to_digit(16).ok_or_else(wrong);
            *byte = u8::try_from(digit(high)? * 16 + digit(low)?).map_err(|_| wrong())?;
        }
        Ok(Self(root))
    }
}

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

    /// Hashes a range of a source.
    pub fn of(source: &dyn ReadAt, start: u64, len: u64) -> Result<Self> {
        const STEP: u64 = 256 << 10;
        let mut builder = DigestBuilder::default();
        let mut buf = crate::codec::zeroed(len.min(STEP))?;
        let mut done = 0;
        while done < len {
            let count = usize::try_from(len - done).map_or(buf.len(), |left| left.min(buf.len()));
            let part = buf.split_at_mut(count).0;
            source.read_at(start.saturating_add(done), part)?;
            builder.update(part);
            done += count as u64;
        }
        builder.finish()
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
    fn fits(&self, leaf: u64, bytes: &[u8]) -> bool {
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

#[cfg(test)]
mod tests;
