//! Which ranges are asked for: missing leaves, merged.

use std::ops::Range;

/// Bytes that are fetched, kept and compared as one: as large as the leaves of digests.
pub(crate) const LEAF: u64 = LEAF_LEN as u64;

/// The same, as a length in memory.
pub(crate) const LEAF_LEN: usize = 64 << 10;

/// The largest request, in leaves.
pub(crate) const MOST: u64 = (8 << 20) / LEAF;

/// Bytes at the end that are fetched with the first ones: tables and indexes are there. One leaf
/// more than is kept, since the end of an object is rarely that of a leaf.
pub(crate) const TAIL: u64 = 5 * LEAF;

/// Leaves that are fetched besides, since a further request costs more than their bytes.
const GAP: u64 = (256 << 10) / LEAF;

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
            && end.saturating_sub(last.start) <= MOST
            && (last.end..leaf).all(&may_fill)
        {
            last.end = end;
            continue;
        }
        all.push(leaf..end);
    }
    all
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
