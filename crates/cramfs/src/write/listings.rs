//! The listings of directories.
//!
//! In: the inodes, and the offsets of their content. Out: encoded inodes with their names.
//!
//! **Invariant:** listings are adjacent, in the order of the inodes; the root's is first.

use sinterfs_model::{Content, ContentMap, Error, FileType, Rdev, Result, Tree};

use super::contents::{PlacedContents, too_large};
use super::inventory::{Inventory, InventoryEntry, size};
use crate::layout::{ByteOrder, FILE_LIMIT, InodeFields, OFFSET_LIMIT};

/// The offsets of all listings.
#[derive(Debug)]
pub(super) struct ListingOffsets {
    /// Of each inode; zero for what has no listing.
    offsets: Vec<u64>,
    /// The offset after the last listing.
    pub(super) end: u64,
}

impl ListingOffsets {
    /// Places all listings from an offset on.
    pub(super) fn new(inventory: &Inventory<'_>, start: u64) -> Result<Self> {
        let (mut offsets, mut end) = (Vec::new(), start);
        for entry in &inventory.entries {
            let len = inventory.listing_len(entry);
            if len >= FILE_LIMIT {
                let name = String::from_utf8_lossy(entry.name);
                let what = format!("the directory {name:?} has a listing of 16 MiB or more");
                return Err(Error::limit(what));
            }
            if end >= OFFSET_LIMIT {
                return Err(too_large());
            }
            offsets.push(if len == 0 { 0 } else { end });
            end += len;
        }
        Ok(Self { offsets, end })
    }
}

/// The input for inodes.
#[derive(Debug)]
pub(super) struct Listings<'a> {
    pub(super) tree: &'a Tree,
    pub(super) map: &'a ContentMap,
    pub(super) inventory: &'a Inventory<'a>,
    pub(super) offsets: &'a ListingOffsets,
    pub(super) contents: &'a PlacedContents,
}

impl Listings<'_> {
    /// Encodes all listings.
    pub(super) fn encode(&self, order: ByteOrder) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (index, entry) in self.inventory.entries.iter().enumerate().skip(1) {
            bytes.extend(self.fields(index, entry).encode(order));
            bytes.extend(entry.name);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    /// Returns the inode of the root.
    pub(super) fn root(&self) -> InodeFields {
        let root = self.inventory.entries.first();
        root.map_or_else(InodeFields::default, |root| self.fields(0, root))
    }

    fn fields(&self, index: usize, entry: &InventoryEntry<'_>) -> InodeFields {
        let node = self.tree.node(entry.node);
        let (size, offset) = match node.content {
            Content::Directory { .. } => {
                let offset = self.offsets.offsets.get(index).copied();
                (self.inventory.listing_len(entry), offset.unwrap_or(0))
            }
            Content::File { .. } => {
                let size = size(self.map.extents(entry.node));
                (size, self.contents.offset(self.map, entry.node))
            }
            Content::Symlink(target) => {
                let size = self.tree.bytes(target).len() as u64;
                (size, self.contents.offset(self.map, entry.node))
            }
            Content::CharDevice(number) | Content::BlockDevice(number) => (device(number), 0),
            Content::Fifo | Content::Socket => (0, 0),
        };
        let kind: FileType = node.content.kind();
        let [uid_0, uid_1, ..] = node.meta.uid.to_le_bytes();
        let [gid, ..] = node.meta.gid.to_le_bytes();
        // a truncated number would belong to another user or group, whose permissions nobody should
        // get
        let mut lost = 0;
        if node.meta.uid > u16::MAX.into() {
            lost |= 0o4000;
        }
        if node.meta.gid > u8::MAX.into() {
            lost |= 0o2000;
        }
        let mode = kind.bits() | u32::from(node.meta.mode & 0o7777 & !lost);
        InodeFields {
            mode: u16::try_from(mode).unwrap_or(0),
            uid: u16::from_le_bytes([uid_0, uid_1]),
            size: u32::try_from(size).unwrap_or(0),
            gid,
            name_words: u8::try_from(entry.name.len().div_ceil(4)).unwrap_or(0),
            offset_words: u32::try_from(offset / 4).unwrap_or(0),
        }
    }
}

/// Returns the number of a device as Linux reads it: eight bits each.
fn device(number: Rdev) -> u64 {
    let [minor, ..] = number.minor.to_le_bytes();
    let [major, ..] = number.major.to_le_bytes();
    u64::from(u16::from_le_bytes([minor, major]))
}
