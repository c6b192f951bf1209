//! Content of files: from positions in a file to chunks, and from chunks to bytes of blocks.
//!
//! In: a chunk list and a position. Out: extents and bytes.
//!
//! **Invariant:** operates on validated metadata only. A block's decoded length is unknown until it
//! is decoded: a chunk past its end is `Corrupt`, with the block's location.

use std::ops::ControlFlow;
use std::sync::{Arc, Weak};

use sinterfs_block::cache::{Need, NextBlocks, Opened};
use sinterfs_model::{Error, Extent, ExtentSource, Ino, Result};

use super::chunk::Chunk;
use super::open::Dwarfs;
use super::section::{SectionHeader, SectionRange};
use super::validate::CHUNKS_PER_OFFSET;
use crate::layout::SectionType;

/// The most chunks of a file that are looked at for what its reader needs next.
const MOST_CHUNKS: usize = 4096;

/// The most blocks that are prepared for one reader.
const MOST_NEEDS: usize = 8;

/// The chunk list of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkList {
    list: u64,
    start: u64,
    end: u64,
}

impl Dwarfs {
    /// Returns the chunk list of a file.
    pub(crate) fn chunks_of(&self, inode: u64) -> ChunkList {
        let data: &[u8] = &self.metadata.data;
        let file = inode.saturating_sub(self.derived.ranks.symlinks);
        let unique = self.derived.sizes.unique;
        let list = match file.checked_sub(unique) {
            None => file,
            Some(shared) => {
                let number = self.metadata.shared_files.get(data, shared);
                unique.saturating_add(u64::from(number))
            }
        };
        self.chunks_of_list(list)
    }

    /// Returns a chunk list by its number; an empty one past the last.
    pub(crate) fn chunks_of_list(&self, list: u64) -> ChunkList {
        let bound = |at: u64| u64::from(self.metadata.chunk_table.get(&self.metadata.data, at));
        let (start, end) = (bound(list), bound(list.saturating_add(1)));
        ChunkList { list, start, end }
    }

    /// Returns the size of a file in bytes, with and without holes.
    pub(crate) fn size_of(&self, chunks: &ChunkList) -> (u64, u64) {
        if let Some((notes, allocated)) = self.notes(chunks) {
            return (notes.last().copied().unwrap_or(0), allocated);
        }
        let (mut size, mut allocated) = (0_u64, 0_u64);
        for index in chunks.start..chunks.end {
            let chunk = self.metadata.chunk(index);
            size = size.saturating_add(chunk.len());
            if matches!(chunk, Chunk::Data { .. }) {
                allocated = allocated.saturating_add(chunk.len());
            }
        }
        (size, allocated)
    }

    /// Returns the recorded offsets of a long list, and its bytes without holes.
    fn notes(&self, chunks: &ChunkList) -> Option<(&[u64], u64)> {
        let count = chunks.end.saturating_sub(chunks.start);
        if count <= CHUNKS_PER_OFFSET {
            return None;
        }
        let contents = &self.derived.sizes;
        let at = contents
            .long
            .binary_search_by_key(&chunks.list, |long| u64::from(long.0))
            .ok()?;
        let (_, first) = contents.long.get(at)?;
        let number = usize::try_from(count.div_ceil(CHUNKS_PER_OFFSET))
            .ok()?
            .checked_add(1)?;
        let notes = contents.offsets.get(*first..first.checked_add(number)?)?;
        Some((notes, *contents.allocated.get(at)?))
    }

    /// Returns a chunk at or before a position, and the position of that chunk.
    fn seek(&self, chunks: &ChunkList, position: u64) -> (u64, u64) {
        let Some((notes, _)) = self.notes(chunks) else {
            return (chunks.start, 0);
        };
        let at = notes
            .partition_point(|offset| *offset <= position)
            .saturating_sub(1);
        let skipped = (at as u64).saturating_mul(CHUNKS_PER_OFFSET);
        let index = chunks.start.saturating_add(skipped).min(chunks.end);
        (index, notes.get(at).copied().unwrap_or(0))
    }

    /// Returns the chunks of a file from the one at `position` on, each with its own position.
    pub(crate) fn chunks_from(
        &self,
        chunks: &ChunkList,
        position: u64,
    ) -> impl Iterator<Item = (u64, Chunk)> + '_ {
        let (first, mut at) = self.seek(chunks, position);
        (first..chunks.end)
            .map(move |index| {
                let chunk = self.metadata.chunk(index);
                let start = at;
                at = at.saturating_add(chunk.len());
                (start, chunk)
            })
            .filter(move |(start, chunk)| {
                chunk.len() > 0 && start.saturating_add(chunk.len()) > position
            })
    }

    /// Visits a file's extents from the one at position `from` on.
    pub(crate) fn extents_of(
        &self,
        chunks: &ChunkList,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) {
        for (offset, chunk) in self.chunks_from(chunks, from) {
            let source = match chunk {
                Chunk::Hole { .. } => ExtentSource::Hole,
                Chunk::Data { block, offset, .. } => ExtentSource::Block {
                    block: u64::from(block),
                    offset,
                },
            };
            if visit(Extent {
                offset,
                len: chunk.len(),
                source,
            })
            .is_break()
            {
                return;
            }
        }
    }

    /// Reads bytes of a file from a position on, up to its end.
    pub(crate) fn read_chunks(
        &self,
        chunks: &ChunkList,
        position: u64,
        buf: &mut [u8],
    ) -> Result<usize> {
        let mut done = 0;
        for (start, chunk) in self.chunks_from(chunks, position) {
            let Some(target) = buf.get_mut(done..).filter(|left| !left.is_empty()) else {
                break;
            };
            let skip = position.saturating_add(done as u64).saturating_sub(start);
            let len = usize::try_from(chunk.len().saturating_sub(skip))
                .map_or(target.len(), |len| len.min(target.len()));
            let Some(target) = target.get_mut(..len) else {
                break;
            };
            match chunk {
                Chunk::Hole { .. } => target.fill(0),
                Chunk::Data { block, offset, .. } => {
                    self.copy_from_block(block, offset.saturating_add(skip), target)?;
                }
            }
            done = done.saturating_add(len);
        }
        Ok(done)
    }

    /// Reads as `read_chunks` does, for a reader that may continue in the file: see
    /// `BlockCache::before_read`.
    pub(crate) fn read_file(&self, ino: Ino, position: u64, buf: &mut [u8]) -> Result<usize> {
        let (chunks, len) = (self.chunks_of(ino.0), buf.len() as u64);
        let file = self.cache_key | u128::from(ino.0);
        let needs = |window| self.needs(&chunks, position, window);
        self.cache.before_read(file, position, len, needs);
        self.read_chunks(&chunks, position, buf)
    }

    /// Lists the parts of blocks that the bytes of a file from a position on are in.
    fn needs(&self, chunks: &ChunkList, position: u64, window: u64) -> Vec<Need> {
        let end = position.saturating_add(window);
        let mut needs: Vec<Need> = Vec::new();
        for (start, chunk) in self.chunks_from(chunks, position).take(MOST_CHUNKS) {
            if start >= end {
                break;
            }
            let Chunk::Data { block, offset, .. } = chunk else {
                continue;
            };
            let key = self.cache_key | u128::from(block);
            let len = chunk.len().min(end.saturating_sub(start));
            let end = offset.saturating_add(len);
            if let Some(need) = needs.iter_mut().find(|need| need.key == key) {
                need.end = need.end.max(end);
            } else if needs.len() < MOST_NEEDS {
                needs.push(Need { key, end });
            } else {
                break;
            }
        }
        needs
    }

    pub(super) fn copy_from_block(&self, block: u32, offset: u64, target: &mut [u8]) -> Result<()> {
        let key = self.cache_key | u128::from(block);
        let open = || self.open_block(block);
        let read = self.cache.read(key, offset, target, open);
        read.map_err(|error| self.in_block(error, block))
    }

    fn open_block(&self, block: u32) -> Result<Opened> {
        let index = usize::try_from(block).unwrap_or(usize::MAX);
        // header and content in one
        let range = self.sections.blocks.get(index).copied();
        self.reader.will_need(range);
        let open = || {
            self.with_block(block, |range, header| {
                self.reader.open(range, header, self.metadata.block_size)
            })
        };
        match range {
            Some(range) => self.reader.anew(range, open),
            None => open(),
        }
    }

    /// Enables decoding ahead on other processors while readers wait for decoders.
    pub fn decode_ahead(self: &Arc<Self>) {
        let image: Weak<dyn NextBlocks> = Arc::downgrade(self) as _;
        self.cache.decode_ahead(Some(image));
    }

    /// Adds a block's location to an error.
    #[cold]
    fn in_block(&self, error: Error, block: u32) -> Error {
        let index = usize::try_from(block).unwrap_or(usize::MAX);
        let start = self.sections.blocks.get(index);
        let offset = start.map_or(0, |range| range.offset);
        error.at(format!("block {block}"), self.reader.file_offset(offset))
    }

    /// Calls `work` with a block's header; adds the block's location to errors.
    pub(crate) fn with_block<T>(
        &self,
        block: u32,
        work: impl FnOnce(SectionRange, &SectionHeader) -> Result<T>,
    ) -> Result<T> {
        let index = usize::try_from(block).unwrap_or(usize::MAX);
        let range = *self
            .sections
            .blocks
            .get(index)
            .ok_or_else(|| Error::not_found(format!("block {block}")))?;
        self.reader
            .header_of(range, SectionType::BLOCK)
            .and_then(|header| work(range, &header))
            .map_err(|error| self.in_block(error, block))
    }
}

impl NextBlocks for Dwarfs {
    fn next(&self, key: u128) -> Option<u128> {
        let count = self.sections.blocks.len() as u128;
        let block = key.checked_sub(self.cache_key);
        let next = block.filter(|block| *block < count)?.saturating_add(1);
        let next = if next < count { next } else { 0 };
        Some(self.cache_key | next)
    }

    fn is_here(&self, key: u128) -> bool {
        let block = key.checked_sub(self.cache_key);
        let block = block.and_then(|block| usize::try_from(block).ok());
        let range = block.and_then(|block| self.sections.blocks.get(block));
        range.is_some_and(|range| self.reader.is_here(*range))
    }

    fn open(&self, key: u128) -> Result<Opened> {
        let block = key.checked_sub(self.cache_key);
        let block = block.and_then(|block| u32::try_from(block).ok());
        let block = block.ok_or_else(|| Error::not_found("a block of this image"))?;
        self.open_block(block)
    }

    fn block_size(&self) -> u64 {
        self.metadata.block_size
    }
}
