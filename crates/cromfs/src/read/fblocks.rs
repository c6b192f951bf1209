//! Fblocks, and the table of blocks: which bytes of which fblock a block is.
//!
//! In: the image and the positions of both. Out: `FblockReader`.
//!
//! **Invariant:** fblocks are within the image, each begins where the one before it ends. Format:
//! `docs/formats/cromfs.md`, "Fblocks" and "Blocks".

use std::sync::Arc;

use sinterfs_block::cache::{self, BlockCache, Opened};
use sinterfs_block::{ReadAt, Window};
use sinterfs_model::{Error, Limits, Result};

use super::budget::MemoryBudget;
use super::lzma;
use crate::layout::{Features, LZMA_HEADER_LEN, SuperblockFields, part};

/// The bytes before the stream of an fblock.
const LENGTH_LEN: usize = 4;

/// The place of an fblock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FblockPlace {
    /// The position of its stream in the image.
    pub(crate) at: u64,
    /// The length of the stream in bytes.
    pub(crate) stored: u32,
    /// The decoded length in bytes.
    pub(crate) len: u64,
}

/// The start of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockStart {
    /// The number of the fblock.
    pub(crate) fblock: u32,
    /// The offset in the decoded fblock in bytes.
    pub(crate) offset: u32,
}

/// Reads fblocks through the cache.
pub(crate) struct FblockReader {
    pub(crate) window: Window,
    pub(crate) places: Vec<FblockPlace>,
    /// The decoded table of blocks.
    table: Vec<u8>,
    features: Features,
    fblock_size: u32,
    block_limit: u64,
    pub(super) cache: Arc<BlockCache>,
    cache_key: u128,
}

impl FblockReader {
    /// Finds all fblocks and reads the table of blocks. Memory: 24 bytes for each fblock, and the
    /// table.
    pub(super) fn read(
        window: Window,
        head: &SuperblockFields,
        features: Features,
        limits: &Limits,
        cache: Arc<BlockCache>,
        budget: &mut MemoryBudget,
    ) -> Result<Self> {
        let start = window.start();
        let places = find_all(&window, head.fblocks_at, limits.block, budget)?;
        let table = table(&window, head, budget)
            .map_err(|error| error.at("table of blocks", start.saturating_add(head.blocks_at)))?;
        if features.has(Features::PACKED) && head.fblock_size == 0 {
            let error = Error::corrupt("packed block pointers, but fblocks of no bytes");
            return Err(error.at("superblock", start));
        }
        Ok(Self {
            window,
            places,
            table,
            features,
            fblock_size: head.fblock_size,
            block_limit: limits.block,
            cache,
            cache_key: cache::image_key(),
        })
    }

    /// Returns the number of blocks.
    pub(crate) fn blocks(&self) -> u64 {
        (self.table.len() / self.features.pointer_len()) as u64
    }

    /// Returns where a block begins.
    pub(crate) fn block(&self, number: u32) -> Result<BlockStart> {
        let len = self.features.pointer_len();
        let at = usize::try_from(number)
            .ok()
            .and_then(|n| n.checked_mul(len));
        let pointer = at.and_then(|at| self.table.get(at..at.checked_add(len)?));
        let Some(pointer) = pointer else {
            let count = self.blocks();
            let what = format!("block {number}, where there are {count}");
            return Err(Error::corrupt(what));
        };
        let first = u32::from_le_bytes(part(pointer, 0));
        Ok(if self.features.has(Features::PACKED) {
            BlockStart {
                fblock: first / self.fblock_size,
                offset: first % self.fblock_size,
            }
        } else {
            BlockStart {
                fblock: first,
                offset: u32::from_le_bytes(part(pointer, 4)),
            }
        })
    }

    /// Returns the place of an fblock.
    pub(crate) fn place(&self, number: u32) -> Result<FblockPlace> {
        let found = self.places.get(number as usize).copied();
        found.ok_or_else(|| {
            let count = self.places.len();
            Error::corrupt(format!("fblock {number}, where there are {count}"))
        })
    }

    /// Reads bytes of an fblock.
    pub(crate) fn read_at(&self, number: u32, offset: u64, target: &mut [u8]) -> Result<()> {
        let place = self.place(number)?;
        let located = |error: Error| error.at("fblock", self.file_offset(place.at));
        let open = || self.decode(place).map(Opened::Decoded);
        let read = self.cache.read(self.key(number), offset, target, open);
        read.map_err(located)
    }

    /// Decodes an fblock.
    pub(crate) fn decode(&self, place: FblockPlace) -> Result<Vec<u8>> {
        let stream = self.window.read(place.at, place.stored.into())?;
        lzma::decode(stream.to_vec(), self.block_limit)
    }

    /// Drops an fblock from the cache.
    pub(super) fn release(&self, number: u64) {
        if let Ok(number) = u32::try_from(number) {
            self.cache.forget(self.key(number));
        }
    }

    fn key(&self, number: u32) -> u128 {
        self.cache_key | u128::from(number)
    }

    /// Returns the offset in the file of a position in the image.
    pub(crate) fn file_offset(&self, at: u64) -> u64 {
        self.window.start().saturating_add(at)
    }
}

/// Finds all fblocks, up to the end of the image.
fn find_all(
    window: &Window,
    first: u64,
    limit: u64,
    budget: &mut MemoryBudget,
) -> Result<Vec<FblockPlace>> {
    let (mut places, mut at) = (Vec::new(), first);
    while !is_end(window, at)? {
        let place = find(window, at, limit);
        let place = place.map_err(|e| e.at("fblock", window.start().saturating_add(at)))?;
        budget.take(size_of::<FblockPlace>() as u64, "fblocks")?;
        places.push(place);
        at = place.at.saturating_add(place.stored.into());
    }
    Ok(places)
}

/// Returns whether there is no further fblock at a position: zeros behind the last are padding.
fn is_end(window: &Window, at: u64) -> Result<bool> {
    if at.saturating_add(LENGTH_LEN as u64) > window.len() {
        return Ok(true);
    }
    let mut stored = [0; LENGTH_LEN];
    window.read_at(at, &mut stored)?;
    Ok(stored == [0; LENGTH_LEN])
}

fn find(window: &Window, at: u64, limit: u64) -> Result<FblockPlace> {
    let mut head = [0; LENGTH_LEN + LZMA_HEADER_LEN];
    window.read_at(at, &mut head)?;
    let stored = u32::from_le_bytes(part(&head, 0));
    let at = at.saturating_add(LENGTH_LEN as u64);
    if u64::from(stored) > window.len().saturating_sub(at) {
        let what = format!("{stored} stored bytes, which are not within the image");
        return Err(Error::corrupt(what));
    }
    let (_, header) = head.split_at(LENGTH_LEN);
    let len = lzma::declared_len(header, stored.into(), limit)?;
    Ok(FblockPlace { at, stored, len })
}

/// Decodes the table of blocks.
fn table(window: &Window, head: &SuperblockFields, budget: &mut MemoryBudget) -> Result<Vec<u8>> {
    let stored = stored_between(head.blocks_at, head.fblocks_at)?;
    budget.take(stored, "the stored table of blocks")?;
    let stream = window.read(head.blocks_at, stored)?.to_vec();
    let len = lzma::declared_len(&stream, stored, u64::MAX)?;
    budget.take(len, "the table of blocks")?;
    let decoded = lzma::decode(stream, len)?;
    budget.give_back(stored);
    Ok(decoded)
}

/// Returns the number of bytes from one position to a later one.
pub(super) fn stored_between(start: u64, end: u64) -> Result<u64> {
    let len = end.checked_sub(start);
    len.ok_or_else(|| Error::corrupt(format!("from {start:#x} to {end:#x}: out of order")))
}
