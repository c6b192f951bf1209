//! MicroLZMA (xz's `lzma/container.h`): an LZMA code without an end mark, whose first byte, always
//! zero, gives way to the inverted properties. By our encoder, which can be told how much room
//! there is.

use std::ops::RangeInclusive;

use crate::codec::lzma2::{self, Options};

/// The levels, as those of our LZMA2.
pub const LEVELS: RangeInclusive<u32> = 1..=9;

/// The shortest stream.
const STREAM_MIN: usize = 6;

/// The parameters that LZMA has by default, and the byte that tells them.
const PROPERTIES: (u32, u32, u32) = (3, 0, 2);
const PROPERTIES_BYTE: u8 = 0x5d;

/// Encodes as much of `raw`, up to `room` bytes of a stream; tells how much that is. Distances are
/// at most `dictionary`. What is too short for any stream gives an empty one.
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

/// Encodes into a stream; `None` if that is not smaller.
pub fn encode(raw: &[u8], level: u32, dictionary: u32) -> Option<Vec<u8>> {
    let (taken, stream) = fill(raw, raw.len().saturating_sub(1), level, dictionary);
    (taken == raw.len() && !stream.is_empty()).then_some(stream)
}
