//! `sinterfs_model::Image` for an opened CRAMFS image.
//!
//! **Invariant:** the number of an inode is its index, from 1 on. Each name has a separate inode,
//! and all times are zero.

use std::ops::ControlFlow;

use sinterfs_model::{
    Cursor, Dirent, Error, Extent, FileType, Image, ImageInfo, Ino, Inode, Meta, Rdev, Result,
    Times,
};

use super::blocks::BlockLocation;
use super::nodes::CramfsNode;
use super::open::Cramfs;
use crate::layout::{Flags, InodeFields, TARGET_MAX};

impl Cramfs {
    fn node(&self, ino: Ino) -> Result<&CramfsNode> {
        let index = ino
            .0
            .checked_sub(1)
            .and_then(|index| u32::try_from(index).ok());
        let node = index.and_then(|index| self.nodes.get(index));
        let node = node.ok_or_else(|| Error::no_inode(ino.0))?;
        let mode = node.fields.mode;
        if FileType::from_mode(mode.into()).is_some() {
            return Ok(node);
        }
        let at = self.blocks.file_offset(node.at.into());
        Err(Error::corrupt(format!("mode {mode:#o}")).at("inode", at))
    }

    fn directory(&self, ino: Ino) -> Result<&CramfsNode> {
        self.node_of(ino, FileType::Directory, "directory")
    }

    fn file(&self, ino: Ino) -> Result<&InodeFields> {
        let node = self.node_of(ino, FileType::File, "file")?;
        Ok(&node.fields)
    }

    fn node_of(&self, ino: Ino, kind: FileType, what: &str) -> Result<&CramfsNode> {
        let node = self.node(ino)?;
        if node.kind == kind {
            return Ok(node);
        }
        Err(Error::invalid(format!(
            "inode {:#x} is not a {what}",
            ino.0
        )))
    }

    /// Returns the number of names of an inode; for a directory two plus its subdirectories.
    fn link_count(&self, node: &CramfsNode) -> u32 {
        if node.kind != FileType::Directory {
            return 1;
        }
        let entries = self
            .nodes
            .entries(node)
            .filter_map(|index| self.nodes.get(index));
        let directories = entries.filter(|entry| entry.kind == FileType::Directory);
        u32::try_from(directories.count()).map_or(u32::MAX, |count| count.saturating_add(2))
    }

    /// Returns the bytes of a file that are not in holes.
    fn allocated(&self, node: &CramfsNode) -> Result<u64> {
        let size = u64::from(node.fields.size);
        let has_holes = self.head.flags.has(Flags::HOLES | Flags::POINTER_FLAGS);
        if node.kind != FileType::File || !has_holes {
            return Ok(size);
        }
        let mut allocated = 0;
        self.extents_of(&node.fields, 0, &mut |extent| {
            if extent.source != sinterfs_model::ExtentSource::Hole {
                allocated += extent.len;
            }
            ControlFlow::Continue(())
        })?;
        Ok(allocated)
    }

    /// Visits the stored blocks of a file, holes among them.
    pub fn stored_blocks(&self, ino: Ino, visit: &mut dyn FnMut(BlockLocation)) -> Result<()> {
        let file = self.file(ino)?;
        let blocks = self.blocks.locate(file, 0..self.blocks.count(file))?;
        blocks.into_iter().for_each(visit);
        Ok(())
    }
}

/// Returns the number of an inode with an index.
fn number(index: u32) -> Ino {
    Ino(u64::from(index) + 1)
}

impl Image for Cramfs {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn inode(&self, ino: Ino) -> Result<Inode> {
        let node = self.node(ino)?;
        let fields = &node.fields;
        let (size, rdev) = match node.kind {
            FileType::Directory | FileType::File | FileType::Symlink => (fields.size, 0),
            FileType::CharDevice | FileType::BlockDevice => (0, fields.size),
            FileType::Fifo | FileType::Socket => (0, 0),
        };
        let allocated = match size {
            0 => 0,
            _ => self.allocated(node)?,
        };
        Ok(Inode {
            ino,
            kind: node.kind,
            meta: Meta {
                mode: fields.mode & 0o7777,
                uid: fields.uid.into(),
                gid: fields.gid.into(),
                times: Times::default(),
            },
            nlink: self.link_count(node),
            size: size.into(),
            allocated,
            rdev: Rdev::from_dev_t(rdev.into()),
        })
    }

    fn read_dir(
        &self,
        dir: Ino,
        from: Cursor,
        visit: &mut dyn FnMut(Dirent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let entries = self.nodes.entries(self.directory(dir)?);
        let skipped = u32::try_from(from.0).unwrap_or(u32::MAX);
        let start = entries.start.saturating_add(skipped);
        for (position, index) in (from.0..).zip(start..entries.end) {
            let Some(entry) = self.nodes.get(index) else {
                break;
            };
            let dirent = Dirent {
                name: self.nodes.name(entry),
                ino: number(index),
                kind: entry.kind,
                next: Cursor(position + 1),
            };
            if visit(dirent).is_break() {
                return Ok(());
            }
        }
        self.nodes.left_out.end(dir)
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Option<Ino>> {
        let dir = self.directory(dir)?;
        Ok(self.nodes.find(dir, name).map(number))
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        Ok(number(self.directory(dir)?.parent))
    }

    fn read_link(&self, ino: Ino) -> Result<Vec<u8>> {
        let node = self.node_of(ino, FileType::Symlink, "symlink")?;
        let len = node.fields.size;
        let located = |error: Error| error.at("inode", self.blocks.file_offset(node.at.into()));
        if len > TARGET_MAX {
            let what = format!("a symlink with a target of {len} bytes");
            return Err(located(Error::corrupt(what)));
        }
        let mut target = vec![0; len as usize];
        self.read_content(&node.fields, 0, &mut target)?;
        if target.contains(&0) {
            return Err(located(Error::corrupt(
                "a symlink with a NUL in its target",
            )));
        }
        Ok(target)
    }

    fn extents(
        &self,
        ino: Ino,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()> {
        self.extents_of(self.file(ino)?, from, visit)
    }

    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
        self.read_content(self.file(ino)?, offset, buf)
    }

    fn release(&self, block: u64) {
        self.cache.forget(self.cache_key | u128::from(block));
    }
}
