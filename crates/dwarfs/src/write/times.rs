//! Times: units since a base, and units below a second.
//!
//! In: the times of inodes. Out: their columns in `inodes`. **Invariant:** times are rounded down
//! to the resolution. The base is the earliest time as a 64-bit number that wraps around: readers
//! add in 64 bits and interpret the sum as signed, which preserves times before 1970.

use sinterfs_model::{Error, NodeId, Result, Time, Tree};

use super::options::TimeResolution;

/// The columns of one kind of time.
#[derive(Debug, Default)]
pub(super) struct TimeColumn {
    /// Units (of a second or longer) since the base.
    pub(super) offset: Vec<u64>,
    /// Units below a second; empty for resolutions of seconds.
    pub(super) subsec: Vec<u32>,
}

/// The times of all inodes.
#[derive(Debug, Default)]
pub(super) struct Times {
    /// The base of offsets.
    pub(super) base: u64,
    /// Modification times.
    pub(super) modified: TimeColumn,
    /// Access times; empty if only modification times are kept.
    pub(super) accessed: TimeColumn,
    /// Inode change times; empty if only modification times are kept.
    pub(super) changed: TimeColumn,
    /// The number of inodes with a rounded time.
    pub(super) rounded: u64,
}

impl Times {
    /// Collects the times of inodes. `Invalid` for nanoseconds of a second or more.
    pub(super) fn new(
        tree: &Tree,
        inodes: &[NodeId],
        resolution: TimeResolution,
        all: bool,
    ) -> Result<Self> {
        let kept = |id: &NodeId| {
            let times = tree.node(*id).meta.times;
            let others = all.then_some([times.accessed, times.changed]);
            [times.modified]
                .into_iter()
                .chain(others.into_iter().flatten())
        };
        if let Some(id) = inodes
            .iter()
            .find(|id| kept(id).any(|time| time.nanos >= 1_000_000_000))
        {
            let path = String::from_utf8_lossy(&tree.path(*id)).into_owned();
            return Err(Error::invalid("a time with a second or more of nanoseconds").path(path));
        }
        let unit = i64::from(resolution.seconds());
        let seconds = |time: Time| time.secs.div_euclid(unit);
        let base = inodes.iter().flat_map(kept).map(seconds).min().unwrap_or(0);
        let column = |pick: fn(&sinterfs_model::Times) -> Time| {
            let times = || inodes.iter().map(|id| pick(&tree.node(*id).meta.times));
            TimeColumn {
                offset: times()
                    .map(|time| seconds(time).wrapping_sub(base).cast_unsigned())
                    .collect(),
                subsec: resolution
                    .subsecond()
                    .map(|unit| times().map(|time| time.nanos / unit).collect())
                    .unwrap_or_default(),
            }
        };
        let is_rounded = |time: Time| match resolution.subsecond() {
            Some(unit) => !time.nanos.is_multiple_of(unit),
            None => time.nanos != 0 || time.secs.rem_euclid(unit) != 0,
        };
        let rounded = inodes.iter().filter(|id| kept(id).any(is_rounded)).count() as u64;
        let mut times = Self {
            base: base.cast_unsigned(),
            modified: column(|times| times.modified),
            rounded,
            ..Self::default()
        };
        if all {
            times.accessed = column(|times| times.accessed);
            times.changed = column(|times| times.changed);
        }
        Ok(times)
    }
}

#[cfg(test)]
mod tests {
    use sinterfs_model::{Content, Meta, TreeBuilder};

    use super::*;

    fn times(times: &[(i64, u32)], nanos: u64, all: bool) -> Times {
        let mut builder = TreeBuilder::new(Meta::default());
        for (i, &(secs, nanos)) in times.iter().enumerate() {
            let at = Time { secs, nanos };
            let mut meta = Meta {
                times: sinterfs_model::Times::all(at),
                ..Meta::default()
            };
            meta.times.accessed.secs += 1;
            let name = format!("{i:04}");
            builder
                .add(NodeId::ROOT, name.as_bytes(), meta, Content::Fifo)
                .unwrap();
        }
        let tree = builder.finish().unwrap();
        let inodes: Vec<NodeId> = (1..=times.len() as u32).map(NodeId).collect();
        Times::new(
            &tree,
            &inodes,
            TimeResolution::from_nanos(nanos).unwrap(),
            all,
        )
        .unwrap()
    }

    /// Adds as upstream does.
    fn seconds(times: &Times, index: usize, unit: u64) -> i64 {
        unit.wrapping_mul(times.base.wrapping_add(times.modified.offset[index]))
            .cast_signed()
    }

    #[test]
    fn times_before_1970_and_after_2106_survive() {
        let given = [(-5, 999_999_999), (1 << 33, 1), (-(1 << 40), 0), (0, 500)];
        let times = times(&given, 1, false);
        for (i, (secs, nanos)) in given.into_iter().enumerate() {
            assert_eq!(seconds(&times, i, 1), secs);
            assert_eq!(times.modified.subsec[i], nanos);
        }
        assert_eq!(times.rounded, 0);
        assert!(times.accessed.offset.is_empty());
    }

    #[test]
    fn extreme_times_wrap_back() {
        let times = times(&[(i64::MIN, 0), (i64::MAX - 1, 0)], 1_000_000_000, false);
        assert_eq!(seconds(&times, 0, 1), i64::MIN);
        assert_eq!(seconds(&times, 1, 1), i64::MAX - 1);
    }

    #[test]
    fn times_are_rounded_down() {
        let times = times(&[(-1, 0), (7, 0), (60, 0), (59, 1)], 60_000_000_000, true);
        let minutes: Vec<i64> = (0..4).map(|i| seconds(&times, i, 60)).collect();
        assert_eq!(minutes, [-60, 0, 60, 0]);
        assert_eq!(times.rounded, 4); // all have an access time that is rounded
        assert_eq!(times.accessed.offset, [1, 1, 2, 2]);
        assert!(times.modified.subsec.is_empty());
    }

    #[test]
    fn units_below_a_second_are_counted() {
        let times = times(&[(0, 1_999_999), (0, 2_000_000)], 1_000_000, false);
        assert_eq!(times.modified.subsec, [1, 2]);
        assert_eq!(times.rounded, 1);
    }
}
