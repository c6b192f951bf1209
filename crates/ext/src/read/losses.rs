//! Counts what inodes have and `sinterfs_model::Image` does not show.
//!
//! In: an opened file system. Out: `ExtLosses`.
//!
//! **Invariant:** each inode that a directory leads to is counted once. Damage is skipped: reading
//! the files reports it.

use std::collections::HashSet;

use sinterfs_model::{FileType, Kind, Result};

use super::open::Ext;
use crate::layout::{ExtInode, InodeFlags, ROOT};

/// The number of inodes with metadata that is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExtLosses {
    /// Flags as `chattr` sets them.
    pub flags: u64,
    /// Times of birth.
    pub births: u64,
    /// Numbers of projects.
    pub projects: u64,
}

impl ExtLosses {
    fn add(&mut self, inode: &ExtInode) {
        self.flags += u64::from(inode.flags.has(InodeFlags::ATTRIBUTES));
        self.births += u64::from(inode.has_birth);
        self.projects += u64::from(inode.project != 0);
    }
}

impl Ext {
    /// Reads all inodes and counts what is not shown of them. Fails only if reading fails, or
    /// a listing exceeds the limits.
    pub fn losses(&self) -> Result<ExtLosses> {
        let mut losses = ExtLosses::default();
        let mut seen = HashSet::from([ROOT]);
        let mut left = vec![ROOT];
        while let Some(number) = left.pop() {
            let Some(inode) = undamaged(self.fields(number))? else {
                continue;
            };
            losses.add(&inode);
            if FileType::from_mode(inode.mode.into()) != Some(FileType::Directory) {
                continue;
            }
            if let Some(listing) = undamaged(self.listing(number, &inode))? {
                let numbers = listing.names.iter().map(|entry| entry.number);
                left.extend(numbers.filter(|number| seen.insert(*number)));
            }
        }
        Ok(losses)
    }
}

fn undamaged<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), Kind::Corrupt | Kind::Unsupported) => Ok(None),
        Err(error) => Err(error),
    }
}
