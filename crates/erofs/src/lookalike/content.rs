//! The location of a file's content: contiguous, or in chunks, where chunks without data are holes.
//!
//! In: a file with holes. Out: a map of chunks. **Invariant:** a chunk is a hole only if all of it
//! is one; the map is as small as it can be without hiding holes, and bounded.

#![expect(
    clippy::cast_possible_truncation,
    reason = "every region of the address space is limited before a value is stored"
)]

use std::ops::ControlFlow;

use sinterfs_model::{ExtentSource, Image, Inode, Result};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32};

use super::space::{Space, is_wide};
use crate::layout::{ChunkIndex, chunk};
use crate::write::{BLOCK, BLOCK_BITS};

/// The most chunks of a file, until maps take `ROOM` bytes.
const CHUNKS: u64 = 1 << 16;

/// Bytes of maps, after which files get only as many chunks as they have ranges.
const ROOM: u64 = 32 << 20;

/// The largest chunk, as a power of two.
const BITS_MAX: u32 = BLOCK_BITS as u32 + chunk::BITS_MASK as u32;

/// The way in which an inode records the location of content.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// In a row of blocks from this one on.
    Flat(u64),
    /// In chunks.
    Chunks {
        /// The chunk format.
        format: u16,
        /// The first block of each chunk.
        map: Vec<u8>,
    },
}

/// A range of a file that is not a hole.
#[derive(Debug, Clone, Copy)]
struct Range {
    start: u64,
    end: u64,
}

/// The most extents of a file that are looked at.
const EXTENTS: usize = 1 << 20;

/// Lists the ranges of a file that are not holes: all of it, if it has too many extents.
fn ranges(image: &dyn Image, inode: &Inode) -> Result<Vec<Range>> {
    let mut ranges: Vec<Range> = Vec::new();
    let mut left = EXTENTS;
    image.extents(inode.ino, 0, &mut |extent| {
        if left == 0 {
            return ControlFlow::Break(());
        }
        left -= 1;
        let end = extent.offset.saturating_add(extent.len).min(inode.size);
        if extent.source != ExtentSource::Hole && extent.offset < end {
            match ranges.last_mut() {
                Some(last) if last.end >= extent.offset => last.end = last.end.max(end),
                _ => ranges.push(Range {
                    start: extent.offset,
                    end,
                }),
            }
        }
        ControlFlow::Continue(())
    })?;
    if left == 0 {
        ranges = vec![Range {
            start: 0,
            end: inode.size,
        }];
    }
    Ok(ranges)
}

/// Returns the size of chunks as a power of two: the largest that shows all holes, or the smallest
/// of which there are not too many.
fn chunk_bits(size: u64, ranges: &[Range], most: u64) -> u32 {
    let edges = ranges.iter().flat_map(|range| [range.start, range.end]);
    let edges = edges
        .filter(|&edge| edge != size)
        .fold(0, |all, edge| all | edge);
    let shows_all = edges
        .trailing_zeros()
        .clamp(u32::from(BLOCK_BITS), BITS_MAX);
    let enough = (shows_all..BITS_MAX).find(|bits| size.div_ceil(1 << bits) <= most);
    enough.unwrap_or(BITS_MAX)
}

/// Assigns addresses to the content of a file; `mapped` counts the bytes of maps.
pub(super) fn place(
    image: &dyn Image,
    inode: &Inode,
    space: &mut Space,
    mapped: &mut u64,
) -> Result<Body> {
    if inode.size == 0 {
        return Ok(Body::Flat(0));
    }
    if inode.allocated < inode.size {
        let ranges = ranges(image, inode)?;
        let most = if *mapped < ROOM {
            CHUNKS
        } else {
            (4 * ranges.len() as u64).clamp(16, CHUNKS)
        };
        let bits = chunk_bits(inode.size, &ranges, most);
        let runs = data_runs(inode.size, &ranges, bits);
        if runs.first().is_none_or(|run| *run != (0, inode.size)) {
            let body = chunks(inode, &runs, bits, space)?;
            if let Body::Chunks { map, .. } = &body {
                *mapped += map.len() as u64;
            }
            return Ok(body);
        }
    }
    Ok(Body::Flat(space.add(inode.ino, 0, inode.size)?))
}

/// Widens ranges to whole chunks, and returns where each run of them begins and ends.
fn data_runs(size: u64, ranges: &[Range], bits: u32) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for range in ranges {
        let start = range.start >> bits << bits;
        let end = range.end.checked_next_multiple_of(1 << bits);
        let end = end.map_or(size, |end| end.min(size));
        match runs.last_mut() {
            Some(last) if last.1 >= start => last.1 = end,
            _ => runs.push((start, end)),
        }
    }
    runs
}

/// Makes the map of a file.
fn chunks(inode: &Inode, runs: &[(u64, u64)], bits: u32, space: &mut Space) -> Result<Body> {
    let step = (1_u64 << bits) / BLOCK;
    let (mut starts, count) = (Vec::new(), inode.size.div_ceil(1 << bits));
    for &(start, end) in runs {
        starts.resize((start >> bits) as usize, None);
        let first = space.add(inode.ino, start, end - start)?;
        let chunks = (end - start).div_ceil(1 << bits);
        starts.extend((0..chunks).map(|chunk| Some(first + chunk * step)));
    }
    starts.resize(count as usize, None);
    let wide = starts.iter().flatten().any(|&start| is_wide(start));
    let mut format = (bits - u32::from(BLOCK_BITS)) as u16;
    let mut map = Vec::new();
    if wide {
        format |= chunk::INDEXES | chunk::BIT48;
    }
    for start in starts {
        let start = start.unwrap_or(u64::MAX);
        if wide {
            map.extend_from_slice(
                ChunkIndex {
                    start_high: U16::new((start >> 32) as u16),
                    device: U16::new(0),
                    start: U32::new(start as u32),
                }
                .as_bytes(),
            );
        } else {
            map.extend_from_slice(&(start as u32).to_le_bytes());
        }
    }
    Ok(Body::Chunks { format, map })
}
