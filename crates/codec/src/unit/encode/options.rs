//! What encoders of units are asked for, whether or not they are built in.

use std::ops::RangeInclusive;

use crate::Bcj;

/// The levels of zlib streams: up to 9 similar to zlib's, above by a parser that searches for the
/// smallest result.
pub const ZLIB_LEVELS: RangeInclusive<i32> = 1..=12;

/// How to encode an .xz stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XzOptions<'a> {
    /// The preset of liblzma, 0 to 9.
    pub level: u32,
    /// Whether to try harder than the preset.
    pub extreme: bool,
    /// The largest dictionary in bytes: a power of two, or the sum of two consecutive ones.
    pub dictionary: u32,
    /// The converters to try, besides none; the smallest result is used.
    pub converters: &'a [Bcj],
}
