//! `sinterfs_model::Image` for an opened SquashFS image.
//!
//! **Invariant:** the number of an inode is its reference. Damage found by reading is an error with
//! its location.

use std::ops::ControlFlow;

use sinterfs_model::{
    Cursor, Dirent, Error, Extent, FileType, Image, ImageInfo, Ino, Inode, Kind, Meta, Rdev,
    Result, Time, Times, Xattrs,
};

use super::image_core;
use super::open::Squashfs;
use super::record::{DirectoryLocation, FileBlocks, InodeBody, InodeRecord, Owner};
use crate::layout::NO_XATTR;

impl Squashfs {
    /// Reads an inode. `NotFound` for a reference outside of the inode table.
    pub(crate) fn record(&self, ino: Ino) -> Result<InodeRecord> {
        image_core::record(&self.metadata, &self.superblock, ino)?
            .ok_or_else(|| Error::no_inode(ino.0))
    }

    fn listing(&self, dir: Ino) -> Result<DirectoryLocation> {
        match self.record(dir)?.body {
            InodeBody::Directory(listing) => Ok(listing),
            _ => Err(not_a(dir, "directory")),
        }
    }

    pub(super) fn content(&self, ino: Ino) -> Result<FileBlocks> {
        match self.record(ino)?.body {
            InodeBody::File(content) => Ok(content),
            _ => Err(not_a(ino, "file")),
        }
    }

    fn meta(&self, record: &InodeRecord) -> Result<Meta> {
        let (uid, gid) = match record.owner {
            Owner::Ids { user, group } => (self.id(user)?, self.id(group)?),
            Owner::Arrays { user, group } => {
                let uid = self.id(user)?;
                let gid = match group {
                    Some(group) => self.group_id(group)?,
                    None => uid,
                };
                (uid, gid)
            }
        };
        let secs = record.modified.unwrap_or(self.superblock.made);
        Ok(Meta {
            mode: record.mode,
            uid,
            gid,
            times: Times::all(Time {
                secs: i64::from(secs),
                nanos: 0,
            }),
        })
    }

    /// Fails if the owner or the group of an inode is not in the table.
    pub(crate) fn check_owner(&self, record: &InodeRecord) -> Result<()> {
        self.meta(record).map(drop)
    }

    fn id(&self, index: u16) -> Result<u32> {
        look_up(&self.ids, usize::from(index), "owner")
    }

    fn group_id(&self, index: u8) -> Result<u32> {
        look_up(&self.groups, usize::from(index), "group")
    }

    /// Returns the link count; before version 3 a directory's count is computed.
    fn link_count(&self, ino: Ino, record: &InodeRecord) -> Result<u32> {
        if let Some(nlink) = record.nlink {
            return Ok(nlink);
        }
        let InodeBody::Directory(listing) = &record.body else {
            return Ok(1);
        };
        let mut names = 2u32;
        let mut entries = self.entries(ino, listing, Cursor::START)?;
        while let Some(found) = entries.next()? {
            names = names.saturating_add(u32::from(found.kind == FileType::Directory));
        }
        Ok(names)
    }
}

fn look_up(ids: &[u32], index: usize, what: &str) -> Result<u32> {
    ids.get(index).copied().ok_or_else(|| {
        let count = ids.len();
        Error::corrupt(format!("{what} {index} of {count}")).within("id table")
    })
}

#[cold]
fn not_a(ino: Ino, what: &str) -> Error {
    Error::new(Kind::Invalid, format!("inode {:#x} is not a {what}", ino.0))
}

impl Image for Squashfs {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn inode(&self, ino: Ino) -> Result<Inode> {
        let record = self.record(ino)?;
        let mut rdev = Rdev::default();
        let (size, allocated) = match &record.body {
            InodeBody::Directory(listing) => (u64::from(listing.size), u64::from(listing.size)),
            InodeBody::File(content) => (content.size, content.size.saturating_sub(content.sparse)),
            InodeBody::Symlink { len, .. } => (u64::from(*len), u64::from(*len)),
            InodeBody::Device(number) => {
                rdev = *number;
                (0, 0)
            }
            InodeBody::Ipc => (0, 0),
        };
        Ok(Inode {
            ino,
            kind: record.kind,
            meta: self.meta(&record)?,
            nlink: self.link_count(ino, &record)?,
            size,
            allocated,
            rdev,
        })
    }

    fn read_dir(
        &self,
        dir: Ino,
        from: Cursor,
        visit: &mut dyn FnMut(Dirent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let listing = self.listing(dir)?;
        let mut entries = self.entries(dir, &listing, from)?;
        while let Some(found) = entries.next()? {
            let dirent = Dirent {
                name: entries.name(),
                ino: found.ino,
                kind: found.kind,
                next: found.next,
            };
            if visit(dirent).is_break() {
                return Ok(());
            }
        }
        self.left_out.end(dir)
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Option<Ino>> {
        if let Some(found) = self.known.get(dir, name) {
            return Ok(Some(found));
        }
        let listing = self.listing(dir)?;
        let Some(found) = self.find(dir, &listing, name)? else {
            return Ok(None);
        };
        if found.kind == FileType::Directory {
            self.known.add(dir, name, found.ino);
        }
        Ok(Some(found.ino))
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        let listing = self.listing(dir)?;
        self.parent_of(dir, &listing)
    }

    fn read_link(&self, ino: Ino) -> Result<Vec<u8>> {
        let InodeBody::Symlink { len, at } = self.record(ino)?.body else {
            return Err(not_a(ino, "symlink"));
        };
        let mut target = vec![0; len as usize];
        let mut reader = self.metadata.read_from(self.inodes(), at)?;
        reader.fill(&mut target)?;
        if target.contains(&0) {
            return Err(reader.locate(Error::corrupt("a symlink with a NUL in its target")));
        }
        Ok(target)
    }

    fn extents(
        &self,
        ino: Ino,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()> {
        let content = self.content(ino)?;
        self.extents_of(ino, &content, from, visit)
    }

    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let content = self.content(ino)?;
        self.read_content(ino, &content, offset, buf)
    }

    fn release(&self, block: u64) {
        self.cache.forget(self.cache_key | u128::from(block));
    }

    fn xattrs(&self, ino: Ino) -> Result<Xattrs> {
        let id = self.record(ino)?.xattr;
        if id == NO_XATTR {
            return Ok(Xattrs::new());
        }
        match &self.xattrs {
            Some(lists) => lists.get(&self.metadata, id),
            // a number without a table, as some writers leave it: Linux ignores it, too
            None => Ok(Xattrs::new()),
        }
    }
}
