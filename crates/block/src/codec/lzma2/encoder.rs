//! A block in, an .xz stream out: the table, and the slices of the block coded by several threads.
//!
//! **Invariant:** neither what a thread encoded before nor the number of threads shows in the result.

use std::cell::RefCell;
use std::ops::Range;

use sinterfs_model::{Error, Result};
use sinterfs_workers::WorkerPermits;

use crate::codec::Bcj;
use crate::codec::share::{Helped, share};

use super::bcj;
use super::container;
use super::effort;
use super::model::Properties;
use super::slice::{Settings, Slice, SliceEncoder};
use super::table::{MAX_COVER, MatchTable};
use super::trial;

/// The part of what the table covers that it also covered the time before, so that its matches are known.
const OVERLAP: usize = 4;

/// Bytes that are coded without the probabilities of what is before them: so much of a block is a
/// thread's share.
const SLICE: usize = 8 << 20;

/// Slices for each of the threads that share a block, so that none waits long for the last slice.
const SLICES_PER_THREAD: usize = 2;

/// Of so many slices or more the last ones are cut in halves and quarters, for the same reason.
const MANY: usize = 4;

/// The longest table that a thread keeps for its next block; longer ones are little work beside what
/// they are used for.
const KEPT: usize = 4 << 20;

/// Returns how many threads share a block of so many bytes well.
pub(in super::super) fn threads(len: usize) -> usize {
    (len / SLICE / SLICES_PER_THREAD).max(1)
}

/// Says how to encode.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Options {
    /// The effort, from 1 to 9.
    pub(in super::super) level: u32,
    /// The longest distance as a power of two, instead of the block's length.
    pub(in super::super) dict: Option<u32>,
    pub(in super::super) lc: u32,
    pub(in super::super) lp: u32,
    pub(in super::super) pb: u32,
}

impl Options {
    fn properties(self) -> Properties {
        Properties {
            lc: self.lc,
            lp: self.lp,
            pb: self.pb,
        }
    }
}

thread_local! {
    /// Small tables are dear to make for what they are used for, so each thread keeps its own.
    static ENCODER: RefCell<Encoder> = RefCell::new(Encoder::new(MAX_COVER, SLICE));
}

/// Encodes a block into one .xz stream, after the best of some branch converters if it gains
/// something. `Invalid` if the block has 4 GiB or more.
pub(in super::super) fn encode(
    block: &[u8],
    options: Options,
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
/// without chunks and an end mark; tells how much that is. The longest distance is `reach`.
pub(in super::super) fn fill(
    block: &[u8],
    options: Options,
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
    options: Options,
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
        encoder.table.shrink(KEPT);
    });
    container::finish(&mut out, block);
    out.shrink_to_fit();
    out
}

/// Returns where the slices of a range begin, and where the last one ends.
pub(super) fn cuts(range: Range<usize>, slice: usize) -> Vec<usize> {
    let count = range.len().div_ceil(slice);
    let mut cuts: Vec<usize> = range.clone().step_by(slice).collect();
    if count >= MANY {
        let (half, quarter) = (range.end - 2 * slice, range.end - slice);
        cuts.retain(|&cut| cut < half);
        cuts.extend((half..quarter).step_by(slice.div_ceil(2)));
        cuts.extend((quarter..range.end).step_by(slice.div_ceil(4)));
    }
    cuts.push(range.end);
    cuts
}

/// The tables of an encoder.
pub(super) struct Encoder {
    /// Bytes that the table covers at a time.
    cover: usize,
    /// Bytes of a slice.
    slice: usize,
    table: MatchTable,
    slices: SliceEncoder,
}

impl Encoder {
    /// Makes an encoder of slices of `slice` bytes, whose table covers at most `cover` bytes at a time,
    /// up to [`MAX_COVER`].
    pub(super) fn new(cover: usize, slice: usize) -> Self {
        Self {
            cover,
            slice,
            table: MatchTable::new(),
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
        let mut position = 0;
        while position < block.len() {
            let base = position.saturating_sub(self.cover / OVERLAP);
            let end = block.len().min(base + self.cover);
            let (depth, reach) = (settings.effort.depth, settings.reach as usize);
            let slice = self.slice;
            let helpers = (end - base).div_ceil(slice) - 1;
            let helped = Helped { permits, helpers };
            self.table.fill(&block[base..end], depth, reach, helped);
            let table = &self.table;
            let cuts = cuts(position..end, slice);
            let chunks = share(
                helped,
                cuts.len() - 1,
                &mut self.slices,
                SliceEncoder::new,
                |slices, index| {
                    let begin = cuts[index];
                    let slice = Slice {
                        block: &block[..cuts[index + 1]],
                        begin,
                        table,
                        base,
                    };
                    slices.encode(slice, settings)
                },
            );
            chunks.iter().for_each(|chunk| out.extend(chunk));
            position = end;
        }
    }

    /// Encodes as much of a block as there is room for.
    fn fill(&mut self, block: &[u8], settings: Settings<'_>, room: usize) -> (usize, Vec<u8>) {
        let (depth, reach) = (settings.effort.depth, settings.reach as usize);
        let helped = Helped {
            permits: &WorkerPermits::default(),
            helpers: 0,
        };
        self.table.fill(block, depth, reach, helped);
        let slice = Slice {
            block,
            begin: 0,
            table: &self.table,
            base: 0,
        };
        self.slices.fill(slice, settings, room)
    }
}
