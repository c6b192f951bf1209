//! Finds the parent of a directory.
//!
//! In: a directory's inode. Out: the inode of its parent.
//!
//! Inodes have the number of their parent, which the export table maps to an inode. Without that
//! table, and in versions without the number, all directories are walked once, on the first lookup.
//! **Invariant:** the walk ends: a directory with a second name is an error.

use std::collections::HashSet;

use sinterfs_model::{Cursor, Error, FileType, Ino, Result};

use super::open::Squashfs;
use super::parents::Parents;
use super::record::{DirectoryLocation, InodeBody};

impl Squashfs {
    /// Returns the parent of a directory.
    pub(crate) fn parent_of(&self, dir: Ino, listing: &DirectoryLocation) -> Result<Ino> {
        if dir == self.root() {
            return Ok(dir);
        }
        if let Some(exports) = &self.exports {
            let index = u64::from(listing.parent).checked_sub(1);
            let index = index.ok_or_else(|| Error::corrupt("a directory without a parent"))?;
            let above = self.exported(exports, index)?;
            let record = self.record(above)?;
            if record.kind == FileType::Directory && record.number == listing.parent {
                return Ok(above);
            }
            return Err(Error::corrupt(format!(
                "the export table's entry {index} is not the directory with that number"
            )));
        }
        let parents = match self.parents.get() {
            Some(parents) => parents,
            None => {
                let walked = self.walk()?;
                self.parents.get_or_init(|| walked)
            }
        };
        parents
            .of(dir)
            .ok_or_else(|| Error::not_found(format!("no directory contains inode {:#x}", dir.0)))
    }

    /// Walks all directories.
    fn walk(&self) -> Result<Parents> {
        let root = self.root();
        let (mut seen, mut left) = (HashSet::from([root]), vec![root]);
        let mut all = Vec::new();
        while let Some(dir) = left.pop() {
            let InodeBody::Directory(listing) = self.record(dir)?.body else {
                return Err(Error::corrupt(
                    "the type of an entry differs from its inode",
                ));
            };
            let mut entries = self.entries(dir, &listing, Cursor::START)?;
            while let Some(found) = entries.next()? {
                if found.kind != FileType::Directory {
                    continue;
                }
                if !seen.insert(found.ino) || seen.len() as u64 > u64::from(self.superblock.inodes)
                {
                    return Err(Error::corrupt(
                        "a directory has several names, or contains itself",
                    ));
                }
                all.push((found.ino, dir));
                left.push(found.ino);
            }
        }
        Ok(Parents::new(all))
    }
}
