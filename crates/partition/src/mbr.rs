//! The table in the first sector, and the tables of logical partitions.
//!
//! In: a source. Out: partitions. An entry has 16 bytes: status, three bytes of geometry, type,
//! three more, first sector and number of sectors. Extended partitions hold a chain of sectors of
//! the same layout, each with one logical partition and the position of the next.
//!
//! **Invariant:** every sector of the chain is within the first extended partition and is read
//! once.

use std::collections::HashSet;

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Result};

use crate::numbers::le32;
use crate::table::{Partition, PartitionTable, TableKind};

/// The length of a sector in bytes.
pub(crate) const SECTOR: u64 = 512;

/// The last two bytes of a sector with a table.
const SIGNATURE: [u8; 2] = [0x55, 0xaa];

/// The start of the entries in a sector, and the length of each.
const ENTRIES: usize = 446;
const ENTRY_LEN: usize = 16;

/// The most logical partitions.
const LOGICAL_MAX: usize = 256;

/// The type of a protective entry for a GPT.
const PROTECTIVE: u8 = 0xee;

/// An entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MbrEntry {
    status: u8,
    kind: u8,
    /// In sectors.
    start: u32,
    count: u32,
}

impl MbrEntry {
    fn is_used(self) -> bool {
        self.kind != 0 && self.count > 0
    }

    fn is_extended(self) -> bool {
        matches!(self.kind, 0x05 | 0x0f | 0x85)
    }

    fn partition(self, number: usize, base: u64) -> Partition {
        Partition {
            number: u32::try_from(number).unwrap_or(u32::MAX),
            start: (base + u64::from(self.start)) * SECTOR,
            len: u64::from(self.count) * SECTOR,
            kind: format!("{:02x}", self.kind),
            name: String::new(),
            problem: None,
        }
    }
}

/// The table in the first sector.
#[derive(Debug)]
pub(crate) struct FirstSector([MbrEntry; 4]);

impl FirstSector {
    /// Reads the first sector; `None` if it has no table. The boot sector of a file system ends in
    /// the same bytes, but has code where the entries would be.
    pub(crate) fn read(disk: &dyn ReadAt) -> Result<Option<Self>> {
        if disk.len() < SECTOR {
            return Ok(None);
        }
        let Some(entries) = entries(disk, 0)? else {
            return Ok(None);
        };
        let is_hybrid = holds_disc(disk)?;
        let are_sound = entries.iter().all(|entry| {
            let is_used = entry.is_used() && (entry.start > 0 || is_hybrid);
            let is_empty = entry.kind == 0 && entry.count == 0;
            matches!(entry.status, 0 | 0x80) && (is_used || is_empty)
        });
        let has_any = entries.iter().any(|entry| entry.is_used());
        Ok((are_sound && has_any).then_some(Self(entries)))
    }

    /// Returns whether an entry protects a GPT.
    pub(crate) fn protects_gpt(&self) -> bool {
        self.0.iter().any(|entry| entry.kind == PROTECTIVE)
    }
}

/// The position of the identifier in the first ISO 9660 descriptor, and its value.
const DISC_AT: u64 = 0x8001;
const DISC: &[u8] = b"CD001";

/// Returns whether a disk is an image of a CD as well, which a partition may have from the first
/// sector on.
fn holds_disc(disk: &dyn ReadAt) -> Result<bool> {
    let end = DISC_AT + DISC.len() as u64;
    Ok(disk.len() >= end && disk.read(DISC_AT, DISC.len() as u64)?.starts_with(DISC))
}

/// Reads the entries of a sector; `None` without the signature.
fn entries(disk: &dyn ReadAt, at: u64) -> Result<Option<[MbrEntry; 4]>> {
    let sector = disk.read(at, SECTOR)?;
    if !sector.ends_with(&SIGNATURE) {
        return Ok(None);
    }
    let entry = |index: usize| {
        let bytes = sector
            .get(ENTRIES + index * ENTRY_LEN..)
            .unwrap_or_default();
        MbrEntry {
            status: bytes.first().copied().unwrap_or(0),
            kind: bytes.get(4).copied().unwrap_or(0),
            start: le32(bytes, 8),
            count: le32(bytes, 12),
        }
    };
    Ok(Some([0, 1, 2, 3].map(entry)))
}

/// Lists all partitions.
pub(crate) fn read(disk: &dyn ReadAt, first: &FirstSector) -> Result<PartitionTable> {
    let mut partitions = Vec::new();
    let mut extended = None;
    for (number, entry) in (1..).zip(first.0) {
        if entry.is_extended() {
            // Linux follows the first one, too
            extended = extended.or(Some(entry));
        } else if entry.is_used() {
            partitions.push(entry.partition(number, 0));
        }
    }
    if let Some(extended) = extended {
        logical(disk, extended, &mut partitions)?;
    }
    Ok(PartitionTable {
        kind: TableKind::Mbr,
        sector: 512,
        partitions,
        note: None,
    })
}

/// Adds the logical partitions of an extended one.
fn logical(disk: &dyn ReadAt, extended: MbrEntry, partitions: &mut Vec<Partition>) -> Result<()> {
    let base = u64::from(extended.start);
    let mut seen = HashSet::new();
    let (mut at, mut number) = (0_u32, 5);
    loop {
        let sector = base + u64::from(at);
        let place = |error: Error| error.at("extended partition", sector * SECTOR);
        if at >= extended.count || (sector + 1) * SECTOR > disk.len() {
            return Err(place(Error::corrupt("the chain of tables leaves it")));
        }
        if !seen.insert(at) || seen.len() > LOGICAL_MAX {
            let what = "the chain of tables has no end";
            return Err(place(Error::corrupt(what)));
        }
        let Some([own, next, ..]) = entries(disk, sector * SECTOR)? else {
            return Err(place(Error::corrupt("a table without its signature")));
        };
        if own.is_used() {
            partitions.push(own.partition(number, sector));
            number += 1;
        }
        if !(next.is_extended() && next.is_used()) {
            return Ok(());
        }
        at = next.start;
    }
}
