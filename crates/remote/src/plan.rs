//! The ranges to request: missing leaves, merged.

use std::ops::Range;

/// Bytes that are fetched, kept and compared as one: as large as the leaves of digests.
pub(crate) const LEAF: u64 = LEAF_LEN as u64;

/// The same, as a length in memory.
pub(crate) const LEAF_LEN: usize = 64 << 10;

/// The largest request, in leaves.
pub(crate) const MAX_REQUEST_LEAVES: u64 = (8 << 20) / LEAF;

/// Bytes at the end that are fetched with the first ones: tables and indexes are there. One leaf
/// more than is kept, since the end of an object is rarely the end of a leaf.
pub(crate) const TAIL: u64 = 5 * LEAF;

/// Leaves that are also fetched, since a further request costs more than their bytes.
const GAP: u64 = (256 << 10) / LEAF;

/// Recorded leaves that are fetched ahead at most (16 GiB): lists and images name any number.
const MOST_RECORDED: usize = (16 << 30) / LEAF_LEN;

/// Returns the leaves that hold a range of bytes.
pub(crate) fn leaves(range: &Range<u64>) -> Range<u64> {
    if range.is_empty() {
        return 0..0;
    }
    range.start / LEAF..range.end.div_ceil(LEAF)
}

/// Returns the bytes of leaves of an object.
pub(crate) fn bytes(leaves: &Range<u64>, len: u64) -> Range<u64> {
    let start = leaves.start.saturating_mul(LEAF).min(len);
    start..leaves.end.saturating_mul(LEAF).min(len)
}

/// Merges ascending leaves to requests. Across a gap only if `may_fill` takes each leaf of it: one
/// that is there already, or on its way, would come twice.
pub(crate) fn requests(
    missing: impl IntoIterator<Item = u64>,
    may_fill: impl Fn(u64) -> bool,
) -> Vec<Range<u64>> {
    let mut all: Vec<Range<u64>> = Vec::new();
    for leaf in missing {
        let end = leaf.saturating_add(1);
        if let Some(last) = all.last_mut()
            && leaf.saturating_sub(last.end) <= GAP
            && end.saturating_sub(last.start) <= MAX_REQUEST_LEAVES
            && (last.end..leaf).all(&may_fill)
        {
            last.end = end;
            continue;
        }
        all.push(leaf..end);
    }
    all
}

/// Returns requests for recorded leaves, those that were read first at first. Gaps between them are
/// fetched, too, the smallest first, as long as all of them are at most a sixteenth of the wanted
/// bytes. Leaves beyond a bound are left out.
pub(crate) fn recorded(wanted: &[Range<u64>], is_missing: impl Fn(u64) -> bool) -> Vec<Range<u64>> {
    let leaves = wanted.iter().cloned().flatten().take(MOST_RECORDED);
    let mut missing: Vec<(u64, usize)> = leaves
        .zip(0..)
        .filter(|(leaf, _)| is_missing(*leaf))
        .collect();
    missing.sort_unstable();
    missing.dedup_by_key(|(leaf, _)| *leaf);
    let gap = |pair: (&(u64, usize), &(u64, usize))| pair.1.0.saturating_sub(pair.0.0) - 1;
    let following = || missing.iter().zip(missing.iter().skip(1));
    let mut gaps: Vec<u64> = following().map(gap).filter(|gap| *gap > 0).collect();
    gaps.sort_unstable();
    let mut rest = missing.len() as u64 / 16;
    let affordable = gaps.into_iter().take_while(|gap| {
        let left = rest.checked_sub(*gap);
        rest = left.unwrap_or(0);
        left.is_some()
    });
    // of gaps of that size some may be too many: only smaller ones are sure to be affordable
    let largest = affordable.last().unwrap_or(0);
    let mut budget = missing.len() as u64 / 16;
    let mut requests: Vec<(usize, Range<u64>)> = Vec::new();
    for (leaf, rank) in missing {
        let end = leaf.saturating_add(1);
        if let Some((first, last)) = requests.last_mut()
            && leaf.saturating_sub(last.end) <= largest.min(budget)
            && end.saturating_sub(last.start) <= MAX_REQUEST_LEAVES
            && (last.end..leaf).all(&is_missing)
        {
            budget = budget.saturating_sub(leaf.saturating_sub(last.end));
            last.end = end;
            *first = rank.min(*first);
            continue;
        }
        requests.push((rank, leaf..end));
    }
    requests.sort_unstable_by_key(|(rank, _)| *rank);
    requests.into_iter().map(|(_, leaves)| leaves).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_leaves() {
        assert_eq!(leaves(&(5..5)), 0..0);
        assert_eq!(leaves(&(0..1)), 0..1);
        assert_eq!(leaves(&(LEAF - 1..LEAF + 1)), 0..2);
        assert_eq!(bytes(&(1..3), 2 * LEAF + 7), LEAF..2 * LEAF + 7);
        assert_eq!(bytes(&(9..10), 7), 7..7);
    }

    #[test]
    fn recorded_leaves_are_few_requests_with_little_besides() {
        // 64 leaves in four runs with gaps of 3, 1 and 100: four may be fetched besides
        let runs = [140..156, 0..16, 20..36, 19..20, 37..52];
        assert_eq!(recorded(&runs, |_| true), [140..156, 0..52]);
        let more = [0..16, 18..34, 36..52];
        assert_eq!(recorded(&more, |_| true), [0..34, 36..52]);
        assert_eq!(recorded(&[0..16, 20..36], |_| true), [0..16, 20..36]);
        // what is here is not fetched again
        assert_eq!(recorded(&[0..64], |leaf| leaf != 32), [0..32, 33..64]);
        assert_eq!(recorded(&[0..300], |_| true), [0..128, 128..256, 256..300]);
        assert!(recorded(&[], |_| true).is_empty());
        let hostile = recorded(&[5..u64::MAX, 0..5], |_| true);
        let leaves: u64 = hostile.iter().map(|leaves| leaves.end - leaves.start).sum();
        assert_eq!(leaves, MOST_RECORDED as u64);
    }

    #[test]
    fn near_leaves_share_a_request() {
        assert_eq!(requests([1, 2, 3], |_| true), [1..4]);
        assert_eq!(requests([1, 6], |_| true), [1..7]);
        assert_eq!(requests([1, 7], |_| true), [1..2, 7..8]);
        // leaf 2 is there already
        assert_eq!(requests([1, 3], |leaf| leaf != 2), [1..2, 3..4]);
        let long = requests(0..300, |_| true);
        assert_eq!(long, [0..128, 128..256, 256..300]);
        assert!(requests([], |_| true).is_empty());
    }
}
