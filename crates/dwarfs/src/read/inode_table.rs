//! The columns of `inodes`.
//!
//! In: the list of inodes. Out: the columns by row, for all versions of the format.
//!
//! **Invariant:** the columns lie within the metadata; their values have not been checked yet.
//! Spec: upstream's `thrift/metadata.thrift`, `inode_data`.

use sinterfs_model::Result;

use crate::frozen::view::{Ints, List};
use crate::layout::metadata::{FieldId, inode_data};

/// The columns of one kind of time: units since the base, and units below a second.
#[derive(Debug, Default)]
pub(crate) struct TimeColumns {
    pub(crate) offset: Ints,
    pub(crate) subsec: Ints,
}

/// The columns of `inodes`, by row.
#[derive(Debug, Default)]
pub(crate) struct Inodes {
    pub(crate) mode: Ints,
    pub(crate) owner: Ints,
    pub(crate) group: Ints,
    pub(crate) modified: TimeColumns,
    pub(crate) accessed: TimeColumns,
    pub(crate) changed: TimeColumns,
    pub(crate) nlink_minus_one: Ints,
    /// The row of each inode before version 2.3; since then the row is the inode's number.
    pub(crate) row_of: Option<Ints>,
}

impl Inodes {
    /// Returns the number of inodes.
    pub(crate) fn len(&self) -> u64 {
        self.row_of.as_ref().map_or(self.mode.len(), Ints::len)
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.mode.len()
    }

    /// Returns an inode's row.
    #[inline]
    pub(crate) fn row(&self, data: &[u8], inode: u64) -> u64 {
        match &self.row_of {
            None => inode,
            Some(rows) => rows.get(data, inode),
        }
    }

    pub(super) fn open(list: &List<'_>, row_of: Option<Ints>) -> Result<Self> {
        let time = |offset: FieldId, subsec: FieldId| -> Result<TimeColumns> {
            Ok(TimeColumns {
                offset: list.column(offset, 64)?,
                subsec: list.column(subsec, 64)?,
            })
        };
        Ok(Self {
            mode: list.column(inode_data::MODE_INDEX, 32)?,
            owner: list.column(inode_data::OWNER_INDEX, 32)?,
            group: list.column(inode_data::GROUP_INDEX, 32)?,
            modified: time(inode_data::MTIME_OFFSET, inode_data::MTIME_SUBSEC)?,
            accessed: time(inode_data::ATIME_OFFSET, inode_data::ATIME_SUBSEC)?,
            changed: time(inode_data::CTIME_OFFSET, inode_data::CTIME_SUBSEC)?,
            nlink_minus_one: list.column(inode_data::NLINK_MINUS_ONE, 32)?,
            row_of,
        })
    }
}
