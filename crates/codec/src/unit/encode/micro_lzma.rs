//! MicroLZMA (xz's `lzma/container.h`): an LZMA stream without an end marker, whose first byte,
//! always zero, is replaced by the inverted properties. By our encoder, which can stop at a given
//! length.

use std::ops::RangeInclusive;

use crate::lzma2::{self, Options};

/// The levels, as those of our LZMA2.
pub const LEVELS: RangeInclusive<u32> = 1..=9;

/// The shortest stream.
const STREAM_MIN: usize = 6;

/// LZMA's default parameters, and the byte that encodes them.
const PROPERTIES: (u32, u32, u32) = (3, 0, 2);
const PROPERTIES_BYTE: u8 = 0x5d;

/// Encodes as much of `raw` as fits a stream of `room` bytes; also returns how much that is.
/// Distances are at most `dictionary`. The stream is empty if `room` is too short for any.
pub fn fill(raw: &[u8], room: usize, level: u32, dictionary: u32) -> (usize, Vec<u8>) {
    if raw.is_empty() || room < STREAM_MIN {
        return (0, Vec::new());
    }
    let (lc, lp, pb) = PROPERTIES;
    let options = Options {
        level,
        dict: None,
        lc,
        lp,
        pb,
    };
    let (taken, mut stream) = lzma2::fill(raw, options, dictionary, room);
    if let Some(first) = stream.first_mut() {
        *first = !PROPERTIES_BYTE;
    }
    match taken {
        0 => (0, Vec::new()),
        _ => (taken, stream),
    }
}

/// Encodes all of `raw` into a stream; `None` if that is not smaller.
pub fn encode(raw: &[u8], level: u32, dictionary: u32) -> Option<Vec<u8>> {
    let (taken, stream) = fill(raw, raw.len().saturating_sub(1), level, dictionary);
    (taken == raw.len() && !stream.is_empty()).then_some(stream)
}
