//! Validates chunks and files: every chunk is within its block, every file has a size.

use std::ops::Range;

use sinterfs_model::{Error, Result};

use super::inodes::Ranks;
use crate::read::chunk::Chunk;
use crate::read::metadata::{ChunkColumns, Metadata};

/// Offsets are recorded for chunk lists longer than this, one per this many chunks.
pub(crate) const CHUNKS_PER_OFFSET: u64 = 64;

/// Sizes of files, recorded for lists so long that adding up their chunks would be slow.
#[derive(Debug, Default)]
pub(crate) struct FileSizes {
    /// The number of files whose chunk list is not shared.
    pub(crate) unique: u64,
    /// Lists of more than `CHUNKS_PER_OFFSET` chunks: number, and index of the first in `offsets`;
    /// ascending.
    pub(crate) long: Vec<(u32, usize)>,
    /// The bytes before chunk 0, `CHUNKS_PER_OFFSET`, 2 * `CHUNKS_PER_OFFSET`, .. of each long list, and the bytes of all.
    pub(crate) offsets: Vec<u64>,
    /// The bytes of long lists without holes, in the order of `long`.
    pub(crate) allocated: Vec<u64>,
    /// The bytes of all files, each inode once.
    pub(crate) total: u64,
}

/// Validates all chunks, chunk lists and shared files.
pub(super) fn check(metadata: &Metadata, ranks: &Ranks, blocks: u64) -> Result<FileSizes> {
    let data: &[u8] = &metadata.data;
    let files = ranks.files.saturating_sub(ranks.symlinks);
    let shared = metadata.shared_files.len();
    let lists = metadata
        .chunk_table
        .len()
        .checked_sub(1)
        .ok_or_else(|| Error::corrupt("chunk_table is empty"))?;
    let unique = files
        .checked_sub(shared)
        .filter(|unique| *unique <= lists)
        .ok_or_else(|| {
            Error::corrupt(format!(
                "{files} files, {shared} of them shared, with {lists} chunk lists"
            ))
        })?;
    if shared == 0 && unique != lists {
        return Err(Error::corrupt(format!(
            "{files} files with {lists} chunk lists"
        )));
    }
    // chunks without bits: their number would be unbounded
    let ChunkColumns {
        block,
        offset,
        size,
        ..
    } = &metadata.chunks;
    if block.len() > 1 && block.width() == 0 && offset.width() == 0 && size.width() == 0 {
        return Err(Error::corrupt(format!("{} chunks, all empty", block.len())));
    }
    let mut contents = FileSizes {
        unique,
        ..FileSizes::default()
    };
    let mut sharing = Sharing {
        metadata,
        next: 0,
        before: 0,
    };
    let mut start = u64::from(metadata.chunk_table.get(data, 0));
    for list in 0..lists {
        let end = u64::from(metadata.chunk_table.get(data, list.saturating_add(1)));
        if end < start || end > metadata.chunks.block.len() {
            return Err(Error::corrupt(format!(
                "the chunks of list {list} go from {start} to {end} of {}",
                metadata.chunks.block.len()
            )));
        }
        let size = contents.add(metadata, list, start..end, blocks)?;
        let users = match list.checked_sub(unique) {
            None => 1,
            Some(list) => sharing.count(list)?,
        };
        contents.total = contents.total.saturating_add(size.saturating_mul(users));
        start = end;
    }
    sharing.finish(lists.saturating_sub(unique))?;
    Ok(contents)
}

impl FileSizes {
    /// Validates a list's chunks and adds them up; records offsets if there are many.
    fn add(
        &mut self,
        metadata: &Metadata,
        list: u64,
        chunks: Range<u64>,
        blocks: u64,
    ) -> Result<u64> {
        let start = chunks.start;
        let long = chunks.end.saturating_sub(start) > CHUNKS_PER_OFFSET;
        if long {
            let list = u32::try_from(list).map_err(|_| Error::corrupt("too many chunk lists"))?;
            self.long.push((list, self.offsets.len()));
        }
        let (mut size, mut allocated) = (0_u64, 0_u64);
        for index in chunks {
            if long && (index - start).is_multiple_of(CHUNKS_PER_OFFSET) {
                self.offsets.push(size);
            }
            let chunk = metadata.chunk(index);
            check_chunk(metadata, index, &chunk, blocks)?;
            // the largest file size is the largest signed offset
            size = size
                .checked_add(chunk.len())
                .filter(|size| i64::try_from(*size).is_ok())
                .ok_or_else(|| {
                    Error::corrupt(format!("the size of chunk list {list} overflows"))
                })?;
            if !matches!(chunk, Chunk::Hole { .. }) {
                allocated = allocated.saturating_add(chunk.len());
            }
        }
        if long {
            self.offsets.push(size);
            self.allocated.push(allocated);
        }
        Ok(size)
    }
}

/// Checks that a chunk is within an existing block, or is a hole with a size.
fn check_chunk(metadata: &Metadata, index: u64, chunk: &Chunk, blocks: u64) -> Result<()> {
    let what = match *chunk {
        Chunk::Data { block, .. } if u64::from(block) >= blocks => {
            format!("is in block {block} of {blocks}")
        }
        // 32 bits each: no overflow
        Chunk::Data { offset, len, .. } if offset.saturating_add(len) > metadata.block_size => {
            let end = offset.saturating_add(len);
            format!("ends at {end} of a block of {}", metadata.block_size)
        }
        Chunk::Hole { .. } if metadata.lacks_hole_size(index) => {
            "is a large hole without a size".to_owned()
        }
        _ => return Ok(()),
    };
    Err(Error::corrupt(format!("chunk {index} {what}")))
}

/// Counts the shared files of each list; `Corrupt` unless the table is sorted.
struct Sharing<'a> {
    metadata: &'a Metadata,
    next: u64,
    before: u32,
}

impl Sharing<'_> {
    fn count(&mut self, list: u64) -> Result<u64> {
        let table = &self.metadata.shared_files;
        let start = self.next;
        while self.next < table.len() {
            let number = table.get(&self.metadata.data, self.next);
            if number < self.before {
                return Err(Error::corrupt("shared_files_table is not sorted"));
            }
            if u64::from(number) != list {
                break;
            }
            self.before = number;
            self.next += 1;
        }
        Ok(self.next - start)
    }

    fn finish(&self, lists: u64) -> Result<()> {
        if self.next == self.metadata.shared_files.len() {
            return Ok(());
        }
        let number = self
            .metadata
            .shared_files
            .get(&self.metadata.data, self.next);
        Err(Error::corrupt(format!(
            "a shared file has list {number} of {lists} shared lists"
        )))
    }
}
