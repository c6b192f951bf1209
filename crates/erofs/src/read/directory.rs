//! Directories: blocks of entries whose names are sorted, so that names are found by binary search.
//!
//! In: a directory's node. Out: entries.
//!
//! **Invariant:** names that are shown are valid and in strictly increasing order: others, and
//! blocks that are damaged, are left out, and the listing ends with `Corrupt`. One block is in
//! memory at a time.

use std::cmp::Ordering;

use sinterfs_model::{Error, FileType, Result};
use zerocopy::FromBytes;

use super::erofs::Erofs;
use super::node::ErofsInode;
use crate::layout::{self, DirentRaw, NAME_MAX};

const ENTRY: usize = size_of::<DirentRaw>();

/// An entry of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) nid: u64,
    /// The code of the file type.
    pub(crate) kind: u8,
    pub(crate) name: &'a [u8],
}

impl Entry<'_> {
    /// Returns the file type, where the entry has one.
    pub(crate) fn file_type(&self) -> Option<FileType> {
        layout::entry_type(self.kind)
    }

    /// Returns whether this is `.` or `..`.
    pub(crate) fn is_dots(&self) -> bool {
        matches!(self.name, b"." | b"..")
    }
}

/// A block of a directory.
#[derive(Debug)]
pub(crate) struct DirBlock {
    bytes: Vec<u8>,
    count: usize,
}

impl Erofs {
    /// Returns the number of blocks of a directory.
    pub(crate) fn dir_blocks(&self, dir: &ErofsInode) -> u64 {
        dir.size.div_ceil(self.superblock.block_size())
    }

    /// Reads a block of a directory.
    pub(crate) fn dir_block(&self, dir: &ErofsInode, index: u64) -> Result<DirBlock> {
        let size = self.superblock.block_size();
        let start = index.saturating_mul(size);
        let len = size.min(dir.size.saturating_sub(start));
        let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
        self.read_exactly(dir, start, &mut bytes)?;
        DirBlock::new(bytes).map_err(|error| self.in_block(dir, index, error))
    }

    /// Adds the location of a directory block to an error.
    #[cold]
    pub(crate) fn in_block(&self, dir: &ErofsInode, index: u64, error: Error) -> Error {
        let structure = format!("block {index} of directory {:#x}", dir.nid);
        dir.meta.locate(error, &structure)
    }

    /// Returns the inode number of an entry by its name.
    pub(crate) fn find_entry(&self, dir: &ErofsInode, name: &[u8]) -> Result<Option<u64>> {
        // the last block whose first name is not greater
        let (mut low, mut high) = (0, self.dir_blocks(dir));
        let mut found = None;
        while low < high {
            let middle = low.midpoint(high);
            let block = self.dir_block(dir, middle)?;
            let first = block.stored(0);
            let first = first.map_err(|error| self.in_block(dir, middle, error))?;
            match first.name.cmp(name) {
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok(Some(first.nid)),
                Ordering::Less => {
                    low = middle + 1;
                    found = Some((middle, block));
                }
            }
        }
        let Some((index, block)) = found else {
            return Ok(None);
        };
        let located = |error| self.in_block(dir, index, error);
        let (mut low, mut high) = (0, block.len());
        while low < high {
            let middle = low.midpoint(high);
            let entry = block.stored(middle).map_err(located)?;
            match entry.name.cmp(name) {
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok(Some(entry.nid)),
                Ordering::Less => low = middle + 1,
            }
        }
        Ok(None)
    }
}

impl DirBlock {
    fn new(bytes: Vec<u8>) -> Result<Self> {
        let (first, _) = DirentRaw::ref_from_prefix(&bytes)
            .map_err(|_| Error::corrupt("shorter than an entry"))?;
        // names begin where entries end
        let names = usize::from(first.name_offset.get());
        if names < ENTRY || names > bytes.len() || names % ENTRY != 0 {
            return Err(Error::corrupt(format!("names begin at {names}")));
        }
        let count = names / ENTRY;
        Ok(Self { bytes, count })
    }

    /// Returns the number of entries, which is at least one.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    fn raw(&self, index: usize) -> Option<&DirentRaw> {
        let bytes = self.bytes.get(index.checked_mul(ENTRY)?..)?;
        Some(DirentRaw::ref_from_prefix(bytes).ok()?.0)
    }

    /// Returns an entry after checking its name.
    pub(crate) fn entry(&self, index: usize) -> Result<Entry<'_>> {
        let entry = self.stored(index)?;
        let name = entry.name;
        let sound = (1..=NAME_MAX).contains(&name.len())
            && !name.iter().any(|byte| matches!(byte, 0 | b'/'));
        if !sound {
            let name = String::from_utf8_lossy(name);
            let what = format!("entry {index}: {name:?} is not a name");
            return Err(Error::corrupt(what));
        }
        Ok(entry)
    }

    /// Returns an entry with its stored name, valid or not.
    fn stored(&self, index: usize) -> Result<Entry<'_>> {
        let bad = |what: &str| Error::corrupt(format!("entry {index}: {what}"));
        let raw = if index < self.count {
            self.raw(index)
        } else {
            None
        };
        let raw = raw.ok_or_else(|| bad("not there"))?;
        let start = usize::from(raw.name_offset.get());
        let next = if index + 1 < self.count {
            self.raw(index + 1)
                .map(|next| usize::from(next.name_offset.get()))
        } else {
            None
        };
        let name = match next {
            Some(end) => self.bytes.get(start..end),
            // the last name ends with the block or with a zero
            None => self
                .bytes
                .get(start..)
                .and_then(|name| name.split(|byte| *byte == 0).next()),
        };
        let name = name.ok_or_else(|| bad("a name beyond the block"))?;
        if start < self.count * ENTRY {
            return Err(bad("a name among the entries"));
        }
        Ok(Entry {
            nid: raw.nid.get(),
            kind: raw.kind,
            name,
        })
    }
}
