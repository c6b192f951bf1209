//! The base time of compact inodes.
//!
//! In: the tree. Out: the seconds and nanoseconds that let most inodes be compact. **Invariant:**
//! they do not depend on the order of nodes.

use std::collections::HashMap;

use sinterfs_model::{Time, Tree};

/// The base of the times of compact inodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeBase {
    /// The seconds that these count from.
    pub(super) epoch: i64,
    /// The nanoseconds of all.
    pub(super) nanos: u32,
    /// Whether each compact inode has its own seconds.
    counts: bool,
    /// The build time, in seconds from `epoch` on.
    pub(super) made: u32,
}

impl TimeBase {
    /// Chooses the base for a tree; `counts` is whether compact inodes have their own seconds.
    pub(super) fn new(tree: &Tree, made: Option<u64>, counts: bool) -> Self {
        let times = || tree.nodes().iter().map(|node| node.meta.times.modified);
        let made = made.map(|made| i64::try_from(made).unwrap_or(i64::MAX));
        let latest = times().map(|time| time.secs).max().unwrap_or(0);
        let made = made.unwrap_or(latest);
        let (epoch, nanos) = if counts {
            let nanos = most_frequent(times().map(|time| time.nanos)).unwrap_or(0);
            let alike = times().filter(|time| time.nanos == nanos);
            let first = alike.map(|time| time.secs).min().unwrap_or(0);
            (first.min(made), nanos)
        } else {
            most_frequent(times()).map_or((0, 0), |time| (time.secs, time.nanos))
        };
        let made = made.saturating_sub(epoch).max(0);
        Self {
            epoch,
            nanos,
            counts,
            made: u32::try_from(made).unwrap_or(u32::MAX),
        }
    }

    /// Returns the seconds of a compact inode; `None` if it cannot express the time.
    pub(super) fn offset(&self, time: Time) -> Option<u32> {
        let offset = u32::try_from(time.secs.checked_sub(self.epoch)?).ok()?;
        (time.nanos == self.nanos && (self.counts || offset == 0)).then_some(offset)
    }
}

/// Returns the most frequent value; of several, the smallest.
fn most_frequent<T: Copy + Ord + std::hash::Hash>(all: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: HashMap<T, u64> = HashMap::new();
    for one in all {
        *counts.entry(one).or_default() += 1;
    }
    let best = counts
        .into_iter()
        .max_by(|(a, times_a), (b, times_b)| times_a.cmp(times_b).then(b.cmp(a)));
    best.map(|(one, _)| one)
}

#[cfg(test)]
mod tests {
    use sinterfs_model::{Content, Meta, NodeId, TreeBuilder};

    use super::*;

    fn tree(times: &[(i64, u32)]) -> Tree {
        let meta = |&(secs, nanos): &(i64, u32)| Meta {
            times: sinterfs_model::Times::all(Time { secs, nanos }),
            ..Meta::default()
        };
        let mut builder = TreeBuilder::new(meta(&times[0]));
        for (index, time) in times.iter().enumerate().skip(1) {
            let name = index.to_string();
            builder
                .add(NodeId::ROOT, name.as_bytes(), meta(time), Content::Fifo)
                .unwrap();
        }
        builder.finish().unwrap()
    }

    fn at(secs: i64, nanos: u32) -> Time {
        Time { secs, nanos }
    }

    #[test]
    fn the_most_inodes_are_compact() {
        let tree = tree(&[(50, 7), (-9, 0), (1 << 33, 0), (5, 7), (100, 7)]);
        let times = TimeBase::new(&tree, None, true);
        assert_eq!((times.epoch, times.nanos, times.made), (5, 7, u32::MAX));
        assert_eq!(times.offset(at(50, 7)), Some(45));
        for other in [at(50, 6), at(4, 7), at(1 << 33, 7), at(i64::MIN, 7)] {
            assert_eq!(times.offset(other), None);
        }
        // an image that is older than its files
        assert_eq!(TimeBase::new(&tree, Some(2), true).epoch, 2);
    }

    #[test]
    fn old_kernels_know_one_time() {
        let tree = tree(&[(50, 7), (5, 7), (50, 7), (5, 7)]);
        let times = TimeBase::new(&tree, Some(60), false);
        assert_eq!((times.epoch, times.nanos, times.made), (5, 7, 55));
        assert_eq!(times.offset(at(5, 7)), Some(0));
        assert_eq!(times.offset(at(50, 7)), None);
    }
}
