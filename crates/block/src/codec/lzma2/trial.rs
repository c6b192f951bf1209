//! Whether a branch converter gains something, by encoding all of the block quickly.
//!
//! In: a block and converters. Out: the best one with what it makes of the block, or none.
//!
//! A sample would not do: several versions of one program have most of their code in common, which
//! calls with absolute targets are not, but only a trial of the whole block sees it. Zstandard at a low
//! level with a long window is a twentieth of the work of LZMA and nearly always of one mind with it.

use model::Result;

use super::bcj;
use crate::codec::{Bcj, zstd};

const LEVEL: i32 = 3;

/// The longest window of the trial, as a power of two.
const MAX_WINDOW: u32 = 27;

/// The trial sees a little less of a converter's gain than LZMA: by so many parts of 1000 (measured
/// with ARM code, where both are near zero).
const BLIND: u64 = 7;

/// Chooses a converter for a block. Memory: one copy of the block, and another while it is encoded.
pub(super) fn best(block: &[u8], candidates: &[Bcj]) -> Result<Option<(Bcj, Vec<u8>)>> {
    if candidates.is_empty() {
        return Ok(None);
    }
    let plain = trial(block)?;
    let mut least = plain + plain * BLIND / 1000;
    let mut best = None;
    let mut converted = block.to_vec();
    let mut last = None;
    for &bcj in candidates {
        converted.copy_from_slice(block);
        bcj::convert(bcj, &mut converted);
        last = Some(bcj);
        if converted == block {
            continue;
        }
        let len = trial(&converted)?;
        if len < least {
            least = len;
            best = Some(bcj);
        }
    }
    Ok(best.map(|bcj| {
        if last != Some(bcj) {
            converted.copy_from_slice(block);
            bcj::convert(bcj, &mut converted);
        }
        (bcj, converted)
    }))
}

/// Tells how long a block is when encoded quickly.
fn trial(block: &[u8]) -> Result<u64> {
    let log = block.len().max(1).next_power_of_two().ilog2();
    let window = log.clamp(10, MAX_WINDOW);
    Ok(zstd::encode(block, LEVEL, Some(window), true)?.len() as u64)
}
