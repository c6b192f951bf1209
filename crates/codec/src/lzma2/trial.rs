//! Whether a branch converter gains something, by encoding all of the block quickly.
//!
//! In: a block and converters. Out: the best one with the converted block, or none.
//!
//! A sample would not do: several versions of one program have most of their code in common, which
//! calls with absolute targets are not, but only a trial of the whole block sees it. Zstandard at a
//! low level with a long window is a twentieth of the work of LZMA and nearly always of one mind
//! with it.

use sinterfs_model::Result;
use sinterfs_workers::WorkerPermits;

use super::bcj;
use crate::Bcj;
use crate::share::{Helped, share};

/// The trial sees a little less of a converter's gain than LZMA: by so many parts of 1000 (measured
/// with ARM code, where both are near zero).
const BLIND: u64 = 7;

/// Chooses a converter for a block. Memory: for each thread a copy of the block, and another while
/// it is encoded.
pub(super) fn best(
    block: &[u8],
    candidates: &[Bcj],
    permits: &WorkerPermits,
) -> Result<Option<(Bcj, Vec<u8>)>> {
    if candidates.is_empty() {
        return Ok(None);
    }
    let helped = Helped {
        permits,
        helpers: 1,
    };
    let parts = candidates.len() + 1;
    // the last part is the block as it is: what a thread is left with takes no copy
    let lens = share(
        helped,
        parts,
        &mut (),
        || (),
        |(), part| {
            candidates.get(part).map_or_else(
                || trial(block).map(Some),
                |&bcj| converted_trial(block, bcj),
            )
        },
    );
    let mut lens = lens.into_iter().collect::<Result<Vec<_>>>()?;
    let plain = lens.pop().flatten().unwrap_or(u64::MAX);
    let least = plain.saturating_add(plain / 1000 * BLIND);
    let known = candidates.iter().zip(lens);
    let best = known
        .filter_map(|(&bcj, len)| Some((len?, bcj)))
        .filter(|&(len, _)| len < least)
        .min_by_key(|&(len, _)| len);
    Ok(best.map(|(_, bcj)| (bcj, converted(block, bcj))))
}

/// Returns how long a block is after a converter and encoded quickly; nothing if it stays as it is.
fn converted_trial(block: &[u8], bcj: Bcj) -> Result<Option<u64>> {
    let converted = converted(block, bcj);
    if converted == block {
        Ok(None)
    } else {
        trial(&converted).map(Some)
    }
}

fn converted(block: &[u8], bcj: Bcj) -> Vec<u8> {
    let mut converted = block.to_vec();
    bcj::convert(bcj, &mut converted);
    converted
}

/// Returns how long a block is when encoded quickly.
#[cfg(feature = "zstd")]
fn trial(block: &[u8]) -> Result<u64> {
    const LEVEL: i32 = 3;
    // as a power of two
    const MAX_WINDOW: u32 = 27;
    let log = block.len().max(1).next_power_of_two().ilog2();
    let window = log.clamp(10, MAX_WINDOW);
    Ok(crate::zstd::encode(block, LEVEL, Some(window), true)?.len() as u64)
}

/// Fails.
#[cfg(not(feature = "zstd"))]
fn trial(_block: &[u8]) -> Result<u64> {
    Err(crate::codec::left_out("zstd", "zstd"))
}
