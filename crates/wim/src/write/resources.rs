//! Resources of content, written one after another.
//!
//! In: stored chunks in order, with the bytes that they were made of. Out: bytes to a sink, and an
//! entry of the blob table for each content.
//!
//! **Invariant:** a resource has its chunk table before its chunks, so its chunks are kept until
//! the last one is there. Content that was written before has no entry of its own. No two contents
//! have one digest, by which files name them: where such are met, nothing is written.

use std::collections::HashMap;

use sinterfs_block::Sink;
use sinterfs_block::checksum::{Sha1, Sha1Digest, Xxh3, xxh3_64};
use sinterfs_model::{Error, Result};

use crate::layout::{BlobEntry, ResourceEntry, ResourceFlags};
use crate::read::hex;

/// What content of one digest has in common besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fingerprint {
    len: u64,
    /// XXH3 with 64 bits.
    hash: u64,
}

/// The content that is being written.
#[derive(Debug, Default)]
struct OpenContent {
    /// The number of its first block.
    first: u32,
    digest: Sha1,
    hash: Xxh3,
    len: u64,
    chunks: Vec<u8>,
    /// The position of each chunk but the first among the chunks.
    starts: Vec<u64>,
}

/// Writes resources.
pub(super) struct Resources {
    out: Box<dyn Sink>,
    /// The position of the next byte.
    pub(super) at: u64,
    compressed: u8,
    open: Option<OpenContent>,
    /// The entries of the blob table in the order of the file.
    pub(super) entries: Vec<BlobEntry>,
    /// The index of the entry of each content, and what it must have in common with others.
    by_digest: HashMap<Sha1Digest, (usize, Fingerprint)>,
    /// The index of the entry of each content, by its first block.
    by_block: HashMap<u32, usize>,
}

impl std::fmt::Debug for Resources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Resources");
        shown.field("at", &self.at).finish_non_exhaustive()
    }
}

impl Resources {
    /// Continues a file from a position on; `is_compressed` tells whether chunks may be compressed.
    pub(super) fn new(out: Box<dyn Sink>, is_compressed: bool) -> Self {
        Self {
            out,
            at: 0,
            compressed: if is_compressed {
                ResourceFlags::COMPRESSED
            } else {
                0
            },
            open: None,
            entries: Vec::new(),
            by_digest: HashMap::new(),
            by_block: HashMap::new(),
        }
    }

    /// Writes bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.out.write_all(bytes);
        written.map_err(|error| Error::io("cannot write the image", error))?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Replaces the first bytes and completes the file.
    pub(super) fn finish(&mut self, head: &[u8]) -> Result<()> {
        let patched = self.out.patch(0, head).and_then(|()| self.out.flush());
        patched.map_err(|error| Error::io("cannot write the image", error))
    }

    /// Adds a chunk; `is_first` tells whether it is the first of its content.
    pub(super) fn chunk(
        &mut self,
        number: u32,
        is_first: bool,
        stored: &[u8],
        raw: &[u8],
    ) -> Result<()> {
        if is_first {
            self.close()?;
        }
        let open = self.open.get_or_insert_with(|| OpenContent {
            first: number,
            ..OpenContent::default()
        });
        if open.len > 0 {
            open.starts.push(open.chunks.len() as u64);
        }
        open.digest.update(raw);
        open.hash.update(raw);
        open.len += raw.len() as u64;
        open.chunks.extend_from_slice(stored);
        Ok(())
    }

    /// Writes the content that is open, unless the same was written before.
    pub(super) fn close(&mut self) -> Result<()> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let digest = open.digest.finish();
        let print = Fingerprint {
            len: open.len,
            hash: open.hash.digest(),
        };
        let index = match self.known(&digest, print)? {
            Some(index) => index,
            None => {
                let index = self.resource(open.len, &open.starts, &open.chunks, digest, 0)?;
                self.by_digest.insert(digest, (index, print));
                index
            }
        };
        self.by_block.insert(open.first, index);
        Ok(())
    }

    /// Returns the index of the entry of content that was written. Fails with `Unsupported` if
    /// other content has the digest.
    fn known(&self, digest: &Sha1Digest, print: Fingerprint) -> Result<Option<usize>> {
        match self.by_digest.get(digest) {
            None => Ok(None),
            Some((index, known)) if *known == print => Ok(Some(*index)),
            Some(_) => {
                let digest = hex(digest);
                let what = format!(
                    "two files differ and have the same SHA-1, {digest}: a WIM file has one of them"
                );
                Err(Error::unsupported(what))
            }
        }
    }

    /// Writes a resource and returns the index of its entry.
    pub(super) fn resource(
        &mut self,
        len: u64,
        starts: &[u64],
        chunks: &[u8],
        digest: Sha1Digest,
        flags: u8,
    ) -> Result<usize> {
        let at = self.at;
        // chunks are never longer than what they decode to
        let is_plain = chunks.len() as u64 == len;
        if !is_plain {
            let mut table = Vec::with_capacity(starts.len() * 8);
            for start in starts {
                match u32::try_from(len) {
                    Ok(_) => table.extend(u32::try_from(*start).unwrap_or(0).to_le_bytes()),
                    Err(_) => table.extend(start.to_le_bytes()),
                }
            }
            self.write(&table)?;
        }
        self.write(chunks)?;
        let compressed = if is_plain { 0 } else { self.compressed };
        self.entries.push(BlobEntry {
            resource: ResourceEntry {
                stored: self.at - at,
                flags: ResourceFlags(flags | compressed),
                at,
                len,
            },
            part: 1,
            references: u32::from(flags & ResourceFlags::METADATA != 0),
            digest,
        });
        Ok(self.entries.len() - 1)
    }

    /// Writes content that is no file's, without compression, and returns its digest.
    pub(super) fn small(&mut self, content: &[u8]) -> Result<Sha1Digest> {
        let mut digest = Sha1::default();
        digest.update(content);
        let digest = digest.finish();
        let print = Fingerprint {
            len: content.len() as u64,
            hash: xxh3_64(content),
        };
        let index = match self.known(&digest, print)? {
            Some(index) => index,
            None => {
                let index = self.resource(print.len, &[], content, digest, 0)?;
                self.by_digest.insert(digest, (index, print));
                index
            }
        };
        self.refer(index);
        Ok(digest)
    }

    /// Returns the index of the entry of content by its first block.
    pub(super) fn of_block(&self, block: u32) -> Option<usize> {
        self.by_block.get(&block).copied()
    }

    /// Counts a reference to content, and returns its digest.
    pub(super) fn refer(&mut self, index: usize) -> Sha1Digest {
        let Some(entry) = self.entries.get_mut(index) else {
            return [0; 20];
        };
        entry.references = entry.references.saturating_add(1);
        entry.digest
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "this is a test")]

    use super::*;

    #[test]
    fn content_with_the_digest_of_another_is_refused() {
        let mut resources = Resources::new(Box::new(Vec::new()), false);
        let digest = resources.small(b"content").unwrap();
        resources.chunk(0, true, b"content", b"content").unwrap();
        resources.close().unwrap();
        assert_eq!(resources.entries.len(), 1);
        // as if the first content had been another one
        for other in [
            Fingerprint {
                len: 8,
                hash: xxh3_64(b"content"),
            },
            Fingerprint { len: 7, hash: 0 },
        ] {
            resources.by_digest.insert(digest, (0, other));
            resources.chunk(1, true, b"content", b"content").unwrap();
            for error in [
                resources.close().unwrap_err(),
                resources.small(b"content").unwrap_err(),
            ] {
                assert!(error.what().contains("the same SHA-1"), "{error}");
            }
        }
    }
}
