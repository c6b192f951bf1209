//! Computes digests of bytes that arrive in order.
//!
//! **Invariant:** the digests depend only on the bytes, not on how they were split into calls.

use std::fmt;

use sha2::{Digest, Sha256};
use sinterfs_model::Result;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32, U64};

use super::digests::Digests;
use super::layout::{Header, LEAF_PREFIX, MAGIC, NEW_LEAF_BITS, SHA_256, VERSION, WITH_TABLE};
use crate::{Bytes, ReadAt};

/// Computes digests. Memory: 32 bytes a leaf.
pub struct DigestBuilder {
    /// Space for the header, then the hashes of full leaves.
    stored: Vec<u8>,
    /// The state of the leaf that is not full yet.
    open: Sha256,
    in_open: usize,
    covered: u64,
}

/// Bytes of a leaf.
const LEAF: usize = 1 << NEW_LEAF_BITS;

impl DigestBuilder {
    /// Takes the next bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        self.covered += bytes.len() as u64;
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(LEAF - self.in_open));
            self.open.update(now);
            self.in_open += now.len();
            if self.in_open == LEAF {
                self.close();
            }
            bytes = rest;
        }
    }

    /// Ends a leaf.
    fn close(&mut self) {
        let full = std::mem::replace(&mut self.open, Sha256::new_with_prefix(LEAF_PREFIX));
        self.stored.extend_from_slice(&full.finalize());
        self.in_open = 0;
    }

    /// Returns the number of bytes so far.
    pub fn covered(&self) -> u64 {
        self.covered
    }

    /// Returns the digests.
    pub fn finish(self) -> Result<Digests> {
        self.finish_as(VERSION, &[])
    }

    /// Returns the digests with a table, whose meaning the image's format defines.
    pub fn finish_with_table(self, table: &[u64]) -> Result<Digests> {
        self.finish_as(WITH_TABLE, table)
    }

    fn finish_as(mut self, version: u32, table: &[u64]) -> Result<Digests> {
        if self.in_open > 0 {
            self.close();
        }
        let entries = table.iter().flat_map(|entry| entry.to_le_bytes());
        self.stored.extend(entries);
        let header = Header {
            magic: MAGIC,
            version: U32::new(version),
            hash: U16::new(SHA_256),
            leaf_bits: U16::new(NEW_LEAF_BITS),
            covered: U64::new(self.covered),
            entries: U64::new(table.len() as u64),
        };
        let room = self.stored.iter_mut().zip(header.as_bytes());
        room.for_each(|(to, from)| *to = *from);
        Digests::open(Bytes::from(self.stored))
    }
}

impl Default for DigestBuilder {
    fn default() -> Self {
        Self {
            stored: vec![0; size_of::<Header>()],
            open: Sha256::new_with_prefix(LEAF_PREFIX),
            in_open: 0,
            covered: 0,
        }
    }
}

impl fmt::Debug for DigestBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DigestBuilder")
            .field("covered", &self.covered)
            .finish_non_exhaustive()
    }
}

/// Returns the digests of a range of a source.
pub fn digest_range(source: &dyn ReadAt, start: u64, len: u64) -> Result<Digests> {
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
