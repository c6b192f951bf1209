//! `sinterfs_model::Image` for an opened ISO 9660 image.
//!
//! **Invariant:** the number of an inode is its index, from 1 on.

use std::ops::ControlFlow;

use sinterfs_model::{
    Cursor, Dirent, Error, Extent, ExtentSource, FileType, Image, ImageInfo, Ino, Inode, Kind,
    Meta, Result, Time, Times, Xattrs,
};

use super::attributes::AttributeList;
use super::content::FileContent;
use super::nodes::IsoNode;
use super::open::Iso9660;
use super::records;
use super::rock_ridge::RockRidge;
use super::zisofs::ZisofsBlock;
use crate::layout::signature;

/// Bytes of continuation areas that a record may have when it is read again.
const CONTINUED_MAX: u64 = 8 << 20;

impl Iso9660 {
    fn node(&self, ino: Ino) -> Result<(u32, &IsoNode)> {
        let index = ino.0.checked_sub(1);
        let index = index.and_then(|index| u32::try_from(index).ok());
        let found = index.and_then(|index| Some((index, self.nodes.get(index)?)));
        found.ok_or_else(|| Error::no_inode(ino.0))
    }

    fn node_of(&self, ino: Ino, kind: FileType, what: &str) -> Result<(u32, &IsoNode)> {
        let found = self.node(ino)?;
        if found.1.kind == kind {
            return Ok(found);
        }
        let what = format!("inode {:#x} is not a {what}", ino.0);
        Err(Error::invalid(what))
    }

    fn directory(&self, ino: Ino) -> Result<&IsoNode> {
        Ok(self.node_of(ino, FileType::Directory, "directory")?.1)
    }

    fn file(&self, ino: Ino) -> Result<(u32, &IsoNode)> {
        self.node_of(ino, FileType::File, "file")
    }

    /// Returns the number of names of an inode; for a directory two plus its subdirectories.
    fn link_count(&self, node: &IsoNode) -> u32 {
        if node.kind != FileType::Directory {
            return node.links;
        }
        let entries = self.nodes.entries(node).iter();
        let entries = entries.filter_map(|entry| self.nodes.get(entry.node));
        let directories = entries.filter(|entry| entry.kind == FileType::Directory);
        u32::try_from(directories.count()).map_or(u32::MAX, |count| count.saturating_add(2))
    }

    /// Returns the bytes of a file that are not in holes.
    fn allocated(&self, index: u32, node: &IsoNode, size: u64) -> Result<u64> {
        if node.kind != FileType::File || (node.extra.is_none() && size == node.size) {
            return Ok(size);
        }
        if let Some(known) = self.allocated.get(index) {
            return Ok(known);
        }
        match self.content(index, node) {
            Ok(FileContent::Zisofs(_)) => {}
            Ok(FileContent::Plain(_)) => return Ok(size),
            Err(error) if is_damage(&error) => return Ok(size),
            Err(error) => return Err(error),
        }
        let mut allocated = 0;
        let counted = self.extents_of(index, node, 0, &mut |extent| {
            if extent.source != ExtentSource::Hole {
                allocated += extent.len;
            }
            ControlFlow::Continue(())
        });
        match counted {
            Ok(()) => {}
            // damage shows when content is read
            Err(error) if is_damage(&error) => allocated = size,
            Err(error) => return Err(error),
        }
        self.allocated.set(index, allocated);
        Ok(allocated)
    }

    /// Returns where the stored bytes of a file begin, compressed or not; `None` if there are none.
    pub fn stored_start(&self, ino: Ino) -> Result<Option<u64>> {
        let (_, node) = self.file(ino)?;
        let first = self.stored(node).locate(0);
        Ok(first.ok().map(|(start, _)| start))
    }

    /// Visits the stored blocks of a file: their positions, lengths and codecs.
    pub fn stored_blocks(
        &self,
        ino: Ino,
        visit: &mut dyn FnMut(u64, ZisofsBlock, &'static str),
    ) -> Result<()> {
        let (index, node) = self.file(ino)?;
        self.blocks_of(index, node, visit)
    }

    /// Returns the bytes of the record of an inode.
    fn record_of(&self, node: &IsoNode) -> Result<Vec<u8>> {
        let bytes = records::read(&self.window, node.record);
        bytes.map_err(|error| self.located(node, error))
    }
}

/// Returns whether an error comes from what is stored, not from reading it.
fn is_damage(error: &Error) -> bool {
    matches!(error.kind(), Kind::Corrupt | Kind::Unsupported)
}

/// Returns the number of an inode with an index.
fn number(index: u32) -> Ino {
    Ino(u64::from(index) + 1)
}

fn time(hundredths: i64) -> Time {
    Time {
        secs: hundredths.div_euclid(100),
        nanos: u32::try_from(hundredths.rem_euclid(100)).unwrap_or(0) * 10_000_000,
    }
}

impl Image for Iso9660 {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn inode(&self, ino: Ino) -> Result<Inode> {
        let (index, node) = self.node(ino)?;
        let size = match node.kind {
            FileType::File => self.size_of(index, node)?,
            _ => node.size,
        };
        let [modified, accessed, changed] = node.times.map(time);
        Ok(Inode {
            ino,
            kind: node.kind,
            meta: Meta {
                mode: node.mode,
                uid: node.uid,
                gid: node.gid,
                times: Times {
                    modified,
                    accessed,
                    changed,
                },
            },
            nlink: self.link_count(node),
            size,
            allocated: self.allocated(index, node, size)?,
            rdev: node.rdev,
        })
    }

    fn read_dir(
        &self,
        dir: Ino,
        from: Cursor,
        visit: &mut dyn FnMut(Dirent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let entries = self.nodes.entries(self.directory(dir)?);
        let skipped = usize::try_from(from.0).unwrap_or(usize::MAX);
        let entries = entries.get(skipped..).unwrap_or_default();
        for (position, entry) in (from.0..).zip(entries) {
            let Some(node) = self.nodes.get(entry.node) else {
                break;
            };
            let dirent = Dirent {
                name: self.nodes.name(entry),
                ino: number(entry.node),
                kind: node.kind,
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
        let (_, node) = self.node_of(ino, FileType::Symlink, "symlink")?;
        let bytes = self.record_of(node)?;
        let record = records::decode(&bytes)?;
        let mut target = Vec::new();
        if let Some(reader) = &self.system_use {
            let found = RockRidge::read(reader, record.system_use, &mut { CONTINUED_MAX });
            let found = found.map_err(|error| self.located(node, error))?;
            target = found.target.map_or(target, |target| target.bytes);
        }
        if target.is_empty() || target.contains(&0) {
            let what = "a symlink without a target, or with a NUL in it";
            return Err(self.located(node, Error::corrupt(what)));
        }
        Ok(target)
    }

    fn extents(
        &self,
        ino: Ino,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()> {
        let (index, node) = self.file(ino)?;
        self.extents_of(index, node, from, visit)
    }

    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let (index, node) = self.file(ino)?;
        self.read_content(index, node, offset, buf)
    }

    fn release(&self, block: u64) {
        self.cache.forget(self.cache_key | u128::from(block));
    }

    fn xattrs(&self, ino: Ino) -> Result<Xattrs> {
        let (_, node) = self.node(ino)?;
        let (true, Some(reader)) = (node.has_attributes, &self.system_use) else {
            return Ok(Xattrs::new());
        };
        let bytes = self.record_of(node)?;
        let record = records::decode(&bytes)?;
        let mut list = AttributeList::default();
        let mut budget = CONTINUED_MAX;
        let read = reader.for_each(record.system_use, &mut budget, &mut |entry| {
            if entry.signature == signature::AL {
                list.add(entry.data);
            }
            Ok(())
        });
        let found = read.and_then(|()| list.finish());
        found.map_err(|error| self.located(node, error))
    }
}
