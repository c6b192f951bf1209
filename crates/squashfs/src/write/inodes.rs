//! Writes inodes: basic ones if they can represent everything, else extended ones.
//!
//! In: nodes, and the locations of their content and listings. Out: records in a metadata stream.
//! Memory: 8 bytes per node. Format: `docs/formats/squashfs.md`, "Inodes".

#![expect(
    clippy::cast_possible_truncation,
    reason = "targets, names and indexes are bounded by the format before they are written"
)]

use sinterfs_model::{Content, ContentMap, Error, NodeId, Rdev, Result, Tree};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32, U64};

use super::files::ContentBlocks;
use super::ids::Ids;
use super::listing::{Listing, basic_type, block_position};
use super::numbering::Numbering;
use super::stream::{Encoder, MetadataStream};
use super::xattrs::Xattrs;
use crate::layout::inode::{
    Device, DeviceNumber, Directory, ExtendedDirectory, ExtendedFile, FileInode, InodeHeader,
    InodeType, Ipc, Symlink,
};
use crate::layout::{DIRECTORY_SIZE_EXTRA, DirectoryIndex, MetaRef, NO_FRAGMENT, NO_XATTR};

/// The longest target of a symlink that drivers read, in bytes.
const TARGET_MAX: usize = 65_535;

/// The position of each inode in the decoded stream.
#[derive(Debug)]
pub(super) struct Positions(Vec<u64>);

impl Positions {
    /// Returns the position of a node's inode.
    pub(super) fn of(&self, node: NodeId) -> u64 {
        self.0.get(node.index()).copied().unwrap_or(u64::MAX)
    }
}

/// The sources of inodes.
#[derive(Debug, Clone, Copy)]
pub(super) struct InodeSources<'a> {
    pub(super) tree: &'a Tree,
    pub(super) map: &'a ContentMap,
    pub(super) blocks: &'a ContentBlocks,
    pub(super) numbering: &'a Numbering,
    pub(super) xattrs: Option<&'a Xattrs<'a>>,
}

/// The inodes written so far.
#[derive(Debug)]
pub(super) struct InodeTable<'a> {
    sources: InodeSources<'a>,
    pub(super) stream: MetadataStream<'a>,
    pub(super) positions: Positions,
    pub(super) ids: Ids,
    /// The number of times with nanoseconds, which were dropped.
    pub(super) rounded: u64,
    /// The number of times before 1970 or after 2106.
    pub(super) clamped: u64,
    /// The latest time.
    pub(super) latest: u32,
}

impl<'a> InodeTable<'a> {
    /// Starts the inode table.
    pub(super) fn new(sources: InodeSources<'a>, encoder: Encoder<'a>) -> Self {
        Self {
            sources,
            stream: MetadataStream::new(encoder),
            positions: Positions(vec![u64::MAX; sources.tree.nodes().len()]),
            ids: Ids::default(),
            rounded: 0,
            clamped: 0,
            latest: 0,
        }
    }

    /// Returns the reference of an inode; all metadata blocks before it must be encoded.
    pub(super) fn reference(&self, node: NodeId) -> Result<MetaRef> {
        self.stream.resolve(self.positions.of(node))
    }

    /// Writes the inode of anything but a directory.
    pub(super) fn non_directory(&mut self, node: NodeId) -> Result<()> {
        let tree = self.sources.tree;
        let nlink = tree.node(node).links;
        match tree.node(node).content {
            Content::Directory { .. } => {
                Err(Error::invalid("a directory is written with its listing"))
            }
            Content::File { .. } => self.file(node),
            Content::Symlink(target) => {
                let target = tree.bytes(target);
                if target.len() > TARGET_MAX {
                    let what = format!("a symlink's target of {} bytes", target.len());
                    return Err(self.at(node, Error::limit(what)));
                }
                let symlink = Symlink {
                    nlink: U32::new(nlink),
                    size: U32::new(target.len() as u32),
                };
                self.simple(node, &[symlink.as_bytes(), target].concat())
            }
            Content::CharDevice(rdev) | Content::BlockDevice(rdev) => {
                let device = Device {
                    nlink: U32::new(nlink),
                    rdev: self.device_number(node, rdev)?,
                };
                self.simple(node, device.as_bytes())
            }
            Content::Fifo | Content::Socket => {
                let ipc = Ipc {
                    nlink: U32::new(nlink),
                };
                self.simple(node, ipc.as_bytes())
            }
        }
    }

    /// Writes an inode whose extended form only adds the attribute list at its end.
    fn simple(&mut self, node: NodeId, body: &[u8]) -> Result<()> {
        let xattr = self.xattr(node);
        self.header(node, xattr != NO_XATTR)?;
        self.stream.push(body)?;
        if xattr != NO_XATTR {
            self.stream.push(&xattr.to_le_bytes())?;
        }
        Ok(())
    }

    fn file(&mut self, node: NodeId) -> Result<()> {
        let InodeSources {
            tree, map, blocks, ..
        } = self.sources;
        // the record precedes the sizes of blocks, but contains their totals
        let location = blocks
            .locate(map, node, |_| Ok(()))
            .map_err(|e| self.at(node, e))?;
        let nlink = tree.node(node).links;
        let xattr = self.xattr(node);
        let (fragment, offset) = location.fragment.unwrap_or((NO_FRAGMENT, 0));
        let small = (u32::try_from(location.start), u32::try_from(location.size));
        match small {
            (Ok(start), Ok(size)) if nlink == 1 && xattr == NO_XATTR && location.sparse == 0 => {
                self.header(node, false)?;
                let file = FileInode {
                    start: U32::new(start),
                    fragment: U32::new(fragment),
                    fragment_offset: U32::new(offset),
                    size: U32::new(size),
                };
                self.stream.push(file.as_bytes())?;
            }
            _ => {
                self.header(node, true)?;
                let file = ExtendedFile {
                    start: U64::new(location.start),
                    size: U64::new(location.size),
                    sparse: U64::new(location.sparse),
                    nlink: U32::new(nlink),
                    fragment: U32::new(fragment),
                    fragment_offset: U32::new(offset),
                    xattr: U32::new(xattr),
                };
                self.stream.push(file.as_bytes())?;
            }
        }
        blocks.locate(map, node, |word| self.stream.push(word.as_bytes()))?;
        Ok(())
    }

    /// Writes the inode of a directory; the full blocks of `listings`, the stream of its listing,
    /// must be encoded.
    pub(super) fn directory(
        &mut self,
        node: NodeId,
        listing: &Listing,
        listings: &MetadataStream<'_>,
    ) -> Result<()> {
        let InodeSources {
            tree, numbering, ..
        } = self.sources;
        let links = tree.children(node);
        let is_directory = |node| matches!(tree.node(node).content, Content::Directory { .. });
        let below = links.iter().filter(|link| is_directory(link.node)).count();
        let nlink = U32::new(2 + below as u32);
        let parent = U32::new(match node {
            // one more than the largest inode number
            NodeId::ROOT => numbering.count().saturating_add(1),
            node => numbering.number(parent(tree, node)),
        });
        let at = listings.resolve(listing.position)?;
        let (block, offset) = (U32::new(block_position(at.block())?), U16::new(at.offset()));
        let size = listing.len + DIRECTORY_SIZE_EXTRA;
        let xattr = self.xattr(node);
        if let (Ok(size), true, NO_XATTR) = (u16::try_from(size), listing.index.is_empty(), xattr) {
            let directory = Directory {
                block,
                nlink,
                size: U16::new(size),
                offset,
                parent,
            };
            self.header(node, false)?;
            return self.stream.push(directory.as_bytes());
        }
        let directory = ExtendedDirectory {
            nlink,
            size: U32::new(size),
            block,
            parent,
            index_count: U16::new(listing.index.len() as u16),
            offset,
            xattr: U32::new(xattr),
        };
        self.header(node, true)?;
        self.stream.push(directory.as_bytes())?;
        for &(offset, first) in &listing.index {
            let name = links
                .get(first)
                .map_or(&[][..], |link| tree.bytes(link.name));
            let at = listings.resolve(listing.position + u64::from(offset))?;
            let entry = DirectoryIndex {
                offset: U32::new(offset),
                block: U32::new(block_position(at.block())?),
                name_len: U32::new((name.len() as u32).saturating_sub(1)),
            };
            self.stream.push(entry.as_bytes())?;
            self.stream.push(name)?;
        }
        Ok(())
    }

    fn header(&mut self, node: NodeId, extended: bool) -> Result<()> {
        let found = self.sources.tree.node(node);
        let meta = found.meta;
        let modified = meta.times.modified;
        let seconds = u32::try_from(modified.secs.clamp(0, i64::from(u32::MAX))).unwrap_or(0);
        if i64::from(seconds) != modified.secs {
            self.clamped += 1;
        } else if modified.nanos != 0 {
            self.rounded += 1;
        }
        self.latest = self.latest.max(seconds);
        let kind = basic_type(&found.content) + if extended { InodeType::EXTENDED } else { 0 };
        let header = InodeHeader {
            kind: InodeType(U16::new(kind)),
            mode: U16::new(meta.mode & 0o7777),
            uid: self.ids.index(meta.uid)?,
            gid: self.ids.index(meta.gid)?,
            modified: U32::new(seconds),
            number: U32::new(self.sources.numbering.number(node)),
        };
        if let Some(position) = self.positions.0.get_mut(node.index()) {
            *position = self.stream.position();
        }
        self.stream.push(header.as_bytes())
    }

    fn xattr(&self, node: NodeId) -> u32 {
        let set = self.sources.tree.node(node).xattrs;
        self.sources
            .xattrs
            .map_or(NO_XATTR, |xattrs| xattrs.index(set))
    }

    fn device_number(&self, node: NodeId, rdev: Rdev) -> Result<DeviceNumber> {
        let Rdev { major, minor } = rdev;
        DeviceNumber::new(major, minor).ok_or_else(|| {
            let what =
                format!("the device number {major}:{minor} does not fit into 12 and 20 bits");
            self.at(node, Error::limit(what))
        })
    }

    fn at(&self, node: NodeId, error: Error) -> Error {
        error.path(String::from_utf8_lossy(&self.sources.tree.path(node)).into_owned())
    }
}

/// Returns the parent of a directory.
fn parent(tree: &Tree, dir: NodeId) -> NodeId {
    let link = tree.links().get(tree.node(dir).first_link as usize);
    link.map_or(NodeId::ROOT, |link| link.parent)
}
