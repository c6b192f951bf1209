//! `sinterfs_model::Image` for an opened UDF file system.
//!
//! **Invariant:** the number of an inode is its index, from 1 on.

use std::ops::ControlFlow;

use sinterfs_block::ReadAt;
use sinterfs_model::{
    Cursor, Dirent, Error, Extent, ExtentSource, FileType, Image, ImageInfo, Ino, Inode, Result,
    Xattrs,
};

use super::extents::{ByteRun, UNSTORED};
use super::nodes::{UdfContent, UdfNode};
use super::open::Udf;

impl Udf {
    fn node(&self, ino: Ino) -> Result<&UdfNode> {
        let index = ino.0.checked_sub(1);
        let index = index.and_then(|index| usize::try_from(index).ok());
        let node = index.and_then(|index| self.nodes.nodes.get(index));
        node.ok_or_else(|| Error::no_inode(ino.0))
    }

    /// Returns a sound inode of a type.
    fn node_of(&self, ino: Ino, kind: FileType, what: &str) -> Result<&UdfNode> {
        let node = self.node(ino)?;
        if node.kind != kind {
            let what = format!("inode {:#x} is not a {what}", ino.0);
            return Err(Error::invalid(what));
        }
        match &node.damage {
            None => Ok(node),
            Some(damage) => Err(damage.error()),
        }
    }

    fn link_count(&self, node: &UdfNode) -> u32 {
        if node.kind != FileType::Directory {
            return node.links;
        }
        let names = self.nodes.names(node).iter();
        let kinds = names.filter(|name| self.kind(name.node) == FileType::Directory);
        u32::try_from(kinds.count()).map_or(u32::MAX, |count| count.saturating_add(2))
    }

    fn kind(&self, index: u32) -> FileType {
        let node = self.nodes.nodes.get(index as usize);
        node.map_or(FileType::File, |node| node.kind)
    }

    fn allocated(&self, node: &UdfNode) -> u64 {
        let runs = match &node.content {
            UdfContent::Runs(runs) if node.kind == FileType::File => self.nodes.runs(runs),
            _ => return node.size,
        };
        let stored = runs.iter().filter(|run| run.at != UNSTORED);
        stored.fold(0, |sum, run| sum.saturating_add(run.len))
    }

    /// Returns content as runs.
    pub(crate) fn pieces(&self, content: &UdfContent, len: u64) -> Vec<ByteRun> {
        match content {
            UdfContent::Inline(_) if len == 0 => Vec::new(),
            UdfContent::Inline(at) => vec![ByteRun {
                start: 0,
                len,
                at: *at,
            }],
            UdfContent::Runs(runs) => self.nodes.runs(runs).to_vec(),
        }
    }

    /// Reads bytes of runs that begin with the one of `offset`.
    fn read_runs(&self, runs: &[ByteRun], offset: u64, buf: &mut [u8]) -> Result<()> {
        let (mut rest, mut at) = (buf, offset);
        let first = runs.partition_point(|run| run.start.saturating_add(run.len) <= offset);
        for run in runs.get(first..).unwrap_or_default() {
            if rest.is_empty() {
                break;
            }
            let within = at.saturating_sub(run.start);
            let here = usize::try_from(run.len.saturating_sub(within)).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at_mut(here.min(rest.len()));
            if run.at == UNSTORED {
                now.fill(0);
            } else {
                let position = run.at.saturating_add(within);
                let place = self.offset().saturating_add(position);
                let read = self.window.read_at(position, now);
                read.map_err(|error| error.at("content", place))?;
            }
            at = at.saturating_add(now.len() as u64);
            rest = later;
        }
        if rest.is_empty() {
            Ok(())
        } else {
            Err(Error::corrupt(format!("the extents end at byte {at}")))
        }
    }

    fn read_content(
        &self,
        content: &UdfContent,
        size: u64,
        offset: u64,
        buf: &mut [u8],
    ) -> Result<()> {
        match content {
            UdfContent::Inline(_) => self.read_runs(&self.pieces(content, size), offset, buf),
            UdfContent::Runs(runs) => self.read_runs(self.nodes.runs(runs), offset, buf),
        }
    }
}

/// Returns the number of an inode with an index.
fn number(index: u32) -> Ino {
    Ino(u64::from(index) + 1)
}

impl Image for Udf {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn inode(&self, ino: Ino) -> Result<Inode> {
        let node = self.node(ino)?;
        if let Some(damage) = node.damage.as_ref().filter(|_| !node.has_entry) {
            return Err(damage.error());
        }
        let size = match node.kind {
            FileType::Directory => node.names.len() as u64,
            _ => node.size,
        };
        Ok(Inode {
            ino,
            kind: node.kind,
            meta: node.meta,
            nlink: self.link_count(node),
            size,
            allocated: self.allocated(node).min(size),
            rdev: node.rdev,
        })
    }

    fn read_dir(
        &self,
        dir: Ino,
        from: Cursor,
        visit: &mut dyn FnMut(Dirent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let node = self.node_of(dir, FileType::Directory, "directory")?;
        let names = self.nodes.names(node);
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
        let node = self.node_of(dir, FileType::Directory, "directory")?;
        let names = self.nodes.names(node);
        let found = names.binary_search_by(|entry| entry.name.as_slice().cmp(name));
        let found = found.ok().and_then(|index| names.get(index));
        Ok(found.map(|entry| number(entry.node)))
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        let node = self.node(dir)?;
        if node.kind != FileType::Directory {
            let what = format!("inode {:#x} is not a directory", dir.0);
            return Err(Error::invalid(what));
        }
        Ok(number(node.parent))
    }

    fn read_link(&self, ino: Ino) -> Result<Vec<u8>> {
        let node = self.node_of(ino, FileType::Symlink, "symlink")?;
        Ok(node.target.clone())
    }

    fn extents(
        &self,
        ino: Ino,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()> {
        let node = self.node_of(ino, FileType::File, "file")?;
        for run in self.pieces(&node.content, node.size) {
            if run.start.saturating_add(run.len) <= from {
                continue;
            }
            let source = if run.at == UNSTORED {
                ExtentSource::Hole
            } else {
                ExtentSource::Block {
                    block: run.at,
                    offset: 0,
                }
            };
            let extent = Extent {
                offset: run.start,
                len: run.len,
                source,
            };
            if visit(extent).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let node = self.node_of(ino, FileType::File, "file")?;
        let left = node.size.saturating_sub(offset);
        let len = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        let (now, _) = buf.split_at_mut(len);
        if !now.is_empty() {
            self.read_content(&node.content, node.size, offset, now)?;
        }
        Ok(len)
    }

    fn xattrs(&self, ino: Ino) -> Result<Xattrs> {
        let node = self.node(ino)?;
        let mut found = Xattrs::new();
        for stream in self.nodes.streams(node) {
            let len = usize::try_from(stream.size).unwrap_or(0);
            let mut value = vec![0; len];
            self.read_content(&stream.content, stream.size, 0, &mut value)?;
            found.push(([b"user.", &*stream.name].concat(), value));
        }
        found.dedup_by(|(later, _), (first, _)| later == first);
        Ok(found)
    }
}
