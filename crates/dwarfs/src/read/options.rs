//! The image's options, and times, whose units they define.
//!
//! In: `fs_options`, `timestamp_base`, `preferred_path_separator`. Out: how tables, times and
//! symlink targets are stored.
//!
//! **Invariant:** a resolution is never zero, and nanoseconds are below a second if the columns
//! were checked with `max_subsec`.

use sinterfs_model::{Error, Result, Time, Times};

use super::inode_table::{Inodes, TimeColumns};
use crate::frozen::view::Node;
use crate::layout::metadata::{fs_options, root};

/// The storage options of an image's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StorageOptions {
    /// Only modification times are kept.
    pub mtime_only: bool,
    /// The unit of time in seconds.
    pub time_resolution_sec: u32,
    /// The unit below a second in nanoseconds, if such times are kept.
    pub subsecond_nsec: Option<u32>,
    /// The chunk table is stored as differences.
    pub packed_chunk_table: bool,
    /// The directories are stored as differences.
    pub packed_directories: bool,
    /// The table of shared files is stored as run lengths.
    pub packed_shared_files_table: bool,
    /// Birth times are kept.
    pub has_btime: bool,
    /// Link counts are kept.
    pub inodes_have_nlink: bool,
    /// The base of all times, in units of the resolution; wraps around below zero.
    pub timestamp_base: u64,
    /// The path separator in symlink targets, if it is not `/`.
    pub path_separator: Option<u8>,
}

impl StorageOptions {
    pub(super) fn read(root: &Node<'_>) -> Result<Self> {
        let separator = match root.field(root::PREFERRED_PATH_SEPARATOR)?.optional()? {
            Some(separator) => u8::try_from(separator.u32()?)
                .ok()
                .filter(|byte| *byte != b'/'),
            None => None,
        };
        let options = Self {
            timestamp_base: root.field(root::TIMESTAMP_BASE)?.u64()?,
            path_separator: separator,
            ..match root.field(root::OPTIONS)?.optional()? {
                Some(node) => Self::read_node(&node)?,
                None => Self::default(),
            }
        };
        Ok(options)
    }

    /// Decodes an `fs_options` structure.
    pub(super) fn read_node(node: &Node<'_>) -> Result<Self> {
        let number = |id| match node.field(id)?.optional()? {
            Some(number) => number.u32().map(Some),
            None => Ok(None),
        };
        let options = Self {
            mtime_only: node.field(fs_options::MTIME_ONLY)?.flag()?,
            time_resolution_sec: number(fs_options::TIME_RESOLUTION_SEC)?.unwrap_or(1),
            subsecond_nsec: number(fs_options::SUBSECOND_RESOLUTION_NSEC_MULTIPLIER)?,
            packed_chunk_table: node.field(fs_options::PACKED_CHUNK_TABLE)?.flag()?,
            packed_directories: node.field(fs_options::PACKED_DIRECTORIES)?.flag()?,
            packed_shared_files_table: node.field(fs_options::PACKED_SHARED_FILES_TABLE)?.flag()?,
            has_btime: node.field(fs_options::HAS_BTIME)?.flag()?,
            inodes_have_nlink: node.field(fs_options::INODES_HAVE_NLINK)?.flag()?,
            ..Self::default()
        };
        if options.time_resolution_sec == 0 {
            return Err(Error::corrupt("a time resolution of zero seconds"));
        }
        if options
            .subsecond_nsec
            .is_some_and(|nanos| nanos == 0 || nanos >= 1_000_000_000)
        {
            return Err(Error::corrupt(
                "a unit below a second of zero, or of a second and more",
            ));
        }
        Ok(options)
    }

    /// Returns the unit of times in nanoseconds.
    pub(super) fn time_unit(&self) -> u64 {
        match self.subsecond_nsec {
            Some(nanos) => u64::from(nanos),
            None => u64::from(self.time_resolution_sec).saturating_mul(1_000_000_000),
        }
    }

    /// Returns the largest number of units below a second.
    pub(super) fn max_subsec(&self) -> u64 {
        self.subsecond_nsec
            .map_or(u64::MAX, |nanos| 999_999_999 / u64::from(nanos.max(1)))
    }

    /// Decodes the times of a row of `inodes`.
    pub(super) fn times(&self, inodes: &Inodes, data: &[u8], row: u64) -> Times {
        let time = |columns: &TimeColumns| self.time(columns, data, row);
        let modified = time(&inodes.modified);
        if self.mtime_only {
            return Times::all(modified);
        }
        Times {
            modified,
            accessed: time(&inodes.accessed),
            changed: time(&inodes.changed),
        }
    }

    fn time(&self, columns: &TimeColumns, data: &[u8], row: u64) -> Time {
        // upstream stores times before 1970 as 64-bit numbers that wrap around
        let units = self
            .timestamp_base
            .wrapping_add(columns.offset.get(data, row));
        let secs = units
            .wrapping_mul(u64::from(self.time_resolution_sec))
            .cast_signed();
        let nanos = self.subsecond_nsec.map_or(0, |nanos| {
            let part = columns.subsec.get(data, row).wrapping_mul(u64::from(nanos));
            u32::try_from(part).unwrap_or(0)
        });
        Time { secs, nanos }
    }
}

impl Default for StorageOptions {
    fn default() -> Self {
        Self {
            mtime_only: false,
            time_resolution_sec: 1,
            subsecond_nsec: None,
            packed_chunk_table: false,
            packed_directories: false,
            packed_shared_files_table: false,
            has_btime: false,
            inodes_have_nlink: false,
            timestamp_base: 0,
            path_separator: None,
        }
    }
}
