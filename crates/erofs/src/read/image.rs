//! `sinterfs_model::Image` for an opened EROFS image: everything is read from the metadata on
//! demand.
//!
//! **Invariant:** inode numbers are the EROFS nids; a cursor is a block of the directory and an
//! entry in that block.

use std::ops::ControlFlow;

use sinterfs_model::{
    Cursor, Dirent, Error, Extent, ExtentSource, FileType, Image, ImageInfo, Ino, Inode, Meta,
    Result, Setting, Times, Xattrs,
};

use super::erofs::Erofs;
use super::map::{ContentLocation, Map, MappedExtent, PclusterLocation};
use super::node::ErofsInode;
use crate::layout::DataLayout;
use crate::overlay_attributes::redirect;

/// The bits of a cursor that number entries: a block has fewer than 2^16.
const ENTRY_BITS: u32 = 16;

/// The longest target of a symlink in bytes: `PATH_MAX`.
const TARGET_MAX: u64 = 4096;

/// `stat` does not look for holes in files that may have more extents than this.
const RUNS_COUNTED: u64 = 1 << 16;

impl Erofs {
    fn expect(&self, ino: Ino, wanted: FileType, what: &str) -> Result<ErofsInode> {
        let node = self.node(ino.0)?;
        if node.kind == wanted {
            return Ok(node);
        }
        Err(Error::invalid(format!(
            "inode {:#x} is not a {what}",
            ino.0
        )))
    }

    /// Returns the bytes that are not in holes, as far as that takes little time.
    fn allocated(&self, node: &ErofsInode) -> Result<u64> {
        if node.size == 0 {
            return Ok(0);
        }
        if matches!(
            node.layout,
            DataLayout::CompressedFull | DataLayout::CompressedCompact
        ) {
            return Ok(node.size);
        }
        let mut map = Map::new(self, node)?;
        if map.runs_at_most() > RUNS_COUNTED {
            return Ok(node.size);
        }
        let (mut at, mut allocated) = (0, 0_u64);
        while at < node.size {
            let mapped = map.find(at)?;
            if mapped.location != ContentLocation::Hole {
                allocated = allocated.saturating_add(mapped.len);
            }
            at = mapped.end();
        }
        Ok(allocated)
    }

    /// Reads content from a position on, up to its end.
    pub(crate) fn read_content(
        &self,
        node: &ErofsInode,
        position: u64,
        buf: &mut [u8],
    ) -> Result<usize> {
        let left = node.size.saturating_sub(position);
        let len = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        let Some(buf) = buf.get_mut(..len).filter(|buf| !buf.is_empty()) else {
            return Ok(0);
        };
        let mut map = Map::new(self, node)?;
        let (mut at, mut rest) = (position, buf);
        while !rest.is_empty() {
            let mapped = map.find(at)?;
            let skip = at.saturating_sub(mapped.start);
            let count = usize::try_from(mapped.len.saturating_sub(skip))
                .map_or(rest.len(), |left| left.min(rest.len()));
            let (part, next) = rest.split_at_mut(count);
            self.read_run(node, mapped.location, skip, part)
                .map_err(|error| node.locate(error))?;
            at = at.saturating_add(count as u64);
            rest = next;
        }
        Ok(len)
    }

    /// Fills the buffer with content. Fails with `Corrupt` if the inode ends before.
    pub(crate) fn read_exactly(
        &self,
        node: &ErofsInode,
        position: u64,
        buf: &mut [u8],
    ) -> Result<()> {
        let wanted = buf.len();
        if self.read_content(node, position, buf)? == wanted {
            return Ok(());
        }
        let size = node.size;
        Err(node.locate(Error::corrupt(format!(
            "expected {wanted} bytes at {position:#x}, but it has {size}"
        ))))
    }

    /// Reads bytes of an extent from an offset on.
    fn read_run(
        &self,
        node: &ErofsInode,
        location: ContentLocation,
        skip: u64,
        buf: &mut [u8],
    ) -> Result<()> {
        // directories are searched again and again; the kernel caches files, if anything does
        let keep = node.kind != FileType::File;
        match location {
            ContentLocation::Hole => {
                buf.fill(0);
                Ok(())
            }
            ContentLocation::Stored(address) => self.read_stored(address.skip(skip), buf, keep),
            ContentLocation::Inline(meta) => self.read_metadata(meta.skip(skip), buf),
            ContentLocation::Pcluster(cluster) => self.read_pcluster(&cluster, skip, buf, keep),
            ContentLocation::Packed(offset) => {
                let packed = self.packed_for(node)?;
                self.read_exactly(packed, offset.saturating_add(skip), buf)
            }
        }
    }

    /// Returns the packed inode for a fragment of another inode. Fails with `Corrupt` if there is
    /// none, and for the special inodes, which would lead to themselves.
    fn packed_for(&self, node: &ErofsInode) -> Result<&ErofsInode> {
        let special = [&self.packed, &self.metabox].into_iter().flatten();
        let mut special = special.map(|special| special.nid);
        match &self.packed {
            Some(packed) if special.all(|nid| nid != node.nid) => Ok(packed),
            _ => Err(Error::corrupt("a fragment without a packed inode")),
        }
    }
}

/// Returns the model's extent of a mapped one that is not in the packed inode.
fn extent_of(mapped: &MappedExtent) -> Extent {
    let block = match mapped.location {
        ContentLocation::Hole => None,
        ContentLocation::Stored(address) => Some(address.rank()),
        ContentLocation::Inline(meta) => Some(meta.at),
        ContentLocation::Packed(offset) => Some(offset),
        ContentLocation::Pcluster(cluster) => Some(match cluster.location {
            PclusterLocation::Device(address) => address.rank(),
            PclusterLocation::Inline(meta) => meta.at,
        }),
    };
    let source = block.map_or(ExtentSource::Hole, |block| ExtentSource::Block {
        block,
        offset: 0,
    });
    Extent {
        offset: mapped.start,
        len: mapped.len,
        source,
    }
}

impl Erofs {
    /// Visits the extents of a file, each with the mapped extent that it is part of, which may be
    /// one of the packed inode.
    pub(super) fn pieces(
        &self,
        node: &ErofsInode,
        from: u64,
        visit: &mut dyn FnMut(Extent, &MappedExtent) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut map = Map::new(self, node)?;
        let mut at = from;
        while at < node.size {
            let mapped = map.find(at)?;
            let step = match mapped.location {
                ContentLocation::Packed(offset) => {
                    self.packed_extents(node, &mapped, (offset, at), visit)?
                }
                _ => visit(extent_of(&mapped), &mapped),
            };
            if step.is_break() {
                break;
            }
            at = mapped.end();
        }
        Ok(())
    }

    /// Visits the extents of a range of the packed inode, from a byte of the file on.
    fn packed_extents(
        &self,
        node: &ErofsInode,
        mapped: &MappedExtent,
        (offset, from): (u64, u64),
        visit: &mut dyn FnMut(Extent, &MappedExtent) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let packed = self.packed_for(node)?;
        let end = offset.saturating_add(mapped.len);
        if end > packed.size {
            let size = packed.size;
            return Err(node.locate(Error::corrupt(format!(
                "a fragment up to {end:#x} of a packed inode of {size:#x} bytes"
            ))));
        }
        let mut map = Map::new(self, packed)?;
        let mut at = offset.saturating_add(from.saturating_sub(mapped.start));
        while at < end {
            let part = map.find(at)?;
            let skip = at - part.start;
            let len = part.len.saturating_sub(skip).min(end - at);
            let mut extent = extent_of(&part);
            extent.offset = mapped.start.saturating_add(at - offset);
            extent.len = len;
            if let ExtentSource::Block { offset, .. } = &mut extent.source {
                *offset = skip;
            }
            if visit(extent, &part).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            at = at.saturating_add(len);
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl Erofs {
    /// Fails with `Unsupported` for a file of composefs whose content is an object elsewhere: its
    /// zeros are not the content.
    fn expect_content(&self, node: &ErofsInode) -> Result<()> {
        let may_be_elsewhere = node.size > 0
            && node.xattr_len > 0
            && matches!(node.layout, DataLayout::Plain | DataLayout::Chunks);
        if !may_be_elsewhere || Map::new(self, node)?.find(0)?.location != ContentLocation::Hole {
            return Ok(());
        }
        match redirect(&self.xattrs_of(node)?) {
            None => Ok(()),
            Some(object) => {
                let (object, option) = (String::from_utf8_lossy(&object), Setting("objects"));
                let what =
                    format!("the content is in an object store, as {object} ({option} names it)");
                Err(node.locate(Error::unsupported(what).about([option])))
            }
        }
    }
}

impl Image for Erofs {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn inode(&self, ino: Ino) -> Result<Inode> {
        let node = self.node(ino.0)?;
        let (size, allocated) = match node.kind {
            FileType::File => (node.size, self.allocated(&node)?),
            FileType::Directory | FileType::Symlink => (node.size, node.size),
            _ => (0, 0),
        };
        Ok(Inode {
            ino,
            kind: node.kind,
            meta: Meta {
                mode: node.mode,
                uid: node.uid,
                gid: node.gid,
                times: Times::all(node.mtime),
            },
            nlink: node.nlink,
            size,
            allocated,
            rdev: node.rdev(),
        })
    }

    fn read_dir(
        &self,
        dir: Ino,
        from: Cursor,
        visit: &mut dyn FnMut(Dirent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let node = self.expect(dir, FileType::Directory, "directory")?;
        let mut first = usize::try_from(from.0 & ((1 << ENTRY_BITS) - 1)).unwrap_or(0);
        let mut last: Option<Vec<u8>> = None;
        for index in from.0 >> ENTRY_BITS..self.dir_blocks(&node) {
            let at = |number: usize| index << ENTRY_BITS | (number as u64 + 1);
            let block = match self.dir_block(&node, index) {
                Ok(block) => block,
                Err(error) => {
                    self.left_out.note(dir, at(0), error)?;
                    continue;
                }
            };
            let located = |error| self.in_block(&node, index, error);
            if let Some(before) = first.checked_sub(1).filter(|before| *before < block.len()) {
                last = block.entry(before).ok().map(|entry| entry.name.to_vec());
            }
            for number in first..block.len() {
                let entry = match block.entry(number) {
                    Ok(entry) if last.as_deref().is_none_or(|last| last < entry.name) => entry,
                    Ok(entry) => {
                        let name = String::from_utf8_lossy(entry.name);
                        let error = Error::corrupt(format!("{name:?} is not in order"));
                        self.left_out.note(dir, at(number), located(error))?;
                        continue;
                    }
                    Err(error) => {
                        self.left_out.note(dir, at(number), located(error))?;
                        continue;
                    }
                };
                let name = last.get_or_insert_default();
                name.clear();
                name.extend_from_slice(entry.name);
                if entry.is_dots() {
                    continue;
                }
                let kind = match entry.file_type() {
                    Some(kind) => kind,
                    // one that cannot be read hides no other name, and reading it is an error
                    None => self
                        .node(entry.nid)
                        .map_or(FileType::File, |node| node.kind),
                };
                let next = Cursor(at(number));
                let (name, ino) = (entry.name, Ino(entry.nid));
                let dirent = Dirent {
                    name,
                    ino,
                    kind,
                    next,
                };
                if visit(dirent).is_break() {
                    return Ok(());
                }
            }
            first = 0;
        }
        self.left_out.end(dir)
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Option<Ino>> {
        let node = self.expect(dir, FileType::Directory, "directory")?;
        if matches!(name, b"." | b"..") {
            return Ok(None);
        }
        Ok(self.find_entry(&node, name)?.map(Ino))
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        if dir == self.info.root {
            return Ok(dir);
        }
        let node = self.expect(dir, FileType::Directory, "directory")?;
        let parent = self.find_entry(&node, b"..")?;
        let missing = || node.locate(Error::corrupt("the directory has no parent"));
        parent.map(Ino).ok_or_else(missing)
    }

    fn read_link(&self, ino: Ino) -> Result<Vec<u8>> {
        let node = self.expect(ino, FileType::Symlink, "symlink")?;
        if node.size > TARGET_MAX {
            let size = node.size;
            return Err(node.locate(Error::corrupt(format!("a target of {size} bytes"))));
        }
        let mut target = vec![0; usize::try_from(node.size).unwrap_or(0)];
        self.read_exactly(&node, 0, &mut target)?;
        if target.contains(&0) {
            let error = Error::corrupt("a symlink with a NUL in its target");
            return Err(node.locate(error));
        }
        Ok(target)
    }

    fn extents(
        &self,
        ino: Ino,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()> {
        let node = self.expect(ino, FileType::File, "file")?;
        if from >= node.size {
            return Ok(());
        }
        self.expect_content(&node)?;
        self.pieces(&node, from, &mut |extent, _| visit(extent))
    }

    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let node = self.expect(ino, FileType::File, "file")?;
        self.expect_content(&node)?;
        self.read_content(&node, offset, buf)
    }

    fn xattrs(&self, ino: Ino) -> Result<Xattrs> {
        self.xattrs_of(&self.node(ino.0)?)
    }
}
