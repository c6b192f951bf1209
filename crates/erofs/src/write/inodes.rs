//! Inodes: compact where that form can express everything, and what follows them.
//!
//! In: nodes of the tree. Out: for each its sizes, and later its bytes. **Invariant:** sizes depend
//! on nothing that is known only when all sizes are.

use std::collections::BTreeMap;

use sinterfs_model::{ContentMap, Error, FileType, Meta, NodeId, Rdev, Result, Tree, XattrSet};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32, U64};

use super::body::{self, Body, Content};
use super::cluster_map;
use super::content_tables::ContentTables;
use super::extent_map;
use super::limits::{BLOCK, INLINE_MAX};
use super::times::TimeBase;
use super::xattrs::{self, Xattrs};
use super::{directories, inode_offsets};
use crate::layout::compressed::MapHeader;
use crate::layout::{InodeCompact, InodeExtended, format};

/// How an inode keeps content, as bits of its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InodeLayout {
    Plain = 0,
    CompressedFull = 1,
    Inline = 2,
    CompressedCompact = 3,
    Chunks = 4,
}

/// What inodes are made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inodes<'a> {
    pub(super) tree: &'a Tree,
    pub(super) map: &'a ContentMap,
    pub(super) tables: &'a ContentTables,
    pub(super) xattrs: &'a Xattrs<'a>,
    pub(super) times: TimeBase,
    /// The blocks of targets of symlinks that are too long to be inline.
    pub(super) targets: &'a BTreeMap<NodeId, u64>,
}

/// An inode before it has an offset.
#[derive(Debug)]
pub(super) struct Inode<'a> {
    meta: Meta,
    kind: FileType,
    links: u32,
    /// Its number for programs with inode numbers of 32 bits.
    ino: u32,
    size: u64,
    layout: InodeLayout,
    /// The first block, the number of stored blocks, the chunk format, or the device number.
    start: u64,
    xattrs: Vec<u8>,
    body: Option<Body<'a>>,
    /// The map of its pclusters.
    map: Vec<u8>,
    /// Bytes of its inline tail.
    tail: u64,
    /// Its seconds, if it is a compact one.
    compact: Option<u32>,
}

impl<'a> Inodes<'a> {
    /// Makes the inode of a node. `start` is the first block of a directory.
    pub(super) fn inode(&self, node: NodeId, start: u64) -> Result<Inode<'a>> {
        let made = self.make(node, start);
        made.map_err(|error| {
            error.path(String::from_utf8_lossy(&self.tree.path(node)).into_owned())
        })
    }

    fn make(&self, node: NodeId, start: u64) -> Result<Inode<'a>> {
        let known = *self.tree.node(node);
        let mut inode = Inode {
            meta: known.meta,
            kind: known.content.kind(),
            links: known.links,
            ino: node.0.saturating_add(1),
            size: 0,
            layout: InodeLayout::Plain,
            start: 0,
            xattrs: self.xattrs.inline(known.xattrs),
            body: None,
            map: Vec::new(),
            tail: 0,
            compact: None,
        };
        match known.content {
            sinterfs_model::Content::File { .. } => {
                let content = body::content(self.tables, self.map.extents(node))?;
                inode.fill(content);
            }
            sinterfs_model::Content::Directory { .. } => {
                inode.links = directories::link_count(self.tree, node);
                inode.flat(directories::len(self.tree, node)?);
                inode.start = start;
            }
            sinterfs_model::Content::Symlink(target) => {
                inode.flat(self.tree.bytes(target).len() as u64);
                inode.start = self.targets.get(&node).copied().unwrap_or(0);
            }
            sinterfs_model::Content::CharDevice(rdev)
            | sinterfs_model::Content::BlockDevice(rdev) => {
                inode.start = u64::from(device_number(rdev)?);
            }
            sinterfs_model::Content::Fifo | sinterfs_model::Content::Socket => {}
        }
        xattrs::count_field(inode.xattrs.len() as u64)?;
        inode.choose(self.times);
        Ok(inode)
    }

    /// Makes the packed inode.
    pub(super) fn packed(&self, content: Content<'a>) -> Inode<'a> {
        let mut inode = Inode {
            meta: Meta {
                mode: 0o600,
                ..Meta::default()
            },
            kind: FileType::File,
            links: 1,
            ino: u32::try_from(self.tree.nodes().len() + 1).unwrap_or(u32::MAX),
            size: 0,
            layout: InodeLayout::Plain,
            start: 0,
            xattrs: self.xattrs.inline(XattrSet::NONE),
            body: None,
            map: Vec::new(),
            tail: 0,
            compact: None,
        };
        inode.meta.times.modified.secs = self.times.epoch;
        inode.meta.times.modified.nanos = self.times.nanos;
        inode.fill(content);
        inode.choose(self.times);
        inode
    }
}

/// Returns the length of the inline tail of content of so many bytes in a row of blocks.
pub(crate) fn tail_of(size: u64) -> u64 {
    match size % BLOCK {
        tail if tail <= INLINE_MAX => tail,
        _ => 0,
    }
}

/// Appends the map of a file that is in the packed inode.
fn write_packed(offset: u64, to: &mut Vec<u8>) {
    to.resize(to.len().next_multiple_of(size_of::<MapHeader>()), 0);
    to.extend_from_slice(&(offset | 1 << 63).to_le_bytes());
}

/// Returns how many blocks `stat` reports.
fn stat_blocks(blocks: u64) -> u64 {
    blocks.min(u64::from(u32::MAX))
}

/// Returns a device's number as Linux packs it into 32 bits.
fn device_number(rdev: Rdev) -> Result<u32> {
    let Rdev { major, minor } = rdev;
    let number = u32::try_from(rdev.to_dev_t()).ok();
    let fits = major < 1 << 12 && minor < 1 << 20;
    number.filter(|_| fits).ok_or_else(|| {
        Error::limit(format!(
            "the device number {major}:{minor} does not fit into 12 and 20 bits"
        ))
    })
}

impl<'a> Inode<'a> {
    fn fill(&mut self, content: Content<'a>) {
        self.size = content.size;
        match &content.body {
            Body::Flat(start, tail) => {
                self.start = *start;
                self.tail = tail.len() as u64;
                self.layout = if tail.is_empty() {
                    InodeLayout::Plain
                } else {
                    InodeLayout::Inline
                };
            }
            Body::Packed(_) => self.layout = InodeLayout::CompressedFull,
            Body::Extents(extents) => {
                self.layout = InodeLayout::CompressedFull;
                self.start = stat_blocks(extent_map::stored(extents).div_ceil(BLOCK));
            }
            Body::Chunks(chunks) => {
                self.layout = InodeLayout::Chunks;
                self.start = chunks.format();
            }
            Body::Clusters(clusters, end) => {
                self.start = stat_blocks(clusters.blocks());
                self.tail = end.len() as u64;
            }
        }
        self.body = Some(content.body);
    }

    fn flat(&mut self, size: u64) {
        self.size = size;
        self.tail = tail_of(size);
        self.layout = if self.tail > 0 {
            InodeLayout::Inline
        } else {
            InodeLayout::Plain
        };
    }

    fn choose(&mut self, times: TimeBase) {
        let fits = self.meta.uid.max(self.meta.gid).max(self.links) <= u32::from(u16::MAX)
            && u32::try_from(self.size).is_ok();
        let seconds = times.offset(self.meta.times.modified);
        self.compact = seconds.filter(|_| fits);
        if let Some(Body::Clusters(clusters, _)) = &self.body {
            let (form, map) = clusters.map(self.end());
            self.layout = match form {
                cluster_map::Form::Full => InodeLayout::CompressedFull,
                cluster_map::Form::Compact => InodeLayout::CompressedCompact,
            };
            self.map = map;
        }
    }

    /// Returns whether its content is in chunks.
    pub(super) fn is_chunked(&self) -> bool {
        self.layout == InodeLayout::Chunks
    }

    /// Returns where the inode and its attributes end.
    fn end(&self) -> u64 {
        self.own_len() + self.xattrs.len() as u64
    }

    /// Returns the inode's own bytes.
    fn own_len(&self) -> u64 {
        match self.compact {
            Some(_) => size_of::<InodeCompact>() as u64,
            None => size_of::<InodeExtended>() as u64,
        }
    }

    /// Returns the sizes of the inode and of what follows it.
    pub(super) fn total_size(&self) -> inode_offsets::InodeSize {
        let end = self.end();
        let header = size_of::<MapHeader>() as u64;
        let map = match &self.body {
            Some(Body::Packed(_)) => end.next_multiple_of(header) + header - end,
            Some(Body::Extents(extents)) => extent_map::len(end, self.size, extents.len()),
            Some(Body::Clusters(..)) => self.map.len() as u64,
            Some(Body::Chunks(chunks)) => chunks.len(end),
            Some(Body::Flat(..)) | None => 0,
        };
        inode_offsets::InodeSize {
            inode: self.own_len(),
            fixed: end + map,
            tail: self.tail,
        }
    }

    /// Returns how many whole blocks of content an inode has that is not a file.
    pub(super) fn blocks(&self) -> u64 {
        (self.size - self.tail).div_ceil(BLOCK)
    }

    /// Appends the inode's bytes; `tail` is the inline tail of what is not a file.
    pub(super) fn write(&self, tail: &[u8], to: &mut Vec<u8>) -> Result<()> {
        let start = u32::try_from(self.start);
        let start = U32::new(start.map_err(|_| Error::limit("an image of 16 TiB or more"))?);
        let mut bytes = match self.compact {
            Some(seconds) => self.compact(seconds, start)?.as_bytes().to_vec(),
            None => self.extended(start)?.as_bytes().to_vec(),
        };
        bytes.extend_from_slice(&self.xattrs);
        match &self.body {
            Some(Body::Flat(_, end)) => bytes.extend_from_slice(end),
            Some(Body::Packed(offset)) => write_packed(*offset, &mut bytes),
            Some(Body::Extents(extents)) => {
                extent_map::write(self.size, extents, &mut bytes);
            }
            Some(Body::Clusters(_, end)) => {
                bytes.extend_from_slice(&self.map);
                bytes.extend_from_slice(end);
            }
            Some(Body::Chunks(chunks)) => chunks.write(&mut bytes),
            None => bytes.extend_from_slice(tail),
        }
        to.extend_from_slice(&bytes);
        Ok(())
    }

    fn format(&self, extended: u16) -> U16 {
        U16::new(extended | (self.layout as u16) << format::LAYOUT_SHIFT)
    }

    fn mode(&self) -> U16 {
        U16::new(self.kind.bits() as u16 | self.meta.mode & 0o7777)
    }

    fn compact(&self, seconds: u32, start: U32) -> Result<InodeCompact> {
        Ok(InodeCompact {
            format: self.format(0),
            xattr_count: U16::new(xattrs::count_field(self.xattrs.len() as u64)?),
            mode: self.mode(),
            nlink: U16::new(self.links as u16),
            size: U32::new(self.size as u32),
            mtime: U32::new(seconds),
            start,
            ino: U32::new(self.ino),
            uid: U16::new(self.meta.uid as u16),
            gid: U16::new(self.meta.gid as u16),
            reserved: U32::new(0),
        })
    }

    fn extended(&self, start: U32) -> Result<InodeExtended> {
        let time = self.meta.times.modified;
        Ok(InodeExtended {
            format: self.format(format::EXTENDED),
            xattr_count: U16::new(xattrs::count_field(self.xattrs.len() as u64)?),
            mode: self.mode(),
            start_high: U16::new(0),
            size: U64::new(self.size),
            start,
            ino: U32::new(self.ino),
            uid: U32::new(self.meta.uid),
            gid: U32::new(self.meta.gid),
            mtime: U64::from_bytes(time.secs.to_le_bytes()),
            mtime_nanos: U32::new(time.nanos),
            nlink: U32::new(self.links),
            reserved: [0; 16],
        })
    }
}
