//! The levels of LZ4, Zstandard and the presets of LZMA: the ranges that encoders take, for the
//! options of every format.
//!
//! **Invariant:** each range is declared here alone. It does not depend on which codecs are built
//! in.

use std::ops::RangeInclusive;

/// The levels of LZ4's fast method: 0, or negative for more speed (the acceleration of liblz4).
pub const LZ4: RangeInclusive<i32> = -65_536..=0;

/// The levels of LZ4's high-compression method.
pub const LZ4HC: RangeInclusive<i32> = 1..=12;

/// Those that mkdwarfs takes, too: for liblz4, 0 is its default level.
pub(super) const LZ4HC_WITH_DEFAULT: RangeInclusive<i32> = 0..=*LZ4HC.end();

/// The levels of Zstandard; those below 1 are fast.
pub const ZSTD: RangeInclusive<i32> = -131_072..=22;

/// The presets of liblzma, for LZMA and LZMA2.
pub const LZMA: RangeInclusive<u32> = 0..=9;
