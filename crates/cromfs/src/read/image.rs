//! `sinterfs_model::Image` for an opened Cromfs image.
//!
//! **Invariant:** the number of an inode is its index, from 1 on. All times are the modification
//! time.

use std::ops::ControlFlow;

use sinterfs_model::{
    Cursor, Dirent, Error, Extent, FileType, Image, ImageInfo, Ino, Inode, Meta, Rdev, Result,
    Time, Times,
};

use super::content::BlockList;
use super::inodes::{CromfsNode, located};
use super::open::Cromfs;
use crate::layout::InodeFields;

/// The longest target of a symlink in bytes.
const TARGET_MAX: u64 = 1 << 16;

impl Cromfs {
    fn node(&self, ino: Ino) -> Result<&CromfsNode> {
        let index = ino.0.checked_sub(1);
        let index = index.and_then(|index| usize::try_from(index).ok());
        let node = index.and_then(|index| self.inodes.nodes.get(index));
        node.ok_or_else(|| Error::no_inode(ino.0))
    }

    fn node_of(&self, ino: Ino, kind: FileType, what: &str) -> Result<&CromfsNode> {
        let node = self.node(ino)?;
        if node.kind == kind {
            return Ok(node);
        }
        let ino = ino.0;
        Err(Error::invalid(format!("inode {ino:#x} is not a {what}")))
    }

    /// Returns the inode of a file with its block numbers.
    fn file(&self, ino: Ino) -> Result<(u64, BlockList<'_>)> {
        let number = self.node_of(ino, FileType::File, "file")?.number;
        Ok((number, self.stored(number)?))
    }

    /// Returns an inode with its block numbers; `Corrupt` for one without a type.
    fn stored(&self, number: u64) -> Result<BlockList<'_>> {
        let list = self.inodes.inode(&self.content, number);
        let list = list.and_then(|list| list.fields.kind().map(|_| list));
        list.map_err(|error| located(error, number))
    }

    fn link_count(&self, node: &CromfsNode) -> u32 {
        if node.kind != FileType::Directory {
            return node.links;
        }
        let names = node.names.clone();
        let entries = names.filter_map(|index| self.inodes.name(index));
        let nodes = entries.filter_map(|entry| self.inodes.nodes.get(entry.node as usize));
        let directories = nodes.filter(|node| node.kind == FileType::Directory);
        let count = u32::try_from(directories.count()).unwrap_or(u32::MAX);
        count.saturating_add(2)
    }
}

/// Returns the number of an inode with an index.
fn number(index: u32) -> Ino {
    Ino(u64::from(index) + 1)
}

fn meta(fields: &InodeFields) -> Meta {
    Meta {
        mode: u16::try_from(fields.mode & 0o7777).unwrap_or(0),
        uid: fields.uid.into(),
        gid: fields.gid.into(),
        times: Times::all(Time {
            secs: fields.mtime.into(),
            nanos: 0,
        }),
    }
}

impl Image for Cromfs {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn inode(&self, ino: Ino) -> Result<Inode> {
        let node = self.node(ino)?;
        let fields = self.stored(node.number)?.fields;
        let size = match node.kind {
            FileType::File | FileType::Symlink => fields.size,
            FileType::Directory => node.names.len() as u64,
            _ => 0,
        };
        let rdev = match node.kind {
            FileType::BlockDevice | FileType::CharDevice => {
                Rdev::from_dev_t(fields.links_or_rdev.into())
            }
            _ => Rdev::default(),
        };
        Ok(Inode {
            ino,
            kind: node.kind,
            meta: meta(&fields),
            nlink: self.link_count(node),
            size,
            allocated: size,
            rdev,
        })
    }

    fn read_dir(
        &self,
        dir: Ino,
        from: Cursor,
        visit: &mut dyn FnMut(Dirent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let node = self.node_of(dir, FileType::Directory, "directory")?;
        let names = node.names.clone();
        let start = u32::try_from(from.0).unwrap_or(u32::MAX);
        let start = names.start.saturating_add(start);
        for (position, index) in (from.0..).zip(start..names.end) {
            let entry = self.inodes.name(index);
            let node = entry.and_then(|entry| self.inodes.nodes.get(entry.node as usize));
            let (Some(entry), Some(node)) = (entry, node) else {
                break;
            };
            let dirent = Dirent {
                name: &entry.name,
                ino: number(entry.node),
                kind: node.kind,
                next: Cursor(position + 1),
            };
            if visit(dirent).is_break() {
                return Ok(());
            }
        }
        self.inodes.left_out.end(dir)
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Option<Ino>> {
        let dir = self.node_of(dir, FileType::Directory, "directory")?;
        Ok(self.inodes.find(dir, name).map(number))
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        let dir = self.node_of(dir, FileType::Directory, "directory")?;
        Ok(number(dir.parent))
    }

    fn read_link(&self, ino: Ino) -> Result<Vec<u8>> {
        let node = self.node_of(ino, FileType::Symlink, "symlink")?;
        let list = self.stored(node.number)?;
        let len = list.fields.size;
        if len > TARGET_MAX {
            let error = Error::corrupt(format!("a symlink with a target of {len} bytes"));
            return Err(located(error, node.number));
        }
        let mut target = vec![0; usize::try_from(len).unwrap_or(0)];
        let read = self.content.read(&list, 0, &mut target);
        read.map_err(|error| located(error, node.number))?;
        if target.contains(&0) {
            let error = Error::corrupt("a symlink with a NUL in its target");
            return Err(located(error, node.number));
        }
        Ok(target)
    }

    fn extents(
        &self,
        ino: Ino,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()> {
        let (number, list) = self.file(ino)?;
        let visited = self.content.extents(&list, from, visit);
        visited.map_err(|error| located(error, number))
    }

    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let (number, list) = self.file(ino)?;
        let read = self.content.read(&list, offset, buf);
        read.map_err(|error| located(error, number))
    }

    fn release(&self, block: u64) {
        self.content.fblocks.release(block);
    }
}
