//! Resources of content, written one after another.
//!
//! In: stored chunks in order, with the bytes that they were made of. Out: bytes to a sink, and an
//! entry of the blob table for each content.
//!
//! **Invariant:** a resource has its chunk table before its chunks, so its chunks are kept until
//! the last one is there, in memory up to `KEPT_MAX` bytes and then in a scratch file. Content that
//! was written before gets no further entry. No two contents have one digest, by which files name
//! them: where such are met, nothing is written.

use std::collections::HashMap;

use sinterfs_block::Sink;
use sinterfs_block::checksum::{Sha1, Sha1Digest, Xxh3, xxh3_64};
use sinterfs_model::{Error, Result};

use super::kept::{ChunkStore, StoredChunks};
use crate::layout::{BlobEntry, ResourceEntry, ResourceFlags};
use crate::read::hex;

/// Entries of a chunk table that are written in one step.
const TABLE_STEP: usize = 1 << 16;

/// Further fields that content with one digest shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint {
    pub(super) len: u64,
    /// XXH3 with 64 bits.
    pub(super) hash: u64,
}

/// The content that is being written.
#[derive(Debug, Default)]
struct OpenContent {
    /// The number of its first block.
    first: u32,
    digest: Sha1,
    hash: Xxh3,
    len: u64,
    chunks: StoredChunks,
}

/// Writes resources.
pub(super) struct Resources {
    out: Box<dyn Sink>,
    /// The position of the next byte.
    pub(super) at: u64,
    compressed: u8,
    store: ChunkStore,
    open: Option<OpenContent>,
    /// The entries of the blob table in the order of the file.
    pub(super) entries: Vec<BlobEntry>,
    /// The index of the entry of each content, and what it must have in common with others.
    by_digest: HashMap<Sha1Digest, (usize, Fingerprint)>,
    /// The index of the entry of each content, by its first block, or by its position in the solid
    /// resource.
    by_start: HashMap<u64, usize>,
}

impl std::fmt::Debug for Resources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Resources");
        shown.field("at", &self.at).finish_non_exhaustive()
    }
}

impl Resources {
    /// Writes to the start of a file; `is_compressed` is whether chunks may be compressed.
    pub(super) fn new(out: Box<dyn Sink>, is_compressed: bool, store: ChunkStore) -> Self {
        Self {
            out,
            store,
            at: 0,
            compressed: if is_compressed {
                ResourceFlags::COMPRESSED
            } else {
                0
            },
            open: None,
            entries: Vec::new(),
            by_digest: HashMap::new(),
            by_start: HashMap::new(),
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

    /// Adds a chunk; `is_first` is whether it is the first of its content.
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
        open.digest.update(raw);
        open.hash.update(raw);
        open.len += raw.len() as u64;
        self.store.push(&mut open.chunks, stored)
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
                let index = self.resource(open.len, &open.chunks, digest, 0)?;
                self.by_digest.insert(digest, (index, print));
                index
            }
        };
        self.by_start.insert(open.first.into(), index);
        Ok(())
    }

    /// Returns the index of the entry of content that was written. Fails with `Unsupported` if
    /// other content has the digest.
    pub(super) fn known(&self, digest: &Sha1Digest, print: Fingerprint) -> Result<Option<usize>> {
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
        chunks: &StoredChunks,
        digest: Sha1Digest,
        flags: u8,
    ) -> Result<usize> {
        let at = self.at;
        // chunks are never longer than what they decode to
        let is_plain = chunks.total == len;
        if !is_plain {
            self.chunk_table(len, &chunks.lens)?;
        }
        self.copy(chunks)?;
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

    /// Writes chunks.
    pub(super) fn copy(&mut self, chunks: &StoredChunks) -> Result<()> {
        self.store.copy(chunks, &mut self.out)?;
        self.at += chunks.total;
        Ok(())
    }

    /// Adds the entry of a content of the solid resource, unless another one has the digest.
    pub(super) fn member(
        &mut self,
        start: u64,
        digest: Sha1Digest,
        print: Fingerprint,
        entry: impl FnOnce() -> BlobEntry,
    ) -> Result<()> {
        let index = match self.known(&digest, print)? {
            Some(index) => index,
            None => {
                self.entries.push(entry());
                let index = self.entries.len() - 1;
                self.by_digest.insert(digest, (index, print));
                index
            }
        };
        self.by_start.insert(start, index);
        Ok(())
    }

    /// Writes the position of each chunk but the first among the chunks.
    fn chunk_table(&mut self, len: u64, lens: &[u32]) -> Result<()> {
        let is_short = u32::try_from(len).is_ok();
        let but_last = lens.split_last().map_or(lens, |(_, others)| others);
        let mut start = 0_u64;
        for part in but_last.chunks(TABLE_STEP) {
            let mut table = Vec::with_capacity(part.len() * 8);
            for stored in part {
                start += u64::from(*stored);
                match u32::try_from(start) {
                    Ok(start) if is_short => table.extend(start.to_le_bytes()),
                    _ => table.extend(start.to_le_bytes()),
                }
            }
            self.write(&table)?;
        }
        Ok(())
    }

    /// Appends a chunk of a resource that is no file's.
    pub(super) fn keep(&mut self, chunks: &mut StoredChunks, stored: &[u8]) -> Result<()> {
        self.store.push(chunks, stored)
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
                let mut chunks = StoredChunks::default();
                self.keep(&mut chunks, content)?;
                let index = self.resource(print.len, &chunks, digest, 0)?;
                self.by_digest.insert(digest, (index, print));
                index
            }
        };
        self.refer(index);
        Ok(digest)
    }

    /// Returns the index of the entry of content by its first block, or by its position in the
    /// solid resource.
    pub(super) fn starting_at(&self, start: u64) -> Option<usize> {
        self.by_start.get(&start).copied()
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

    use std::io::{self, Write};
    use std::sync::{Arc, Mutex, PoisonError};

    use super::*;

    /// Bytes that are looked at after they were written.
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            written.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Sink for Shared {
        fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
            let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            written.patch(offset, bytes)
        }
    }

    fn resources(out: Shared, limit: usize) -> Resources {
        let open = || tempfile::tempfile().map_err(|error| Error::io("scratch", error));
        Resources::new(Box::new(out), true, ChunkStore::new(limit, Box::new(open)))
    }

    fn in_memory(limit: usize) -> Resources {
        resources(Shared::default(), limit)
    }

    #[test]
    fn a_scratch_file_does_not_change_the_bytes() {
        let written = [1 << 20, 1000, 10].map(|limit| {
            let out = Shared::default();
            let mut resources = resources(out.clone(), limit);
            let mut number = 0;
            for content in 1..20_u8 {
                for chunk in 0..content {
                    let raw = [content, chunk].repeat(100);
                    // some are stored as they are
                    let stored = raw.split_at(if chunk % 3 == 0 { 200 } else { 77 }).0;
                    resources.chunk(number, chunk == 0, stored, &raw).unwrap();
                    number += 1;
                }
            }
            resources.close().unwrap();
            resources.small(b"the target of a link").unwrap();
            resources.finish(b"head").unwrap();
            let bytes = out.0.lock().unwrap().clone();
            assert_eq!(resources.at, bytes.len() as u64);
            (bytes, resources.entries)
        });
        let [in_memory, some, all] = written;
        assert!(some == in_memory && all == in_memory);
    }

    #[test]
    fn content_with_the_digest_of_another_is_refused() {
        let mut resources = in_memory(1 << 20);
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
