//! `sinterfs_model::Image` for an opened WIM file.
//!
//! **Invariant:** the number of an inode is its index, from 1 on. Without Unix data, owners are 0
//! and permissions follow from the type and the attribute of Windows for reading only.

use std::ops::ControlFlow;

use sinterfs_model::{
    Cursor, Dirent, Error, Extent, FileType, Image, ImageInfo, Ino, Inode, Meta, Rdev, Result,
    Time, Times, Xattrs,
};

use super::items::{self, XattrItem};
use super::link_target;
use super::nodes::{NO_BLOB, NamedStream, WimNode};
use super::open::{STREAM_MAX, Wim};

/// Seconds from 1601 to 1970.
const EPOCH: i64 = 11_644_473_600;

/// The most bytes of all named streams of an inode.
const STREAMS_MAX: u64 = 16 << 20;

/// Units of time in a second.
const PER_SECOND: u64 = 10_000_000;

impl Wim {
    fn node(&self, ino: Ino) -> Result<&WimNode> {
        let index = ino
            .0
            .checked_sub(1)
            .and_then(|index| u32::try_from(index).ok());
        index
            .and_then(|index| self.nodes.get(index))
            .ok_or_else(|| Error::no_inode(ino.0))
    }

    fn node_of(&self, ino: Ino, kind: FileType, what: &str) -> Result<&WimNode> {
        let node = self.node(ino)?;
        if node.kind == kind {
            return Ok(node);
        }
        let number = ino.0;
        Err(Error::invalid(format!("inode {number:#x} is not a {what}")))
    }

    fn link_count(&self, node: &WimNode) -> u32 {
        if node.kind != FileType::Directory {
            return node.links;
        }
        let entries = node
            .names
            .clone()
            .filter_map(|number| self.nodes.name(number));
        let directories = entries.filter(|(_, index)| {
            let node = self.nodes.get(*index);
            node.is_some_and(|node| node.kind == FileType::Directory)
        });
        u32::try_from(directories.count()).map_or(u32::MAX, |count| count.saturating_add(2))
    }

    fn size(&self, node: &WimNode) -> u64 {
        let found = self.contents.table.get(node.blob);
        found.map_or(0, |(blob, _)| blob.len)
    }

    fn target(&self, ino: Ino, node: &WimNode) -> Result<Vec<u8>> {
        let located = |error: Error| error.within(format!("inode {:#x}", ino.0));
        let len = self.size(node);
        if len > link_target::MAX_DATA {
            let what = format!("a reparse point of {len} bytes");
            return Err(located(Error::corrupt(what)));
        }
        let data = self.read_all(node.blob)?;
        link_target::target(node.tag, &data).map_err(located)
    }

    /// Reads a blob whose length was checked.
    fn read_all(&self, blob: u32) -> Result<Vec<u8>> {
        let len = self
            .contents
            .table
            .get(blob)
            .map_or(0, |(blob, _)| blob.len);
        let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
        if !bytes.is_empty() {
            self.contents.read_blob(blob, 0, &mut bytes)?;
        }
        Ok(bytes)
    }
}

/// Returns the number of an inode with an index.
fn number(index: u32) -> Ino {
    Ino(u64::from(index) + 1)
}

/// Converts a time from units of 100 ns since 1601.
fn time(units: u64) -> Time {
    let secs = i64::try_from(units / PER_SECOND).unwrap_or(i64::MAX);
    let nanos = u32::try_from(units % PER_SECOND).unwrap_or(0) * 100;
    Time {
        secs: secs.saturating_sub(EPOCH),
        nanos,
    }
}

impl Image for Wim {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn inode(&self, ino: Ino) -> Result<Inode> {
        let node = self.node(ino)?;
        let size = match node.kind {
            FileType::File => self.size(node),
            FileType::Symlink => self.target(ino, node)?.len() as u64,
            FileType::Directory => node.names.len() as u64,
            _ => 0,
        };
        // 0 is no time of a file
        let modified = match node.modified {
            0 => Time::default(),
            units => time(units),
        };
        Ok(Inode {
            ino,
            kind: node.kind,
            meta: Meta {
                mode: node.mode,
                uid: node.uid,
                gid: node.gid,
                times: Times::all(modified),
            },
            nlink: self.link_count(node),
            size,
            allocated: size,
            rdev: match node.kind {
                FileType::CharDevice | FileType::BlockDevice => Rdev::from_dev_t(node.rdev.into()),
                _ => Rdev::default(),
            },
        })
    }

    fn read_dir(
        &self,
        dir: Ino,
        from: Cursor,
        visit: &mut dyn FnMut(Dirent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let node = self.node_of(dir, FileType::Directory, "directory")?;
        let skipped = u32::try_from(from.0).unwrap_or(u32::MAX);
        let start = node.names.start.saturating_add(skipped);
        for (position, entry) in (from.0..).zip(start..node.names.end) {
            let Some((name, index)) = self.nodes.name(entry) else {
                break;
            };
            let Some(node) = self.nodes.get(index) else {
                break;
            };
            let dirent = Dirent {
                name,
                ino: number(index),
                kind: node.kind,
                next: Cursor(position + 1),
            };
            if visit(dirent).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Option<Ino>> {
        let dir = self.node_of(dir, FileType::Directory, "directory")?;
        Ok(self.nodes.find(dir, name).map(number))
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        let dir = self.node_of(dir, FileType::Directory, "directory")?;
        Ok(number(dir.parent))
    }

    fn read_link(&self, ino: Ino) -> Result<Vec<u8>> {
        let node = self.node_of(ino, FileType::Symlink, "symlink")?;
        self.target(ino, node)
    }

    fn extents(
        &self,
        ino: Ino,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()> {
        let node = self.node_of(ino, FileType::File, "file")?;
        if let Some(found) = self.contents.table.get(node.blob) {
            self.contents.extents(found, from, visit);
        }
        Ok(())
    }

    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let node = self.node_of(ino, FileType::File, "file")?;
        match node.blob {
            NO_BLOB => Ok(0),
            blob => self.contents.read_blob(blob, offset, buf),
        }
    }

    fn release(&self, block: u64) {
        let key = self.contents.cache_key | u128::from(block);
        self.contents.cache.forget(key);
    }

    fn xattrs(&self, ino: Ino) -> Result<Xattrs> {
        let node = self.node(ino)?;
        let item = XattrItem {
            bytes: self
                .nodes
                .items
                .get(node.xattrs.clone())
                .unwrap_or_default(),
            is_old: node.has_old_xattrs,
        };
        let mut found = items::xattrs(item)?;
        let mut streams: Vec<&NamedStream> = self.nodes.streams_of(node).iter().collect();
        streams.sort_by(|one, other| one.name.cmp(&other.name));
        streams.dedup_by(|later, first| later.name == first.name);
        let mut left = STREAMS_MAX;
        for stream in streams {
            let len = self
                .contents
                .table
                .get(stream.blob)
                .map_or(0, |(blob, _)| blob.len);
            if len <= STREAM_MAX {
                left = left.checked_sub(len).ok_or_else(|| {
                    let what = format!("named streams of more than {STREAMS_MAX} bytes");
                    Error::limit(what).within(format!("inode {:#x}", ino.0))
                })?;
                let name = [b"user.", &*stream.name].concat();
                found.push((name, self.read_all(stream.blob)?));
            }
        }
        // where a name occurs twice, the attribute of Unix stays
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        found.dedup_by(|(later, _), (first, _)| later == first);
        Ok(found)
    }
}
