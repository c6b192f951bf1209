//! What the encoder of Zstandard of this crate is asked for.

use std::ops::RangeInclusive;

/// The efforts.
pub(super) const EFFORTS: RangeInclusive<u32> = 1..=3;

/// The effort where none is named.
pub(super) const DEFAULT_EFFORT: u32 = 2;

/// The longest distances of matches, as powers of two; the greatest is usual.
pub(super) const WINDOWS: RangeInclusive<u32> = 10..=26;
