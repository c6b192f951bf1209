//! `sinterfs_model::Image` for an opened FAT file system.
//!
//! **Invariant:** the number of an inode is its index, from 1 on. Owners are zero; permissions
//! follow from the type and the attribute "read-only".

use std::ops::ControlFlow;

use sinterfs_block::ReadAt;
use sinterfs_model::{
    Cursor, Dirent, Error, Extent, ExtentSource, FileType, Image, ImageInfo, Ino, Inode, Meta,
    Rdev, Result, Times,
};

use super::clusters::ClusterRun;
use super::nodes::FatNode;
use super::open::Fat;

impl Fat {
    fn node(&self, ino: Ino) -> Result<&FatNode> {
        let index = ino.0.checked_sub(1);
        let index = index.and_then(|index| usize::try_from(index).ok());
        let node = index.and_then(|index| self.nodes.nodes.get(index));
        node.ok_or_else(|| Error::no_inode(ino.0))
    }

    fn directory(&self, ino: Ino) -> Result<&FatNode> {
        let node = self.node(ino)?;
        if !node.is_directory {
            let what = format!("inode {:#x} is not a directory", ino.0);
            return Err(Error::invalid(what));
        }
        sound(node)
    }

    fn file(&self, ino: Ino) -> Result<&FatNode> {
        let node = self.node(ino)?;
        if node.is_directory {
            let what = format!("inode {:#x} is not a file", ino.0);
            return Err(Error::invalid(what));
        }
        sound(node)
    }

    /// Returns the position of the table in the file.
    pub(crate) fn table(&self) -> u64 {
        self.offset().saturating_add(self.boot.table)
    }

    fn kind(&self, index: u32) -> FileType {
        match self.nodes.nodes.get(index as usize) {
            Some(node) if node.is_directory => FileType::Directory,
            _ => FileType::File,
        }
    }

    /// Returns the position of a run in the image, and its first byte and length in the file.
    fn place(&self, run: &ClusterRun, size: u32) -> (u64, u64, u64) {
        let start = u64::from(run.within) * self.boot.cluster;
        let len = u64::from(run.count) * self.boot.cluster;
        let at = self.boot.position(run.cluster).unwrap_or(u64::MAX);
        (at, start, len.min(u64::from(size).saturating_sub(start)))
    }
}

/// Fails if the clusters of an inode are damaged.
fn sound(node: &FatNode) -> Result<&FatNode> {
    match &node.damage {
        None => Ok(node),
        Some(damage) => Err(damage.error(damage.what.clone())),
    }
}

/// Returns the number of an inode with an index.
fn number(index: u32) -> Ino {
    Ino(u64::from(index) + 1)
}

impl Image for Fat {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn inode(&self, ino: Ino) -> Result<Inode> {
        let node = self.node(ino)?;
        let names = self.nodes.names(node);
        let (kind, mode, size) = if node.is_directory {
            (FileType::Directory, 0o755, names.len() as u64)
        } else {
            (FileType::File, 0o644, node.size.into())
        };
        let directories = names
            .iter()
            .filter(|name| self.kind(name.node) == FileType::Directory);
        let nlink = if node.is_directory {
            u32::try_from(directories.count()).map_or(u32::MAX, |count| count.saturating_add(2))
        } else {
            1
        };
        Ok(Inode {
            ino,
            kind,
            meta: Meta {
                mode: if node.is_read_only {
                    mode & !0o222
                } else {
                    mode
                },
                uid: 0,
                gid: 0,
                times: Times::all(node.modified),
            },
            nlink,
            size,
            allocated: size,
            rdev: Rdev::default(),
        })
    }

    fn read_dir(
        &self,
        dir: Ino,
        from: Cursor,
        visit: &mut dyn FnMut(Dirent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let names = self.nodes.names(self.directory(dir)?);
        let start = usize::try_from(from.0).unwrap_or(usize::MAX);
        for (position, entry) in (from.0..).zip(names.get(start..).unwrap_or_default()) {
            let dirent = Dirent {
                name: &entry.name,
                ino: number(entry.node),
                kind: self.kind(entry.node),
                next: Cursor(position + 1),
            };
            if visit(dirent).is_break() {
                return Ok(());
            }
        }
        self.nodes.left_out.end(dir)
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Option<Ino>> {
        let names = self.nodes.names(self.directory(dir)?);
        let found = names.binary_search_by(|entry| entry.name.as_slice().cmp(name));
        let found = found.ok().and_then(|index| names.get(index));
        Ok(found.map(|entry| number(entry.node)))
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        let node = self.node(dir)?;
        if !node.is_directory {
            let what = format!("inode {:#x} is not a directory", dir.0);
            return Err(Error::invalid(what));
        }
        Ok(number(node.parent))
    }

    fn read_link(&self, ino: Ino) -> Result<Vec<u8>> {
        self.node(ino)?;
        let what = format!("inode {:#x} is not a symlink", ino.0);
        Err(Error::invalid(what))
    }

    fn extents(
        &self,
        ino: Ino,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()> {
        let node = self.file(ino)?;
        for run in self.nodes.runs(node) {
            let (block, offset, len) = self.place(run, node.size);
            if len == 0 || offset.saturating_add(len) <= from {
                continue;
            }
            let source = ExtentSource::Block { block, offset: 0 };
            let extent = Extent {
                offset,
                len,
                source,
            };
            if visit(extent).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let node = self.file(ino)?;
        let left = u64::from(node.size).saturating_sub(offset);
        let len = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        let (mut rest, _) = buf.split_at_mut(len);
        let runs = self.nodes.runs(node);
        let cluster = offset / self.boot.cluster;
        let first = runs.partition_point(|run| u64::from(run.within) <= cluster);
        let mut at = offset;
        for run in runs.get(first.saturating_sub(1)..).unwrap_or_default() {
            if rest.is_empty() {
                break;
            }
            let (position, start, here) = self.place(run, node.size);
            let within = at.saturating_sub(start);
            let here = usize::try_from(here.saturating_sub(within)).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at_mut(here.min(rest.len()));
            let read = self.window.read_at(position.saturating_add(within), now);
            read.map_err(|error| error.at("content", self.offset().saturating_add(position)))?;
            at += now.len() as u64;
            rest = later;
        }
        if !rest.is_empty() {
            let what = format!("the clusters end at byte {at} of {}", node.size);
            return Err(Error::corrupt(what).at("table", self.table()));
        }
        Ok(len)
    }
}
