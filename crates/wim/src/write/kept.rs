//! Stored chunks that wait for the end of their content.
//!
//! In: stored chunks in order. Out: the same bytes, and the length of each chunk.
//!
//! **Invariant:** at most `limit` bytes of chunks are in memory; what exceeds them goes to one
//! scratch file, which all contents use one after another. Lengths take 4 bytes a chunk.

use std::fs::File;
use std::io::{self, Write};

use sinterfs_model::{Error, Result};
use sinterfs_platform::FileAt;

/// Stored bytes of a content that are kept in memory.
pub(super) const KEPT_MAX: usize = 64 << 20;

/// Bytes that are copied from the scratch file in one step.
const COPY_STEP: usize = 1 << 20;

/// Opens an empty file to read and write.
pub type OpenScratch = Box<dyn Fn() -> Result<File> + Send>;

/// The chunks of one content.
#[derive(Debug, Default)]
pub(super) struct StoredChunks {
    /// The stored length of each.
    pub(super) lens: Vec<u32>,
    /// The stored length of all.
    pub(super) total: u64,
    /// The last bytes; those before are in the scratch file.
    kept: Vec<u8>,
    /// The bytes in the scratch file.
    spilled: u64,
}

/// Keeps chunks in memory and in the scratch file.
pub(super) struct ChunkStore {
    limit: usize,
    open: OpenScratch,
    file: Option<File>,
}

impl ChunkStore {
    /// Keeps at most `limit` bytes in memory.
    pub(super) fn new(limit: usize, open: OpenScratch) -> Self {
        Self {
            limit,
            open,
            file: None,
        }
    }

    /// Appends a chunk. Only one content at a time may be in the scratch file.
    pub(super) fn push(&mut self, chunks: &mut StoredChunks, stored: &[u8]) -> Result<()> {
        let len = u32::try_from(stored.len());
        let len = len.map_err(|_| Error::limit("a chunk of 4 GiB or more"))?;
        if chunks.kept.len().saturating_add(stored.len()) > self.limit {
            self.spill(chunks)?;
        }
        if stored.len() > self.limit {
            self.append(chunks, stored)?;
        } else {
            grow(&mut chunks.kept, stored.len(), self.limit);
            chunks.kept.extend_from_slice(stored);
        }
        chunks.lens.push(len);
        chunks.total += u64::from(len);
        Ok(())
    }

    /// Moves what is in memory to the scratch file.
    fn spill(&mut self, chunks: &mut StoredChunks) -> Result<()> {
        let mut kept = std::mem::take(&mut chunks.kept);
        self.append(chunks, &kept)?;
        kept.clear();
        chunks.kept = kept;
        Ok(())
    }

    fn append(&mut self, chunks: &mut StoredChunks, bytes: &[u8]) -> Result<()> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert((self.open)()?),
        };
        file.write_all_at(bytes, chunks.spilled).map_err(failed)?;
        chunks.spilled += bytes.len() as u64;
        Ok(())
    }

    /// Writes all chunks one after another. Failures to write are the sink's.
    pub(super) fn copy(&self, chunks: &StoredChunks, out: &mut dyn Write) -> Result<()> {
        let unwritten = |error| Error::io("cannot write the image", error);
        if let (Some(file), 1..) = (&self.file, chunks.spilled) {
            let mut buffer = vec![0; COPY_STEP.min(self.limit.max(1))];
            let mut at = 0;
            while at < chunks.spilled {
                let left = usize::try_from(chunks.spilled - at).unwrap_or(usize::MAX);
                let len = left.min(buffer.len());
                let (step, _) = buffer.split_at_mut(len);
                file.read_exact_at(step, at).map_err(failed)?;
                out.write_all(step).map_err(unwritten)?;
                at += step.len() as u64;
            }
        }
        out.write_all(&chunks.kept).map_err(unwritten)
    }

    /// Returns the bytes that chunks take in memory.
    #[cfg(test)]
    pub(super) fn memory(chunks: &StoredChunks) -> usize {
        chunks.kept.capacity() + chunks.lens.capacity() * size_of::<u32>()
    }
}

/// Makes room for bytes, at most up to a limit: twice as much each time.
fn grow(kept: &mut Vec<u8>, more: usize, limit: usize) {
    if kept.capacity() - kept.len() < more {
        let room = kept.capacity().max(more).min(limit - kept.len());
        kept.reserve_exact(room.max(more));
    }
}

#[cold]
fn failed(error: io::Error) -> Error {
    Error::io("cannot use the scratch file", error)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "this is a test")]

    use super::*;
    use sinterfs_block::checksum::Sha1;

    fn store(limit: usize) -> ChunkStore {
        ChunkStore::new(limit, Box::new(|| Ok(tempfile::tempfile().unwrap())))
    }

    #[test]
    fn a_content_of_any_length_takes_bounded_memory() {
        let limit = 1 << 20;
        let mut store = store(limit);
        let mut word = 1_u64;
        let mut chunk = vec![0; 30_000];
        for _ in 0..2 {
            let (mut chunks, mut all) = (StoredChunks::default(), Sha1::default());
            for _ in 0..4000 {
                for byte in &mut chunk {
                    word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    *byte = word.to_be_bytes()[0];
                }
                all.update(&chunk);
                store.push(&mut chunks, &chunk).unwrap();
                assert!(ChunkStore::memory(&chunks) <= limit + 4 * 4096);
            }
            assert_eq!(chunks.total, 120_000_000);
            assert!(chunks.spilled > 118_000_000);
            let mut copied = Digesting(Sha1::default());
            store.copy(&chunks, &mut copied).unwrap();
            assert_eq!(copied.0.finish(), all.finish());
        }
    }

    #[test]
    fn chunks_longer_than_the_limit_are_kept_in_order() {
        let mut store = store(10);
        let mut chunks = StoredChunks::default();
        let mut all = Vec::new();
        for len in [3, 7, 1, 40, 9, 2, 10, 11] {
            let chunk = vec![u8::try_from(len).unwrap(); len];
            store.push(&mut chunks, &chunk).unwrap();
            all.extend(chunk);
        }
        let mut copied = Vec::new();
        store.copy(&chunks, &mut copied).unwrap();
        assert_eq!(copied, all);
        assert_eq!(chunks.lens, [3, 7, 1, 40, 9, 2, 10, 11]);
    }

    #[test]
    fn without_a_scratch_file_the_build_fails() {
        let open = || Err(Error::io("no room", io::ErrorKind::StorageFull));
        let mut store = ChunkStore::new(4, Box::new(open));
        let mut chunks = StoredChunks::default();
        store.push(&mut chunks, b"abcd").unwrap();
        let error = store.push(&mut chunks, b"e").unwrap_err();
        assert!(error.what().contains("no room"), "{error}");
    }

    /// Hashes what is written.
    struct Digesting(Sha1);

    impl Write for Digesting {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.update(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
