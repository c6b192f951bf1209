//! An encoder of Zstandard frames (RFC 8878): matches by radix, and a parser by prices.
//!
//! In: a block. Out: one frame with a content size and without a checksum, which every decoder of
//! Zstandard reads.
//!
//! The block is cut in slices that threads encode apart from each other: each begins without the
//! codes and the recent offsets of those before it, but its matches reach back into them. A slice
//! becomes blocks of the frame where its statistics change.
//!
//! **Invariants:** the result depends on the block and the options only. Besides the block and the
//! frame, 5 bytes for each byte of the block (6 at worst; for 64 MiB of it at most) are held with a
//! memory permit ([`WorkerPermits::reserve_memory`]), and each thread has up to 24 MiB.

#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "indexes and lengths come from the block being encoded, of less than 4 GiB"
)]

mod bits;
mod block;
mod candidates;
mod codes;
mod effort;
mod frame;
mod fse;
mod huffman;
mod literals;
mod logarithm;
mod offsets;
mod parser;
mod prices;
mod sequences;
mod slice;
mod split;
mod statistics;
mod window;

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::ops::RangeInclusive;

use sinterfs_model::{Error, Result};
use sinterfs_workers::WorkerPermits;

use crate::match_finder::{MAX_COVER, SLICE, Search, Slicer};

use slice::{Settings, SliceEncoder};

/// The efforts.
pub(super) const EFFORTS: RangeInclusive<u32> = 1..=3;

/// The effort if none is named.
pub(super) const DEFAULT_EFFORT: u32 = 2;

/// The longest distances of matches, as powers of two; the greatest is usual.
pub(super) const WINDOWS: RangeInclusive<u32> = 10..=26;

thread_local! {
    /// Making small tables costs more than using them, so each thread keeps a set.
    static ENCODER: RefCell<Encoder> = RefCell::new(Encoder::new(MAX_COVER, SLICE));
}

/// Encodes a block into one frame. `Invalid` if the block has 4 GiB or more.
pub(super) fn encode(
    block: &[u8],
    effort: u32,
    window: Option<u32>,
    permits: &WorkerPermits,
) -> Result<Vec<u8>> {
    if u32::try_from(block.len()).is_err() {
        return Err(Error::invalid(format!(
            "zstd: a block of {} bytes is too long",
            block.len()
        )));
    }
    let _memory = permits.reserve_memory(block.len() as u64);
    let window = window.unwrap_or(*WINDOWS.end());
    let settings = Settings {
        effort: effort::of_level(effort),
        window: window.clamp(*WINDOWS.start(), *WINDOWS.end()),
    };
    Ok(ENCODER.with_borrow_mut(|encoder| encoder.encode(block, settings, permits)))
}

/// The match table and the tools of a thread.
#[derive(Debug)]
struct Encoder {
    slicer: Slicer,
    slices: SliceEncoder,
}

impl Encoder {
    /// Makes an encoder of slices of `slice` bytes, whose table covers at most `cover` bytes at a
    /// time, up to [`MAX_COVER`].
    fn new(cover: usize, slice: usize) -> Self {
        Self {
            slicer: Slicer::new(cover, slice),
            slices: SliceEncoder::new(),
        }
    }

    /// Returns the frame of a block.
    fn encode(&mut self, block: &[u8], settings: Settings, permits: &WorkerPermits) -> Vec<u8> {
        let mut out = frame::start(block.len(), settings.window);
        if block.is_empty() {
            out.extend(frame::EMPTY_END);
        }
        let search = Search {
            depth: settings.effort.depth,
            reach: 1 << settings.window,
        };
        let parts = self.slicer.encode(
            block,
            search,
            permits,
            &mut self.slices,
            SliceEncoder::new,
            |slices, slice| slices.encode(slice, settings, slice.block.len() == block.len()),
        );
        parts.iter().for_each(|part| out.extend(part));
        self.slicer.shrink();
        out.shrink_to_fit();
        out
    }
}
