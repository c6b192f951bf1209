//! The table of a disk, of either kind.
//!
//! In: entries. Out: partitions in the order of their numbers, with what is wrong with each.

use sinterfs_model::{Error, Result};

/// The kind of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    /// Four entries in the first sector, and logical partitions in an extended one.
    Mbr,
    /// That of UEFI.
    Gpt,
}

impl TableKind {
    /// Returns the name that people know.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mbr => "MBR",
            Self::Gpt => "GPT",
        }
    }
}

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// The number, from 1 on, as Linux counts: logical partitions of an MBR begin at 5.
    pub number: u32,
    /// The first byte on the disk.
    pub start: u64,
    /// The length in bytes.
    pub len: u64,
    /// The type: two hexadecimal digits in an MBR, a GUID in a GPT.
    pub kind: String,
    /// The name in a GPT; empty for none.
    pub name: String,
    /// Why the range cannot be used.
    pub problem: Option<String>,
}

impl Partition {
    /// Returns whether the partition is the one that UEFI firmware starts programs from.
    pub fn is_for_firmware(&self) -> bool {
        self.kind == "ef" || self.kind == "C12A7328-F81F-11D2-BA4B-00A0C93EC93B"
    }
}

/// The partitions of a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionTable {
    /// The kind.
    pub kind: TableKind,
    /// The length of a sector in bytes.
    pub sector: u32,
    /// The partitions in the order of their numbers.
    pub partitions: Vec<Partition>,
    /// Why the second copy of a GPT was read.
    pub note: Option<String>,
}

impl PartitionTable {
    /// Returns a partition by its number. `NotFound` if there is none, `Corrupt` for a range that
    /// cannot be used.
    pub fn partition(&self, number: u32) -> Result<&Partition> {
        let found = self.partitions.iter().find(|part| part.number == number);
        let Some(part) = found else {
            let numbers: Vec<_> = self
                .partitions
                .iter()
                .map(|p| p.number.to_string())
                .collect();
            let has = if numbers.is_empty() {
                "no partition".to_owned()
            } else {
                format!("partitions {}", numbers.join(", "))
            };
            let kind = self.kind.name();
            let what = format!("no partition {number}: the {kind} has {has}");
            return Err(Error::not_found(what));
        };
        match &part.problem {
            None => Ok(part),
            Some(problem) => Err(Error::corrupt(format!("partition {number} {problem}"))),
        }
    }

    /// Finds ranges that are beyond the end or overlap others. One from the first byte on, which
    /// images of CDs have of all of them, has others inside.
    pub(crate) fn find_problems(&mut self, disk_len: u64) {
        let mut order: Vec<&mut Partition> = self.partitions.iter_mut().collect();
        order.sort_by_key(|part| (part.start, part.number));
        let starts: Vec<_> = order.iter().map(|part| (part.number, part.start)).collect();
        // the partition before that reaches furthest
        let mut before: Option<(u32, u64)> = None;
        for (index, part) in order.into_iter().enumerate() {
            let end = part.start.saturating_add(part.len);
            let earlier = before.filter(|(_, reach)| *reach > part.start);
            let later = starts.get(index + 1).filter(|(_, start)| *start < end);
            let other = earlier.map(|(number, _)| number);
            let other = other.or(later.map(|(number, _)| *number));
            let other = other.filter(|_| part.start > 0);
            part.problem = match other {
                _ if end > disk_len => Some(format!(
                    "ends at byte {end}, but the disk ends at byte {disk_len}"
                )),
                Some(number) => Some(format!("overlaps partition {number}")),
                None => None,
            };
            if part.start > 0 && before.is_none_or(|(_, reach)| reach < end) {
                before = Some((part.number, end));
            }
        }
    }
}
