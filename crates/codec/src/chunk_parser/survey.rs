//! Chooses items quickly: the longest match, unless the next position has a better one.
//!
//! In: a chunk and its matches. Out: items. Their statistics are the first prices of the parser and
//! decide where a coder begins a block; the lowest levels write them unchanged.
//!
//! **Invariant:** the items cover the range.

use std::ops::Range;

use super::finder::{ChunkMatches, agreement};
use super::items::{Coder, Item, Recent};

/// From this length on, the next position is not looked at.
const CERTAIN: usize = 8;

/// Sets the items of a range of a chunk; `recent` are the latest distances before it.
pub(crate) fn survey<C: Coder>(
    chunk: &[u8],
    range: Range<usize>,
    matches: &ChunkMatches,
    mut recent: Recent,
    items: &mut Vec<Item>,
) {
    items.clear();
    let chunk = &chunk[..range.end];
    let mut at = range.start;
    let mut known = None;
    while at < range.end {
        let (score, item) = known.unwrap_or_else(|| best::<C>(chunk, at, matches, recent));
        known = None;
        let len = item.len::<C>();
        if (2..CERTAIN).contains(&len) && at + 1 < range.end {
            let next = best::<C>(chunk, at + 1, matches, recent);
            if next.0 > score {
                items.push(Item::literal::<C>(chunk[at]));
                at += 1;
                known = Some(next);
                continue;
            }
        }
        items.push(item);
        at += len;
        if C::HAS_REPEATS {
            recent = recent.after::<C>(item);
        }
    }
}

/// Returns the item that seems best, with a number that is higher for a better one.
#[inline(always)]
fn best<C: Coder>(
    chunk: &[u8],
    at: usize,
    matches: &ChunkMatches,
    recent: Recent,
) -> (usize, Item) {
    let mut best = (0, Item::literal::<C>(chunk[at]));
    let room = chunk.len() - at;
    if let Some(found) = matches.at(at).last() {
        // a distance of 4 bits more costs as much as a byte less
        let far = found.distance::<C>().max(1).ilog2() as usize / 4;
        let len = found.len::<C>().min(room);
        if len > 4 || (len >= C::LEAST && len * 2 > far + 2) {
            best = (len * 4 + 16 - far, Item::matched::<C>(*found, len));
        }
    }
    if !C::HAS_REPEATS || room < 2 {
        return best;
    }
    let next = &chunk[at..at + 2];
    for (index, distance) in recent.distances().into_iter().enumerate() {
        if distance > at || chunk[at - distance..at - distance + 2] != *next {
            continue;
        }
        let own = &chunk[at..at + room.min(C::MOST)];
        let len = agreement(own, &chunk[at - distance..], 2);
        let score = len * 4 + 20;
        if score > best.0 {
            best = (score, Item::repeated::<C>(index, len));
        }
    }
    best
}
