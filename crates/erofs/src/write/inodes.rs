//! Inodes: compact where that form can express everything, and what follows them.
//!
//! In: nodes of the tree. Out: for each its bytes. **Invariant:** how many these are depends on
//! nothing that is known only when the sizes of all inodes are.

use std::borrow::Cow;
use std::collections::BTreeMap;

use sinterfs_model::{self as model, ContentMap, Error, Meta, Node, NodeId, Rdev, Result, Tree};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32, U64};

use super::body::{self, Body, Content};
use super::content_tables::ContentTables;
use super::image_out::ImageOut;
use super::inode_offsets::InodeSize;
use super::limits::{BLOCK, BlockSize};
use super::times::TimeBase;
use super::xattrs::{self, Xattrs};
use super::{directories, extent_map};
use crate::layout::compressed::MapHeader;
use crate::layout::{DataLayout, InodeCompact, InodeExtended, format};

/// The input for inodes, apart from the tables of content, which change while the image is laid
/// out.
#[derive(Debug)]
pub(super) struct Inodes<'a> {
    pub(super) tree: &'a Tree,
    pub(super) map: &'a ContentMap,
    pub(super) xattrs: &'a Xattrs<'a>,
    pub(super) times: TimeBase,
    /// The size of EROFS blocks.
    pub(super) block: BlockSize,
    /// The blocks of targets of symlinks that are too long to be inline.
    pub(super) targets: BTreeMap<NodeId, u64>,
    /// The numbers of the inodes of all nodes; 0 while they are not known.
    pub(super) nids: Vec<u64>,
}

/// An inode before it has an offset.
#[derive(Debug)]
pub(super) struct Inode<'a> {
    /// The inode itself, its attributes and the map of its content.
    bytes: Vec<u8>,
    tail: Cow<'a, [u8]>,
    is_compact: bool,
    pub(super) layout: DataLayout,
}

impl Inodes<'_> {
    /// Returns the number of a node's inode.
    pub(super) fn nid(&self, node: NodeId) -> u64 {
        self.nids.get(node.index()).copied().unwrap_or(0)
    }

    /// Makes the inode of a node. The blocks of a directory begin at `dir_block`, which is moved
    /// past them.
    pub(super) fn inode<'s>(
        &'s self,
        tables: &'s ContentTables,
        id: NodeId,
        dir_block: &mut u64,
    ) -> Result<Inode<'s>> {
        let mut node = *self.tree.node(id);
        if let model::Content::Directory { .. } = node.content {
            node.links = directories::link_count(self.tree, id);
        }
        let content = self.content(tables, id, dir_block);
        let inode = content.and_then(|content| self.encode(&node, id.index(), content));
        inode.map_err(|error| error.path(String::from_utf8_lossy(&self.tree.path(id)).into_owned()))
    }

    /// Makes the packed inode; `None` if it would be empty.
    pub(super) fn packed(&self, tables: &ContentTables) -> Result<Option<Inode<'static>>> {
        let Some(content) = body::packed_content(tables)? else {
            return Ok(None);
        };
        let mut node = Node {
            meta: Meta {
                mode: 0o600,
                ..Meta::default()
            },
            content: model::Content::File { size: content.size },
            xattrs: model::XattrSet::NONE,
            links: 1,
            first_link: 0,
        };
        node.meta.times.modified.secs = self.times.epoch;
        node.meta.times.modified.nanos = self.times.nanos;
        let inode = self.encode(&node, self.tree.nodes().len(), content)?;
        Ok(Some(inode))
    }

    /// Finds or makes the content of a node.
    fn content<'s>(
        &'s self,
        tables: &'s ContentTables,
        id: NodeId,
        dir_block: &mut u64,
    ) -> Result<Content<'s>> {
        Ok(match self.tree.node(id).content {
            model::Content::File { .. } => body::content(tables, self.map.extents(id))?,
            model::Content::Directory { .. } => {
                let (blocks, tail) = self.directory(id)?;
                let start = *dir_block;
                *dir_block += (blocks.len() as u64).div_ceil(self.block.bytes());
                flat(start, blocks.len(), tail.into())
            }
            model::Content::Symlink(target) => {
                let start = self.targets.get(&id).copied().unwrap_or(0);
                let (blocks, tail) = split_tail(self.tree.bytes(target), self.block);
                flat(start, blocks.len(), tail.into())
            }
            // the field of the first block has the number
            model::Content::CharDevice(rdev) | model::Content::BlockDevice(rdev) => {
                flat(device_number(rdev)?.into(), 0, Cow::default())
            }
            model::Content::Fifo | model::Content::Socket => flat(0, 0, Cow::default()),
        })
    }

    /// Makes the content of a directory: what is in blocks, and its inline tail.
    pub(super) fn directory(&self, dir: NodeId) -> Result<(Vec<u8>, Vec<u8>)> {
        let (tree, block) = (self.tree, self.block);
        let mut content = directories::content(tree, dir, block, |node| self.nid(node))?;
        let tail = content.split_off(split_tail(&content, block).0.len());
        Ok((content, tail))
    }

    fn encode<'s>(&self, node: &Node, index: usize, content: Content<'s>) -> Result<Inode<'s>> {
        let (meta, time) = (node.meta, node.meta.times.modified);
        let xattrs = self.xattrs.inline(node.xattrs);
        let is_small = meta.uid.max(meta.gid).max(node.links) <= u32::from(u16::MAX)
            && u32::try_from(content.size).is_ok();
        let seconds = self.times.offset(time).filter(|_| is_small);
        let end = own_len(seconds.is_some()) + xattrs.len();
        // maps are aligned from the beginning of the inode on, whose bytes depend on the map
        let mut map = vec![0; end];
        let (layout, start) = append_map(&content, &mut map);
        let start = u32::try_from(start).map(U32::new);
        let start = start.map_err(|_| Error::limit("an image of 16 TiB or more"))?;
        let form = (layout as u16) << format::LAYOUT_SHIFT;
        let xattr_count = U16::new(xattrs::count_field(xattrs.len() as u64)?);
        let mode = U16::new(node.content.kind().bits() as u16 | meta.mode & 0o7777);
        let ino = U32::new(u32::try_from(index + 1).unwrap_or(u32::MAX));
        let mut bytes = match seconds {
            Some(seconds) => InodeCompact {
                format: U16::new(form),
                xattr_count,
                mode,
                nlink: U16::new(node.links as u16),
                size: U32::new(content.size as u32),
                mtime: U32::new(seconds),
                start,
                ino,
                uid: U16::new(meta.uid as u16),
                gid: U16::new(meta.gid as u16),
                reserved: U32::new(0),
            }
            .as_bytes()
            .to_vec(),
            None => InodeExtended {
                format: U16::new(form | format::EXTENDED),
                xattr_count,
                mode,
                start_high: U16::new(0),
                size: U64::new(content.size),
                start,
                ino,
                uid: U32::new(meta.uid),
                gid: U32::new(meta.gid),
                mtime: U64::from_bytes(time.secs.to_le_bytes()),
                mtime_nanos: U32::new(time.nanos),
                nlink: U32::new(node.links),
                reserved: [0; 16],
            }
            .as_bytes()
            .to_vec(),
        };
        bytes.extend_from_slice(&xattrs);
        bytes.extend_from_slice(&map.split_off(end));
        Ok(Inode {
            bytes,
            tail: content.tail,
            is_compact: seconds.is_some(),
            layout,
        })
    }
}

impl Inode<'_> {
    /// Returns the sizes of the inode and of the data after it.
    pub(super) fn size(&self) -> InodeSize {
        InodeSize {
            inode: own_len(self.is_compact) as u64,
            fixed: self.bytes.len() as u64,
            tail: self.tail.len() as u64,
        }
    }

    /// Writes the inode and what follows it.
    pub(super) fn write(&self, out: &mut ImageOut) -> Result<()> {
        out.write(&self.bytes)?;
        out.write(&self.tail)
    }
}

/// Describes content whose first `len` bytes are in a row of blocks.
fn flat(start: u64, len: usize, tail: Cow<'_, [u8]>) -> Content<'_> {
    Content {
        size: (len + tail.len()) as u64,
        body: Body::Flat(start),
        tail,
    }
}

/// Returns the length of the inline tail of content of the given length in consecutive blocks.
pub(crate) fn tail_of(size: u64, block: BlockSize) -> u64 {
    match size % block.bytes() {
        tail if tail <= block.inline_max() => tail,
        _ => 0,
    }
}

/// Splits the inline tail off content in a row of blocks.
fn split_tail(content: &[u8], block: BlockSize) -> (&[u8], &[u8]) {
    content.split_at(content.len() - tail_of(content.len() as u64, block) as usize)
}

/// Returns the length of an inode without what follows it.
fn own_len(is_compact: bool) -> usize {
    if is_compact {
        size_of::<InodeCompact>()
    } else {
        size_of::<InodeExtended>()
    }
}

/// Appends the map of content to an inode, and returns its layout and what the inode has in its
/// field for the first block: that, the number of stored blocks, or the chunk format.
fn append_map(content: &Content<'_>, to: &mut Vec<u8>) -> (DataLayout, u64) {
    // what `stat` reports
    let stored = |blocks: u64| blocks.min(u64::from(u32::MAX));
    match &content.body {
        Body::Flat(start) if content.tail.is_empty() => (DataLayout::Plain, *start),
        Body::Flat(start) => (DataLayout::Inline, *start),
        Body::Packed(offset) => {
            to.resize(to.len().next_multiple_of(size_of::<MapHeader>()), 0);
            to.extend_from_slice(&(offset | 1 << 63).to_le_bytes());
            (DataLayout::CompressedFull, 0)
        }
        Body::Extents(extents) => {
            extent_map::write(content.size, extents, to);
            let blocks = extent_map::stored(extents).div_ceil(BLOCK);
            (DataLayout::CompressedFull, stored(blocks))
        }
        Body::Clusters(clusters) => {
            let (layout, map) = clusters.map(to.len() as u64);
            to.extend_from_slice(&map);
            (layout, stored(clusters.blocks()))
        }
        Body::Chunks(chunks) => {
            chunks.write(to);
            (DataLayout::Chunks, chunks.format())
        }
    }
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
