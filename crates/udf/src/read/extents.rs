//! The extents of a file, and its content.
//!
//! In: an entry. Out: `ByteRun`s, or bytes.
//!
//! **Invariant:** runs are adjacent from byte 0 on, and end at the size of the file at the latest.
//! ECMA-167, 4/12 and 4/14.14; chains of further descriptors, 4/14.5.

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Result};

use super::entry::{EntryReader, FileEntry};
use super::partitions::BlockRun;
use crate::layout::{PartitionExtent, has_right_crc, le16, le32, range, tag, tag_of};

/// The position of a run that is not stored: zeros.
pub(crate) const UNSTORED: u64 = u64::MAX;

/// The bytes of a block of descriptors before them.
const HEAD_LEN: usize = 24;

/// The memory that a block of descriptors is counted with at least, so that chains of them end.
const CHAIN_MEMORY: u64 = 256;

/// Adjacent bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByteRun {
    /// The first byte in the file.
    pub(crate) start: u64,
    pub(crate) len: u64,
    /// The position in the window, or `UNSTORED`.
    pub(crate) at: u64,
}

/// The content of a file.
#[derive(Debug, Clone)]
pub(crate) enum FileData {
    /// In the block of the entry: the position in the window.
    Inline(u64),
    /// In runs.
    Runs(Vec<ByteRun>),
}

/// The descriptors of a file: its own, then those that they lead to.
struct Descriptors<'a> {
    reader: &'a EntryReader<'a>,
    kind: u16,
    map: u16,
    /// The descriptors of this block.
    bytes: Vec<u8>,
    /// The position of the next one.
    at: usize,
}

impl Descriptors<'_> {
    /// Returns the next extent; `None` at the end.
    fn next(&mut self, budget: &mut u64) -> Result<Option<PartitionExtent>> {
        loop {
            let len = match self.kind {
                0 => 8,
                1 => 16,
                _ => 20,
            };
            let taken = range(&self.bytes, self.at, len);
            if taken.len() < len {
                return Ok(None);
            }
            let extent = match self.kind {
                0 => PartitionExtent::short(taken, 0, self.map),
                1 => PartitionExtent::long(taken, 0),
                _ => extended(taken)?,
            };
            self.at += len;
            if extent.len == 0 {
                return Ok(None);
            }
            if extent.kind != 3 {
                return Ok(Some(extent));
            }
            *budget = budget.checked_sub(CHAIN_MEMORY).ok_or_else(too_many)?;
            self.follow(extent)?;
        }
    }

    /// Goes on with the descriptors in a block.
    fn follow(&mut self, extent: PartitionExtent) -> Result<()> {
        let (bytes, at) = self.reader.block_of(extent)?;
        if tag_of(&bytes) != tag::ALLOCATION_EXTENT || !has_right_crc(&bytes) {
            let at = self.reader.window.start().saturating_add(at);
            let what = "no extent descriptors at the given place";
            return Err(Error::corrupt(what).at("allocation extent", at));
        }
        let len = usize::try_from(le32(&bytes, 20)).unwrap_or(usize::MAX);
        self.bytes = range(&bytes, HEAD_LEN, len).to_vec();
        self.at = 0;
        // short descriptors are of the partition that they are in
        self.map = extent.map;
        Ok(())
    }
}

/// Decodes an extended descriptor (ECMA-167, 4/14.14.3).
fn extended(bytes: &[u8]) -> Result<PartitionExtent> {
    let length = PartitionExtent::short(bytes, 0, 0);
    let (recorded, content) = (le32(bytes, 4), le32(bytes, 8));
    if length.kind == 0 && (recorded != content || recorded > length.len) {
        return Err(Error::unsupported("an extent that is compressed"));
    }
    Ok(PartitionExtent {
        kind: length.kind,
        len: length.len,
        block: le32(bytes, 12),
        map: le16(bytes, 16),
    })
}

fn too_many() -> Error {
    Error::limit("the extents take more memory than metadata may take")
}

impl EntryReader<'_> {
    fn descriptors(&self, entry: &FileEntry) -> Descriptors<'_> {
        Descriptors {
            reader: self,
            kind: entry.descriptor_kind(),
            map: entry.map,
            bytes: entry
                .bytes
                .get(entry.descriptors.clone())
                .unwrap_or_default()
                .to_vec(),
            at: 0,
        }
    }

    /// Returns the blocks of a file that is a partition.
    pub(crate) fn block_runs(&self, entry: &FileEntry, budget: &mut u64) -> Result<Vec<BlockRun>> {
        if entry.descriptor_kind() > 2 {
            return Err(Error::corrupt("a file without blocks"));
        }
        let mut found = Vec::new();
        let mut descriptors = self.descriptors(entry);
        while let Some(extent) = descriptors.next(budget)? {
            let count = u64::from(extent.len).div_ceil(self.block);
            if extent.kind == 0 {
                let (map, block) = (extent.map, extent.block.into());
                found.extend(self.partitions.locate(map, block, count, budget)?);
            } else {
                *budget = budget.checked_sub(CHAIN_MEMORY).ok_or_else(too_many)?;
                found.push(BlockRun { block: None, count });
            }
        }
        Ok(found)
    }

    /// Finds the content of a file. `Corrupt` if its extents do not cover it.
    pub(crate) fn content_of(&self, entry: &FileEntry, budget: &mut u64) -> Result<FileData> {
        match entry.descriptor_kind() {
            0..=2 => self.runs(entry, budget).map(FileData::Runs),
            3 => {
                if entry.size > entry.descriptors.len() as u64 {
                    let (size, len) = (entry.size, entry.descriptors.len());
                    let what = format!("{size} bytes of content, of which the entry has {len}");
                    return Err(Error::corrupt(what));
                }
                let at = entry.at.saturating_add(entry.descriptors.start as u64);
                Ok(FileData::Inline(at))
            }
            kind => Err(Error::corrupt(format!("descriptors of kind {kind}"))),
        }
    }

    fn runs(&self, entry: &FileEntry, budget: &mut u64) -> Result<Vec<ByteRun>> {
        let mut found: Vec<ByteRun> = Vec::new();
        let mut descriptors = self.descriptors(entry);
        let mut start = 0_u64;
        while start < entry.size {
            let Some(extent) = descriptors.next(budget)? else {
                let what = format!("the extents end at byte {start} of {}", entry.size);
                return Err(Error::corrupt(what));
            };
            let mut left = u64::from(extent.len).min(entry.size - start);
            let blocks = if extent.kind == 0 {
                let (map, block) = (extent.map, extent.block.into());
                let count = left.div_ceil(self.block);
                self.partitions.locate(map, block, count, budget)?
            } else {
                vec![BlockRun {
                    block: None,
                    count: left.div_ceil(self.block),
                }]
            };
            for run in blocks {
                let len = run.count.saturating_mul(self.block).min(left);
                let at = run
                    .block
                    .map_or(UNSTORED, |block| block.saturating_mul(self.block));
                left -= len;
                push(&mut found, ByteRun { start, len, at }, budget)?;
                start += len;
            }
        }
        Ok(found)
    }

    /// Reads the whole content of a file.
    pub(crate) fn content(&self, entry: &FileEntry, budget: &mut u64) -> Result<Vec<u8>> {
        let len = usize::try_from(entry.size).map_err(|_| too_many())?;
        *budget = budget.checked_sub(entry.size).ok_or_else(too_many)?;
        let runs = match self.content_of(entry, budget)? {
            FileData::Inline(_) => {
                let all = entry.bytes.get(entry.descriptors.clone());
                return Ok(range(all.unwrap_or_default(), 0, len).to_vec());
            }
            FileData::Runs(runs) => runs,
        };
        let mut content = Vec::new();
        for run in runs {
            if run.at == UNSTORED {
                let len = usize::try_from(run.len).map_err(|_| too_many())?;
                content.resize(content.len().saturating_add(len), 0);
                continue;
            }
            let read = self.window.read(run.at, run.len);
            let at = self.window.start().saturating_add(run.at);
            content.extend_from_slice(&read.map_err(|error| error.at("content", at))?);
        }
        Ok(content)
    }
}

/// Appends a run, or adds it to the last one.
fn push(runs: &mut Vec<ByteRun>, run: ByteRun, budget: &mut u64) -> Result<()> {
    if let Some(last) = runs.last_mut() {
        let is_next = match (last.at, run.at) {
            (UNSTORED, UNSTORED) => true,
            (UNSTORED, _) | (_, UNSTORED) => false,
            (at, next) => at.saturating_add(last.len) == next,
        };
        if is_next {
            last.len += run.len;
            return Ok(());
        }
    }
    *budget = budget
        .checked_sub(size_of::<ByteRun>() as u64)
        .ok_or_else(too_many)?;
    runs.push(run);
    Ok(())
}
