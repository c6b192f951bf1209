//! A block in, an .xz stream out: the table, and the slices of the block coded by several threads.
//!
//! **Invariant:** neither what a thread encoded before nor the number of threads changes the
//! result.

use std::cell::RefCell;

use sinterfs_model::{Error, Result};
use sinterfs_workers::WorkerPermits;

use crate::Bcj;
use crate::match_finder::{MAX_COVER, SLICE, Slicer};

use super::bcj;
use super::container;
use super::effort;
use super::model::Properties;
use super::slice::{Settings, SliceEncoder};
use super::trial;

/// How to encode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lzma2Options {
    /// The effort, from 1 to 9.
    pub(crate) level: u32,
    /// The longest distance as a power of two, instead of the block's length.
    pub(crate) dict: Option<u32>,
    pub(crate) lc: u32,
    pub(crate) lp: u32,
    pub(crate) pb: u32,
}

impl Lzma2Options {
    fn properties(self) -> Properties {
        Properties {
            lc: self.lc,
            lp: self.lp,
            pb: self.pb,
        }
    }
}

thread_local! {
    /// Making small tables costs more than using them, so each thread keeps a set.
    static ENCODER: RefCell<Encoder> = RefCell::new(Encoder::new(MAX_COVER, SLICE));
}

/// Encodes a block into one .xz stream, after the best of some branch converters if it gains
/// something. `Invalid` if the block has 4 GiB or more.
pub(crate) fn encode(
    block: &[u8],
    options: Lzma2Options,
    candidates: &[Bcj],
    permits: &WorkerPermits,
) -> Result<Vec<u8>> {
    if u32::try_from(block.len()).is_err() {
        return Err(Error::invalid(format!(
            "lzma2: a block of {} bytes is too long",
            block.len()
        )));
    }
    let _memory = permits.reserve_memory(block.len() as u64);
    match trial::best(block, candidates, permits)? {
        Some((bcj, converted)) => Ok(stream(block, &converted, options, Some(bcj), permits)),
        None => Ok(stream(block, block, options, None, permits)),
    }
}

/// Encodes as much of a block of up to `MAX_COVER` bytes as gives one code of at most `room` bytes,
/// without chunks and an end mark, and returns how much. The longest distance is `reach`.
pub(crate) fn fill(
    block: &[u8],
    options: Lzma2Options,
    reach: u32,
    room: usize,
) -> (usize, Vec<u8>) {
    let settings = Settings {
        effort: effort::of_level(options.level),
        properties: options.properties(),
        reach,
    };
    let block = block.get(..MAX_COVER).unwrap_or(block);
    ENCODER.with_borrow_mut(|encoder| encoder.fill(block, settings, room))
}

/// Makes the stream of a block that is converted already.
pub(super) fn stream(
    block: &[u8],
    converted: &[u8],
    options: Lzma2Options,
    bcj: Option<Bcj>,
    permits: &WorkerPermits,
) -> Vec<u8> {
    let reach = block.len().min(MAX_COVER);
    let dict = container::Dictionary::for_block(reach, options.dict);
    let settings = Settings {
        effort: effort::of_level(options.level),
        properties: options.properties(),
        reach: dict.bytes(),
    };
    let mut out = container::start(dict, bcj.map(bcj::id));
    ENCODER.with_borrow_mut(|encoder| {
        encoder.encode(converted, settings, permits, &mut out);
        encoder.slicer.shrink();
    });
    container::finish(&mut out, block);
    out.shrink_to_fit();
    out
}

/// The match table and the tools of an encoder.
pub(super) struct Encoder {
    slicer: Slicer,
    slices: SliceEncoder,
}

impl Encoder {
    /// Makes an encoder of slices of `slice` bytes, whose table covers at most `cover` bytes at a
    /// time, up to [`MAX_COVER`].
    pub(super) fn new(cover: usize, slice: usize) -> Self {
        Self {
            slicer: Slicer::new(cover, slice),
            slices: SliceEncoder::new(),
        }
    }

    /// Appends a block's chunks to `out`.
    pub(super) fn encode(
        &mut self,
        block: &[u8],
        settings: Settings<'_>,
        permits: &WorkerPermits,
        out: &mut Vec<u8>,
    ) {
        let chunks = self.slicer.encode(
            block,
            settings.search(),
            permits,
            &mut self.slices,
            SliceEncoder::new,
            |slices, slice| slices.encode(slice, settings),
        );
        chunks.iter().for_each(|chunk| out.extend(chunk));
    }

    /// Encodes as much of a block as there is room for.
    fn fill(&mut self, block: &[u8], settings: Settings<'_>, room: usize) -> (usize, Vec<u8>) {
        let permits = WorkerPermits::default();
        let slice = self.slicer.whole(block, settings.search(), &permits);
        self.slices.fill(slice, settings, room)
    }
}
