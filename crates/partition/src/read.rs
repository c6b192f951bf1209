//! Reads the table of a disk, of either kind.
//!
//! In: a source. Out: its table; a GPT goes before an MBR.

use sinterfs_block::ReadAt;
use sinterfs_model::Result;

use crate::gpt;
use crate::mbr::{self, FirstSector};
use crate::table::PartitionTable;

/// Reads the table of a disk; `None` if there is none.
///
/// # Errors
/// `Corrupt` if both copies of a GPT are damaged, or extended partitions have no end.
pub fn read(disk: &dyn ReadAt) -> Result<Option<PartitionTable>> {
    let first = FirstSector::read(disk)?;
    // a disk with a GPT has an MBR with one entry of all of it
    let is_protected = first.as_ref().is_some_and(FirstSector::protects_gpt);
    let mut table = match gpt::read(disk, is_protected)? {
        Some(table) => table,
        None => match first {
            Some(first) => mbr::read(disk, &first)?,
            None => return Ok(None),
        },
    };
    table.find_problems(disk.len());
    Ok(Some(table))
}
