//! Compares a file and its record with the checksums in the record.
//!
//! In: the file and the record, either of which may have lost, gained or changed bytes. Out: where
//! each intact shard is. A shard is looked for where it belongs, and where it is if the bytes
//! before it have grown or shrunk by the difference in length. **Invariant:** a shard counts as
//! intact only if its checksum is right; one that cannot be read, or whose checksum is lost, does
//! not.

use std::sync::atomic::{AtomicU64, Ordering};

use sinterfs_block::ReadAt;
use sinterfs_model::{Kind, Observer, Result, Stage, Tally};

use crate::encode::sum_of;
use crate::find::FoundRecord;
use crate::layout::{COPIES, GROUP, GROUP_BYTES, HEADER, ParityLayout};
use crate::shards::for_each;
use crate::table;

/// The place of no shard.
const NOWHERE: u64 = u64::MAX;

/// The damage of a file and its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Damage {
    /// Shards of data that are damaged.
    pub data: usize,
    /// Shards of parity that are damaged.
    pub parity: usize,
    /// Copies of groups of the table, and of the header, that are damaged.
    pub tables: usize,
    /// Shards whose checksum is lost in all copies.
    pub unknown: usize,
    /// Whether shards of data are not where they belong, or the file has another length.
    pub moved: bool,
    /// Whether parts of the record are not where they belong, or its file has another length.
    pub record_moved: bool,
}

impl Damage {
    /// Returns whether there is none.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The places of the intact parts of a file and its record.
#[derive(Debug)]
pub struct Examined {
    pub(crate) layout: ParityLayout,
    pub(crate) set: u64,
    pub(crate) sums: Vec<Option<u64>>,
    /// The offset of each intact shard, in the file of its sort.
    pub(crate) places: Vec<Option<u64>>,
    /// The damage.
    pub damage: Damage,
}

impl Examined {
    /// Returns the numbers of the record.
    pub fn layout(&self) -> &ParityLayout {
        &self.layout
    }

    /// Returns whether there is enough parity to restore everything.
    pub fn is_repairable(&self) -> bool {
        self.damage.data <= (self.layout.parity as usize).saturating_sub(self.damage.parity)
    }
}

/// Examines a file, and the file of its record.
pub fn examine(
    file: &dyn ReadAt,
    record: &dyn ReadAt,
    found: FoundRecord,
    threads: usize,
    observer: &dyn Observer,
) -> Result<Examined> {
    let layout = found.layout;
    let in_record = [
        0,
        found.moved,
        difference(record.len(), layout.record_len()),
    ];
    let moved = difference(file.len(), layout.len);
    let in_file = [0, moved, moved];
    let mut damage = Damage {
        moved: moved != 0,
        record_moved: in_record[1] != 0 || in_record[2] != 0,
        ..Damage::default()
    };
    let sums = sums(record, &found, in_record, &mut damage);
    observer.expect(Stage::Verify, Tally::bytes(layout.len));
    let places: Vec<AtomicU64> = sums.iter().map(|_| AtomicU64::new(NOWHERE)).collect();
    for_each(places.len() as u64, threads, observer, |index| {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        let sum = sums.get(index as usize).copied().flatten();
        let place = match (index.checked_sub(layout.data), sum) {
            (_, None) => None,
            (None, Some(sum)) => {
                let (at, len) = layout.data_range(index);
                place_of(file, at, (layout.shard, len), sum, in_file)?
            }
            (Some(parity), Some(sum)) => {
                let at = layout.parity_offset(parity);
                let (whole, len) = (layout.shard, layout.shard);
                place_of(record, at, (whole, len), sum, in_record)?
            }
        };
        if let (Some(place), Some(kept)) = (place, places.get(index as usize)) {
            kept.store(place, Ordering::Relaxed);
        }
        if index < layout.data {
            let len = layout.data_range(index).1;
            observer.advance(Stage::Verify, Tally::bytes(len));
        }
        Ok(())
    })?;
    let places = places.into_iter().map(AtomicU64::into_inner);
    let places: Vec<Option<u64>> = places.map(|at| (at != NOWHERE).then_some(at)).collect();
    let (data, parity) = places.split_at(places.len().min(layout.data as usize));
    damage.data = data.iter().filter(|place| place.is_none()).count();
    damage.parity = parity.iter().filter(|place| place.is_none()).count();
    Ok(Examined {
        layout,
        set: found.set,
        sums,
        places,
        damage,
    })
}

fn difference(found: u64, expected: u64) -> i64 {
    let number = |value| i64::try_from(value).unwrap_or(i64::MAX);
    number(found).saturating_sub(number(expected))
}

/// Reads the checksums of all shards from all copies of the table.
fn sums(
    record: &dyn ReadAt,
    found: &FoundRecord,
    shifts: [i64; 3],
    damage: &mut Damage,
) -> Vec<Option<u64>> {
    let layout = found.layout;
    let mut sums = vec![None; layout.shards()];
    for copy in 0..COPIES {
        let start = layout.copy_offset(copy);
        let mut header = [0; HEADER];
        let is_header = |at| {
            record.read_at(at, &mut header).is_ok()
                && ParityLayout::parse(&header) == Some((layout, copy, found.set))
        };
        damage.tables += usize::from(!positions(start, shifts).any(is_header));
        for group in 0..layout.groups() {
            let at = start.saturating_add((HEADER + group * GROUP_BYTES) as u64);
            let read = positions(at, shifts).find_map(|at| {
                let mut bytes = [0; GROUP_BYTES];
                record.read_at(at, &mut bytes).ok()?;
                table::read_group(&bytes, group, found.set)
            });
            damage.tables += usize::from(read.is_none());
            let places = sums.iter_mut().skip(group * GROUP);
            for (place, sum) in places.zip(read.into_iter().flatten()) {
                *place = Some(sum);
            }
        }
    }
    damage.unknown = sums.iter().filter(|sum| sum.is_none()).count();
    sums
}

/// Returns where something may be that belongs at an offset: each place once.
fn positions(offset: u64, shifts: [i64; 3]) -> impl Iterator<Item = u64> {
    let all = shifts.map(|shift| offset.checked_add_signed(shift));
    let is_first = move |index: usize| {
        let before = all.get(..index).unwrap_or_default();
        all.get(index).is_some_and(|at| !before.contains(at))
    };
    (0..all.len())
        .filter(move |index| is_first(*index))
        .filter_map(move |index| all.get(index).copied().flatten())
}

/// Looks for a shard, of which `len` bytes are stored, where it belongs and where it may be.
fn place_of(
    source: &dyn ReadAt,
    offset: u64,
    (shard, len): (u64, u64),
    sum: u64,
    shifts: [i64; 3],
) -> Result<Option<u64>> {
    for at in positions(offset, shifts) {
        let found = sum_of(shard, len, |offset, part| {
            source.read_at(at.saturating_add(offset), part)
        });
        if is_sum(found, sum)? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Compares a checksum; a shard that cannot be read is damaged, as on a failing disk.
fn is_sum(found: Result<u64>, expected: u64) -> Result<bool> {
    match found {
        Ok(found) => Ok(found == expected),
        Err(error) if error.kind() == Kind::Limit => Err(error),
        Err(_) => Ok(false),
    }
}
