//! The stored fields of an inode, for programs that show the layout.
//!
//! **Invariant:** reads metadata only; content is not decoded.

use sinterfs_model::{FileType, Ino, Result, Time};

use super::erofs::Erofs;
use super::map::{ContentLocation, MappedExtent, PclusterLocation};
use super::node::ErofsInode;
use crate::layout::{DataLayout, entry_number};

/// An inode as it is stored.
#[derive(Debug, Clone)]
pub struct InodeFacts {
    /// Its number.
    pub nid: u64,
    /// The number of its data layout.
    pub layout: u8,
    /// Bytes of the inode itself.
    pub inode_bytes: u64,
    /// Bytes of extended attributes after it.
    pub xattr_bytes: u64,
    /// Bytes of content.
    pub size: u64,
    /// Stored bytes of content: of compressed files the blocks that the inode counts, else all.
    pub stored: u64,
    /// The type.
    pub kind: FileType,
    /// Permissions, set-id bits and the sticky bit.
    pub mode: u16,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The number of names.
    pub links: u32,
    /// The time of modification.
    pub mtime: Time,
    /// The locations of the content, in order.
    pub extents: Vec<StoredExtent>,
}

/// The location of a range of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredExtent {
    /// The start of the range in the content.
    pub start: u64,
    /// Its length.
    pub len: u64,
    /// The offset of the stored bytes in the image; 0 for what has none, as in the packed inode.
    pub at: u64,
    /// Their number.
    pub stored: u64,
    /// The number of the device that holds them; 0 for the image.
    pub device: u16,
}

/// An entry of a directory as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryFacts {
    /// The number of the inode.
    pub nid: u64,
    /// The type as a number: 1 file, 2 directory, 3 and 4 devices, 5 fifo, 6 socket, 7 symlink.
    pub kind: u8,
    /// The name.
    pub name: Vec<u8>,
}

impl Erofs {
    /// Returns what is stored of an inode, with the places of its content if `extents`.
    pub fn inode_facts(&self, ino: Ino, extents: bool) -> Result<InodeFacts> {
        let node = self.node(ino.0)?;
        let is_compressed = matches!(
            node.layout,
            DataLayout::CompressedFull | DataLayout::CompressedCompact
        );
        let mut found = Vec::new();
        if extents {
            self.runs(&node, &mut |mapped| {
                found.push(self.stored_extent(&node, mapped));
            })?;
        }
        let blocks = u64::from(node.start) | u64::from(node.start_high.unwrap_or(0)) << 32;
        let in_blocks = blocks.saturating_mul(self.superblock().block_size());
        let ErofsInode {
            nid,
            kind,
            mode,
            uid,
            gid,
            mtime,
            nlink,
            size,
            xattr_len,
            ..
        } = node;
        Ok(InodeFacts {
            nid,
            layout: node.layout as u8,
            inode_bytes: if node.extended { 64 } else { 32 },
            xattr_bytes: xattr_len,
            size,
            stored: if is_compressed { in_blocks } else { size },
            kind,
            mode,
            uid,
            gid,
            links: nlink,
            mtime,
            extents: found,
        })
    }

    /// Returns where an extent is stored; chunks are whole blocks.
    fn stored_extent(&self, node: &ErofsInode, mapped: &MappedExtent) -> StoredExtent {
        let (start, mut len) = (mapped.start, mapped.len);
        if node.layout == DataLayout::Chunks {
            len = len.next_multiple_of(self.superblock().block_size());
        }
        let (device, at, stored) = match mapped.location {
            ContentLocation::Hole | ContentLocation::Packed(_) => (0, 0, 0),
            ContentLocation::Stored(address) => (address.device, address.at, len),
            ContentLocation::Inline(meta) => (0, meta.at, len),
            ContentLocation::Pcluster(cluster) => match cluster.location {
                PclusterLocation::Device(address) => (address.device, address.at, cluster.stored),
                PclusterLocation::Inline(meta) => (0, meta.at, cluster.stored),
            },
        };
        StoredExtent {
            start,
            len,
            at,
            stored,
            device,
        }
    }

    /// Returns the entries of a directory as they are stored, `.` and `..` among them.
    pub fn entry_facts(&self, dir: Ino) -> Result<Vec<EntryFacts>> {
        let mut entries = Vec::new();
        self.entries(dir.0, &mut |entry| {
            entries.push(EntryFacts {
                nid: entry.nid,
                kind: entry.kind.map_or(0, entry_number),
                name: entry.name.to_vec(),
            });
        })?;
        Ok(entries)
    }
}
