//! The memory of an encoder, and the distance up to which it finds repeats.
//!
//! In: an encoding and the length of a block. Out: bytes, rounded up. **Invariant:** the estimates
//! of memory are upper bounds for the linked versions of the libraries; a test compares those of
//! zstd with its contexts.

#![allow(
    clippy::indexing_slicing,
    clippy::cast_sign_loss,
    reason = "indexes are levels, clamped to those that the tables have"
)]

use super::Encoding;
use super::match_finder;
use super::xz_options::DICT_OF_LEVEL;
use sinterfs_workers::MemoryNeeds;

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

/// The distance up to which our encoders find repeats, as a power of two.
const OWN_REACH: u32 = 26;

/// The memory of every encoder without its tables, in bytes.
const BASE: u64 = 8 << 20;

impl Encoding {
    /// Returns an upper bound of the memory in bytes for encoding a block of `len` bytes, without
    /// the block, its encoded form, and what it reserves ([`Self::memory_needs`]).
    pub fn memory(&self, len: u32) -> u64 {
        let log = u64::from(len).next_power_of_two().trailing_zeros().max(10);
        let power = |bits: u32| 1u64 << bits;
        BASE + match *self {
            Self::None => 0,
            Self::Zstd {
                level,
                window,
                long,
            } => {
                let row = level.clamp(1, 22) as usize - 1;
                let (chain, hash) = ZSTD_TABLES[row];
                let window = window.unwrap_or(ZSTD_WINDOWS[row]).min(log);
                let tables = 4 * power(chain.min(window + 1)) + 4 * power(hash.min(window + 1));
                // row hashes have a tag of 2 bytes an entry; the long mode a table of 8 bytes for
                // each 128 positions and a list of sequences
                let tags = 2 * power(hash.min(window + 1));
                tables + tags + if long { power(window) / 8 } else { 0 }
            }
            // binary trees: the dictionary twice, two links a position, hash tables
            Self::Lzma { level, dict, .. } => {
                let dict = dict.unwrap_or(Self::lzma_dict(level)).min(log);
                power(dict) * 23 / 2
            }
            // the matches of a stretch, which a thread keeps
            Self::ZstdOptimal { .. } => 16 << 20,
            Self::Lzma2 { .. } | Self::Lz4 { .. } | Self::Lz4Hc { .. } => 0,
            Self::Brotli { lgwin, .. } => power(lgwin.min(log)) * 16 + u64::from(len) * 3,
            // only a run of samples
            Self::Flac { .. } => 0,
            Self::Ricepp { .. } => u64::from(len) * 2,
        }
    }

    /// Returns what encoding a block of `len` bytes needs while it holds a memory permit.
    pub fn memory_needs(&self, len: u32) -> Option<MemoryNeeds> {
        let covered = u64::from(len).min(1 << OWN_REACH);
        let more = match *self {
            // a converted copy; what the trial makes of it is gone before the stream is there
            Self::Lzma2 { binary, .. } => binary.map_or(0, |_| u64::from(len) + covered / 16),
            Self::ZstdOptimal { .. } => 0,
            _ => return None,
        };
        // a word a position and what the groups are dealt in, of what the table covers at a time,
        // and the tools of a thread for each slice
        Some(MemoryNeeds {
            bytes: 7 * covered + more,
            threads: match_finder::threads(len as usize),
        })
    }

    /// Returns the distance in bytes up to which the codec finds repeats in a block.
    pub fn window(&self) -> u64 {
        let power = |bits: u32| 1u64 << bits;
        match *self {
            // codecs of samples do not look for repeats
            Self::None | Self::Flac { .. } | Self::Ricepp { .. } => 0,
            Self::Zstd { level, window, .. } => {
                power(window.unwrap_or(ZSTD_WINDOWS[level.clamp(1, 22) as usize - 1]))
            }
            Self::ZstdOptimal { window, .. } => power(window.unwrap_or(OWN_REACH)),
            Self::Lzma { level, dict, .. } => power(dict.unwrap_or(Self::lzma_dict(level))),
            Self::Lzma2 { dict, .. } => power(dict.unwrap_or(OWN_REACH)),
            Self::Lz4 { .. } | Self::Lz4Hc { .. } => power(16),
            Self::Brotli { lgwin, .. } => power(lgwin),
        }
    }

    fn lzma_dict(level: u32) -> u32 {
        DICT_OF_LEVEL[level.min(9) as usize]
    }
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
            let encoding = Encoding::Zstd {
                level,
                window,
                long,
            };
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
            let estimated = encoding.memory(raw.len() as u32);
            let taken = context.sizeof() as u64;
            assert!(taken <= estimated, "{encoding}: {taken} > {estimated}");
        }
    }
}
