//! `sinterfs_model::Image` for an opened DwarFS image, answered from the tables.
//!
//! **Invariant:** inode numbers are DwarFS's own; a cursor is one more than the index of the
//! entry in its directory, so it stays valid across mounts of the same image.

use std::ops::{ControlFlow, Range};

use sinterfs_model::{
    Cursor, Dirent, Error, Extent, FileType, Image, ImageInfo, Ino, Inode, Meta, Rdev, Result,
    Xattrs,
};

use super::fsst::FsstScratch;
use super::open::Dwarfs;
use super::strings::undecodable;

impl Dwarfs {
    /// Returns the type of an inode; `NotFound` if no inode has that number.
    fn kind_of(&self, ino: Ino) -> Result<FileType> {
        let ranks = &self.derived.ranks;
        // validation has checked that inodes are numbered in the order of their types
        match ino.0 {
            number if number < ranks.directories => Ok(FileType::Directory),
            number if number < ranks.symlinks => Ok(FileType::Symlink),
            number if number < ranks.files => Ok(FileType::File),
            number if number < ranks.others => FileType::from_mode(self.mode(number))
                .ok_or_else(|| Error::corrupt("unknown type").within("inode")),
            number => Err(Error::no_inode(number)),
        }
    }

    fn mode(&self, inode: u64) -> u32 {
        let data: &[u8] = &self.metadata.data;
        let row = self.metadata.inodes.row(data, inode);
        self.metadata
            .modes
            .get_u32(data, self.metadata.inodes.mode.get(data, row))
    }

    fn expect(&self, ino: Ino, wanted: FileType, what: &str) -> Result<()> {
        if self.kind_of(ino)? == wanted {
            return Ok(());
        }
        Err(Error::invalid(format!("inode {} is not a {what}", ino.0)))
    }

    fn meta_of(&self, inode: u64) -> Meta {
        let data: &[u8] = &self.metadata.data;
        let inodes = &self.metadata.inodes;
        let row = inodes.row(data, inode);
        let id = |index: u64, table: &crate::frozen::view::Ints| {
            // an empty table: the index is the id itself
            let id = if table.len() == 0 {
                index
            } else {
                table.get(data, index)
            };
            u32::try_from(id).unwrap_or(u32::MAX)
        };
        Meta {
            mode: u16::try_from(self.mode(inode) & 0o7777).unwrap_or(0),
            uid: id(inodes.owner.get(data, row), &self.metadata.uids),
            gid: id(inodes.group.get(data, row), &self.metadata.gids),
            times: self.metadata.options.times(inodes, data, row),
        }
    }

    fn links_of(&self, inode: u64, kind: FileType) -> u32 {
        let data: &[u8] = &self.metadata.data;
        let at = |table: &[u32], index: u64| {
            usize::try_from(index)
                .ok()
                .and_then(|index| table.get(index).copied())
        };
        if kind == FileType::Directory {
            return at(&self.derived.subdirectories, inode)
                .unwrap_or(0)
                .saturating_add(2);
        }
        if self.metadata.options.inodes_have_nlink {
            let row = self.metadata.inodes.row(data, inode);
            let further = self.metadata.inodes.nlink_minus_one.get_u32(data, row);
            return further.saturating_add(1);
        }
        let index = inode.saturating_sub(self.derived.ranks.directories);
        at(&self.derived.links, index).unwrap_or(1).max(1)
    }

    /// Returns the entries of a directory.
    fn entries_of(&self, directory: u64) -> Range<u64> {
        let data: &[u8] = &self.metadata.data;
        let first = |directory| u64::from(self.metadata.first_entry.get(data, directory));
        first(directory)..first(directory.saturating_add(1))
    }

    fn name_of<'b>(&'b self, entry: u64, scratch: &'b mut FsstScratch) -> Result<&'b [u8]> {
        let data: &[u8] = &self.metadata.data;
        let name = self.metadata.entries.name.get(data, entry);
        self.metadata
            .names
            .get(data, name, scratch)
            .ok_or_else(|| undecodable(name))
    }

    fn target_of(&self, inode: u64) -> Result<Vec<u8>> {
        let data: &[u8] = &self.metadata.data;
        let index = inode.saturating_sub(self.derived.ranks.directories);
        let number = self.metadata.symlink_table.get(data, index);
        let mut scratch = FsstScratch::default();
        let target = self.metadata.symlinks.get(data, number, &mut scratch);
        let mut target = target.ok_or_else(|| undecodable(number))?.to_vec();
        if let Some(separator) = self.metadata.options.path_separator {
            for byte in target.iter_mut().filter(|byte| **byte == separator) {
                *byte = b'/';
            }
        }
        Ok(target)
    }
}

impl Image for Dwarfs {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn inode(&self, ino: Ino) -> Result<Inode> {
        let kind = self.kind_of(ino)?;
        let mut rdev = Rdev::default();
        let (size, allocated) = match kind {
            FileType::Directory => {
                let entries = self.entries_of(ino.0);
                let size = entries.end.saturating_sub(entries.start);
                (size, size)
            }
            FileType::File => self.size_of(&self.chunks_of(ino.0)),
            FileType::Symlink => {
                let len = self.target_of(ino.0)?.len() as u64;
                (len, len)
            }
            FileType::CharDevice | FileType::BlockDevice => {
                let index = ino.0.saturating_sub(self.derived.ranks.files);
                let device = self.metadata.devices.get(&self.metadata.data, index);
                rdev = Rdev::from_dev_t(device);
                (0, 0)
            }
            FileType::Fifo | FileType::Socket => (0, 0),
        };
        let nlink = self.links_of(ino.0, kind);
        Ok(Inode {
            ino,
            kind,
            meta: self.meta_of(ino.0),
            nlink,
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
        self.expect(dir, FileType::Directory, "directory")?;
        let entries = self.entries_of(dir.0);
        let first = entries.start.saturating_add(from.0);
        let mut scratch = FsstScratch::default();
        for entry in first..entries.end {
            let ino = Ino(self.metadata.entries.inode.get(&self.metadata.data, entry));
            let kind = self.kind_of(ino)?;
            let name = self.name_of(entry, &mut scratch)?;
            let next = Cursor(entry.saturating_sub(entries.start).saturating_add(1));
            if visit(Dirent {
                name,
                ino,
                kind,
                next,
            })
            .is_break()
            {
                break;
            }
        }
        Ok(())
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Option<Ino>> {
        self.expect(dir, FileType::Directory, "directory")?;
        let Range { mut start, mut end } = self.entries_of(dir.0);
        let mut scratch = FsstScratch::default();
        while start < end {
            let middle = start.midpoint(end);
            match self.name_of(middle, &mut scratch)?.cmp(name) {
                std::cmp::Ordering::Less => start = middle.saturating_add(1),
                std::cmp::Ordering::Greater => end = middle,
                std::cmp::Ordering::Equal => {
                    let ino = self.metadata.entries.inode.get(&self.metadata.data, middle);
                    return Ok(Some(Ino(ino)));
                }
            }
        }
        Ok(None)
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        self.expect(dir, FileType::Directory, "directory")?;
        let index = usize::try_from(dir.0).unwrap_or(usize::MAX);
        let parent = self.derived.parents.get(index).copied().unwrap_or(0);
        Ok(Ino(u64::from(parent)))
    }

    fn read_link(&self, ino: Ino) -> Result<Vec<u8>> {
        self.expect(ino, FileType::Symlink, "symlink")?;
        self.target_of(ino.0)
    }

    fn extents(
        &self,
        ino: Ino,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()> {
        self.expect(ino, FileType::File, "file")?;
        self.extents_of(&self.chunks_of(ino.0), from, visit);
        Ok(())
    }

    fn xattrs(&self, ino: Ino) -> Result<Xattrs> {
        self.kind_of(ino)?;
        let table = self.xattrs.table();
        Ok(table.map_or_else(Xattrs::new, |table| table.of_inode(ino.0)))
    }

    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
        self.expect(ino, FileType::File, "file")?;
        self.read_file(ino, offset, buf)
    }

    fn release(&self, block: u64) {
        self.cache.forget(self.cache_key | u128::from(block));
    }
}
