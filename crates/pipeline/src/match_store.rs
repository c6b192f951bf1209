//! The blocks cut so far, which new content is compared with.
//!
//! Enters bytes appended to open blocks; leaves full blocks, and the length of the match between
//! given bytes and any position. Open blocks and the last full ones are in memory, older ones in an
//! unnamed scratch file.
//! **Invariant:** bytes of a block never change once appended. Memory: the open blocks and as many
//! full ones as `Retention` allows. The scratch file grows by each block that leaves memory and is
//! removed by the system when the build ends. Blocks of a base image come first, are in the base's
//! scratch file from the start and stay comparable.

use std::collections::VecDeque;
use std::fs::File;
use std::sync::Arc;

use sinterfs_model::{Error, Result};
use sinterfs_platform::{FileAt, Scratch};

use crate::anchors::BlockPosition;
use crate::base::{BaseBlocks, ScratchSpan};

/// Limits on the full blocks that stay comparable.
#[derive(Debug, Clone)]
pub(crate) struct Retention {
    /// The most full blocks in memory.
    pub max_blocks: usize,
    /// The most bytes of full blocks in memory.
    pub max_bytes: u64,
    /// The most full blocks that can be compared with; older ones are dropped.
    pub lookback: usize,
    /// The scratch file for blocks that are comparable but not in memory.
    pub scratch: Scratch,
}

/// The state of a block.
enum BlockState {
    Open(Vec<u8>),
    Full(Arc<Vec<u8>>),
    Scratch { at: u64, len: u32 },
    Dropped,
}

/// All blocks by order of opening.
pub(crate) struct MatchStore {
    retention: Retention,
    blocks: Vec<BlockState>,
    /// Full blocks in memory and in the scratch file, oldest first.
    full: VecDeque<u32>,
    full_bytes: u64,
    spilled: VecDeque<u32>,
    file: Option<Arc<File>>,
    file_end: u64,
    window: ScratchWindow,
}

/// The bytes last read from the scratch file.
#[derive(Default)]
struct ScratchWindow {
    block: u32,
    start: usize,
    bytes: Vec<u8>,
}

/// The first read around a position in bytes: most comparisons end early.
const FIRST_READ: usize = 8 << 10;

/// Bytes of each further read of a long match.
const NEXT_READ: usize = 128 << 10;

impl MatchStore {
    pub fn new(retention: Retention) -> Self {
        Self {
            retention,
            blocks: Vec::new(),
            full: VecDeque::new(),
            full_bytes: 0,
            spilled: VecDeque::new(),
            file: None,
            file_end: 0,
            window: ScratchWindow::default(),
        }
    }

    /// Creates a store that begins with the blocks of a base, numbered as in the base.
    pub fn over_base(retention: Retention, stock: &BaseBlocks) -> Self {
        let body = |block: &ScratchSpan| BlockState::Scratch {
            at: block.at,
            len: block.len,
        };
        Self {
            blocks: stock.blocks.iter().map(body).collect(),
            file: Some(Arc::clone(&stock.file)),
            file_end: stock.bytes,
            ..Self::new(retention)
        }
    }

    /// Opens a block with a capacity in bytes and returns its number.
    pub fn open(&mut self, room: usize) -> u32 {
        self.blocks.push(BlockState::Open(Vec::with_capacity(room)));
        (self.blocks.len() - 1) as u32
    }

    /// Returns the length in bytes of an open block; 0 for other blocks.
    pub fn open_len(&self, block: u32) -> usize {
        match self.blocks.get(block as usize) {
            Some(BlockState::Open(bytes)) => bytes.len(),
            _ => 0,
        }
    }

    /// Appends to an open block.
    pub fn append(&mut self, block: u32, bytes: &[u8]) -> Result<()> {
        match self.blocks.get_mut(block as usize) {
            Some(BlockState::Open(body)) => body.extend_from_slice(bytes),
            _ => return Err(Error::invalid("a block that is not open was appended to")),
        }
        Ok(())
    }

    /// Closes an open block and returns its bytes.
    pub fn close(&mut self, block: u32) -> Result<Arc<Vec<u8>>> {
        let body = std::mem::replace(&mut self.blocks[block as usize], BlockState::Dropped);
        let BlockState::Open(bytes) = body else {
            return Err(Error::invalid("a block was closed twice"));
        };
        let bytes = Arc::new(bytes);
        self.fill(block, &bytes)?;
        Ok(bytes)
    }

    /// Adds a block that is already full and returns its number.
    pub fn keep(&mut self, bytes: &Arc<Vec<u8>>) -> Result<u32> {
        let block = self.blocks.len() as u32;
        self.blocks.push(BlockState::Dropped);
        self.fill(block, bytes)?;
        Ok(block)
    }

    fn fill(&mut self, block: u32, bytes: &Arc<Vec<u8>>) -> Result<()> {
        self.blocks[block as usize] = BlockState::Full(Arc::clone(bytes));
        self.full.push_back(block);
        self.full_bytes += bytes.len() as u64;
        let Retention {
            max_blocks: kept,
            lookback,
            ..
        } = self.retention;
        while self.full.len() > kept.min(lookback) || self.full_bytes > self.retention.max_bytes {
            let Some(oldest) = self.full.pop_front() else {
                break;
            };
            self.spill(oldest)?;
        }
        Ok(())
    }

    /// Moves a full block from memory to the scratch file.
    fn spill(&mut self, block: u32) -> Result<()> {
        let body = std::mem::replace(&mut self.blocks[block as usize], BlockState::Dropped);
        let BlockState::Full(bytes) = body else {
            return Ok(());
        };
        self.full_bytes -= bytes.len() as u64;
        if self.full.len() >= self.retention.lookback {
            return Ok(());
        }
        if self.file.is_none() {
            self.file = Some(Arc::new(self.retention.scratch.file()?));
        }
        if let Some(file) = &self.file {
            let written = file.write_all_at(&bytes, self.file_end);
            written.map_err(|error| self.retention.scratch.failed(error))?;
            self.blocks[block as usize] = BlockState::Scratch {
                at: self.file_end,
                len: bytes.len() as u32,
            };
            self.file_end += bytes.len() as u64;
        }
        self.spilled.push_back(block);
        while self.full.len() + self.spilled.len() > self.retention.lookback {
            let Some(oldest) = self.spilled.pop_front() else {
                break;
            };
            self.blocks[oldest as usize] = BlockState::Dropped;
        }
        Ok(())
    }

    /// Returns the length of the longest prefix of `bytes` that is stored from a position on.
    pub fn prefix(&mut self, position: BlockPosition, bytes: &[u8]) -> Result<usize> {
        let offset = position.offset as usize;
        match &self.blocks[position.block as usize] {
            BlockState::Open(body) => {
                Ok(common_prefix(body.get(offset..).unwrap_or_default(), bytes))
            }
            BlockState::Full(body) => {
                Ok(common_prefix(body.get(offset..).unwrap_or_default(), bytes))
            }
            BlockState::Dropped => Ok(0),
            &BlockState::Scratch { at, len } => {
                self.scratch_prefix(position, at, len as usize, bytes)
            }
        }
    }

    /// Returns the length of the longest suffix of `bytes` that is stored right before a position.
    pub fn suffix(&mut self, position: BlockPosition, bytes: &[u8]) -> Result<usize> {
        let offset = position.offset as usize;
        match &self.blocks[position.block as usize] {
            BlockState::Open(body) => {
                Ok(common_suffix(body.get(..offset).unwrap_or_default(), bytes))
            }
            BlockState::Full(body) => {
                Ok(common_suffix(body.get(..offset).unwrap_or_default(), bytes))
            }
            BlockState::Dropped => Ok(0),
            &BlockState::Scratch { at, len } => {
                self.scratch_suffix(position, at, len as usize, bytes)
            }
        }
    }

    fn scratch_prefix(
        &mut self,
        position: BlockPosition,
        at: u64,
        len: usize,
        bytes: &[u8],
    ) -> Result<usize> {
        let mut done = 0;
        loop {
            let from = position.offset as usize + done;
            if done == bytes.len() || from >= len {
                return Ok(done);
            }
            if !self.window.holds(position.block, from) {
                let (start, room) = match done {
                    0 => (from.saturating_sub(FIRST_READ / 4), FIRST_READ),
                    _ => (from, NEXT_READ),
                };
                self.read(position.block, at, start, room.min(len - start))?;
            }
            let known = &self.window.bytes[from - self.window.start..];
            let same = common_prefix(known, &bytes[done..]);
            done += same;
            if same < known.len() {
                return Ok(done);
            }
        }
    }

    fn scratch_suffix(
        &mut self,
        position: BlockPosition,
        at: u64,
        len: usize,
        bytes: &[u8],
    ) -> Result<usize> {
        let mut done = 0;
        loop {
            let to = (position.offset as usize).min(len) - done.min(position.offset as usize);
            if done == bytes.len() || to == 0 {
                return Ok(done);
            }
            if !self.window.holds(position.block, to - 1) {
                let room = if done == 0 { FIRST_READ } else { NEXT_READ };
                let (start, end) = match done {
                    0 => (to.saturating_sub(room / 4), (to + room).min(len)),
                    _ => (to.saturating_sub(room), to),
                };
                self.read(position.block, at, start, end - start)?;
            }
            let known = &self.window.bytes[..to - self.window.start];
            let same = common_suffix(known, &bytes[..bytes.len() - done]);
            done += same;
            if same < known.len() {
                return Ok(done);
            }
        }
    }

    /// Reads part of a block that begins at `at` in the scratch file into the window.
    fn read(&mut self, block: u32, at: u64, start: usize, len: usize) -> Result<()> {
        let window = &mut self.window;
        window.bytes.resize(len, 0);
        (window.block, window.start) = (block, start);
        let Some(file) = &self.file else {
            return Err(Error::invalid(
                "a block in the scratch file has no scratch file",
            ));
        };
        let read = file.read_exact_at(&mut window.bytes, at + start as u64);
        read.map_err(|error| self.retention.scratch.failed(error))
    }
}

impl ScratchWindow {
    fn holds(&self, block: u32, offset: usize) -> bool {
        self.block == block && (self.start..self.start + self.bytes.len()).contains(&offset)
    }
}

/// Returns the length of the common prefix of two slices.
#[inline]
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let (a, b) = (&a[..len], &b[..len]);
    let chunks = a.chunks_exact(32).zip(b.chunks_exact(32));
    let done = chunks.take_while(|(a, b)| a == b).count() * 32;
    done + a[done..]
        .iter()
        .zip(&b[done..])
        .take_while(|(a, b)| a == b)
        .count()
}

/// Returns the length of the common suffix of two slices.
#[inline]
pub(crate) fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let (a, b) = (&a[a.len() - len..], &b[b.len() - len..]);
    let chunks = a.rchunks_exact(32).zip(b.rchunks_exact(32));
    let done = chunks.take_while(|(a, b)| a == b).count() * 32;
    let rest = a[..len - done]
        .iter()
        .rev()
        .zip(b[..len - done].iter().rev());
    done + rest.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use sinterfs_testkit::noise;

    use super::*;

    #[test]
    fn common_prefixes_and_suffixes_are_exact() {
        for len in [0, 1, 31, 32, 33, 64, 100] {
            let a: Vec<u8> = (0..100).collect();
            let mut b = a.clone();
            if len < 100 {
                b[len] ^= 1;
            }
            assert_eq!(common_prefix(&a, &b), len);
            let (a, b): (Vec<_>, Vec<_>) =
                (a.into_iter().rev().collect(), b.into_iter().rev().collect());
            assert_eq!(common_suffix(&a, &b), len);
            assert_eq!(common_suffix(&a[50..], &b), len.min(50));
        }
    }

    #[test]
    fn a_block_compares_the_same_in_memory_and_in_the_scratch_file() {
        let scratch = Scratch::new(std::env::temp_dir());
        let content = noise(3, 700_000);
        for max_blocks in [0, 1] {
            let mut store = MatchStore::new(Retention {
                max_blocks,
                max_bytes: u64::MAX,
                lookback: 10,
                scratch: scratch.clone(),
            });
            for fill in [&noise(1, 5000), &content, &noise(2, 5000)] {
                let block = store.open(fill.len());
                store.append(block, fill).unwrap();
                store.close(block).unwrap();
            }
            for offset in [0, 1, 100, 9000, 350_000, 699_999, 700_000] {
                let position = BlockPosition {
                    block: 1,
                    offset: offset as u32,
                };
                let (before, after) = content.split_at(offset);
                for len in [0, 1, 5000, 20_000, 400_000] {
                    let after = &after[..len.min(after.len())];
                    assert_eq!(store.prefix(position, after).unwrap(), after.len());
                    let mut differs = after.to_vec();
                    if let Some(last) = differs.last_mut() {
                        *last ^= 1;
                        assert_eq!(store.prefix(position, &differs).unwrap(), after.len() - 1);
                    }
                    let before = &before[before.len().saturating_sub(len)..];
                    assert_eq!(store.suffix(position, before).unwrap(), before.len());
                    let mut differs = before.to_vec();
                    if let Some(first) = differs.first_mut() {
                        *first ^= 1;
                        assert_eq!(store.suffix(position, &differs).unwrap(), before.len() - 1);
                    }
                }
            }
        }
    }

    #[test]
    fn blocks_beyond_the_look_back_are_dropped() {
        let mut store = MatchStore::new(Retention {
            max_blocks: 1,
            max_bytes: u64::MAX,
            lookback: 2,
            scratch: Scratch::new(std::env::temp_dir()),
        });
        for _ in 0..4 {
            let block = store.open(4);
            store.append(block, b"same").unwrap();
            store.close(block).unwrap();
        }
        let same = |store: &mut MatchStore, block| {
            store.prefix(BlockPosition { block, offset: 0 }, b"same")
        };
        let found: Vec<_> = (0..4).map(|b| same(&mut store, b).unwrap()).collect();
        assert_eq!(found, [0, 0, 4, 4]);
    }
}
