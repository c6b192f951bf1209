//! The memory of zstd's encoder, and the windows of its levels.
//!
//! In: options and the length of a block. Out: bytes, rounded up. **Invariant:** the estimate is an
//! upper bound for the linked version of the library; a test compares it with its contexts.

#![allow(
    clippy::indexing_slicing,
    clippy::cast_sign_loss,
    reason = "indexes are levels, clamped to those that the tables have"
)]

use crate::cost::{BASE, log_of};

/// The tables of zstd's levels from 1 to 22, as powers of two of 4-byte entries: chain (or tree)
/// and hash. From zstd's manual of compression parameters for large input.
const ZSTD_TABLES: [(u32, u32); 22] = [
    (13, 14),
    (15, 16),
    (16, 17),
    (18, 18),
    (18, 19),
    (18, 19),
    (19, 20),
    (19, 20),
    (20, 21),
    (21, 22),
    (21, 22),
    (22, 23),
    (22, 22),
    (22, 23),
    (23, 23),
    (22, 22),
    (23, 22),
    (23, 22),
    (24, 22),
    (25, 23),
    (26, 24),
    (27, 25),
];

/// The windows of zstd's levels from 1 to 22, as powers of two.
const ZSTD_WINDOWS: [u32; 22] = [
    19, 20, 21, 21, 21, 21, 21, 21, 22, 22, 22, 22, 22, 22, 22, 22, 23, 23, 23, 25, 26, 27,
];

/// Returns the level's row in the tables.
fn row(level: i32) -> usize {
    level.clamp(1, 22) as usize - 1
}

/// Returns the window of a level, as a power of two.
pub(super) fn window_of(level: i32) -> u32 {
    ZSTD_WINDOWS[row(level)]
}

/// Returns the memory for a block of `len` bytes.
pub(super) fn memory(level: i32, window: Option<u32>, long: bool, len: u32) -> u64 {
    let power = |bits: u32| 1u64 << bits;
    let (chain, hash) = ZSTD_TABLES[row(level)];
    let window = window.unwrap_or(window_of(level)).min(log_of(len));
    let tables = 4 * power(chain.min(window + 1)) + 4 * power(hash.min(window + 1));
    // row hashes have a tag of 2 bytes an entry; the long mode a table of 8 bytes for each 128
    // positions and a list of sequences
    let tags = 2 * power(hash.min(window + 1));
    BASE + tables + tags + if long { power(window) / 8 } else { 0 }
}

#[cfg(test)]
mod tests {
    use zstd_safe::{CCtx, CParameter};

    use super::*;

    #[test]
    fn zstd_takes_no_more_than_estimated() {
        let raw: Vec<u8> = (0..4_000_000u32)
            .flat_map(|n| (n / 3).to_le_bytes())
            .collect();
        for (level, window, long) in [(1, None, false), (9, Some(24), true), (12, None, false)]
            .into_iter()
            .chain((13..=22).map(|level| (level, None, false)))
        {
            let mut context = CCtx::create();
            context
                .set_parameter(CParameter::CompressionLevel(level))
                .unwrap();
            if let Some(window) = window {
                context
                    .set_parameter(CParameter::WindowLog(window))
                    .unwrap();
            }
            context
                .set_parameter(CParameter::EnableLongDistanceMatching(long))
                .unwrap();
            let mut encoded = Vec::with_capacity(zstd_safe::compress_bound(raw.len()));
            context.compress2(&mut encoded, &raw).unwrap();
            let estimated = memory(level, window, long, raw.len() as u32);
            let taken = context.sizeof() as u64;
            assert!(taken <= estimated, "level {level}: {taken} > {estimated}");
        }
    }
}
