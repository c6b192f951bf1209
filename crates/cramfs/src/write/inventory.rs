//! The inodes of a new image: one for each name, breadth first, without what cannot be stored.
//!
//! In: a tree and the map of its content. Out: `Inventory`, with what is left out.
//!
//! **Invariant:** the entries of a directory are adjacent and sorted by name; every name has 1 to
//! 252 bytes, every file is shorter than 16 MiB, every symlink's target has at most 64 KiB, and
//! every number of a device has 8 bits.

use std::ops::Range;

use sinterfs_model::{Content, ContentMap, Link, Loss, MapExtent, NodeId, Rdev, Tree};

use crate::layout::{FILE_LIMIT, INODE_LEN, NAME_MAX, TARGET_MAX};

/// The inode of a name.
#[derive(Debug, Clone)]
pub(super) struct InventoryEntry<'a> {
    pub(super) node: NodeId,
    /// Empty for the root.
    pub(super) name: &'a [u8],
    /// The indexes of the entries of a directory.
    pub(super) entries: Range<usize>,
}

impl InventoryEntry<'_> {
    /// Returns the length of the inode and its padded name in bytes.
    pub(super) fn len(&self) -> usize {
        INODE_LEN + self.name.len().next_multiple_of(4)
    }
}

/// Why a name is left out; also the index of its loss.
#[derive(Debug, Clone, Copy)]
enum Unfit {
    LargeFile,
    LongName,
    LargeDevice,
    LongTarget,
}

/// All inodes; the first is the root.
#[derive(Debug)]
pub(super) struct Inventory<'a> {
    pub(super) entries: Vec<InventoryEntry<'a>>,
    /// The entries that are left out.
    pub(super) left_out: [Loss; 4],
}

impl<'a> Inventory<'a> {
    /// Lists all inodes.
    pub(super) fn new(tree: &'a Tree, map: &ContentMap) -> Self {
        let mut inventory = Self {
            entries: Vec::new(),
            left_out: [
                Loss::entries("files of 16 MiB or more (left out)"),
                Loss::entries("names longer than 252 bytes (left out, with everything below them)"),
                Loss::entries("devices with numbers above 255 (left out)"),
                Loss::entries("symlinks with targets above 64 KiB (left out)"),
            ],
        };
        inventory.entries.push(InventoryEntry {
            node: NodeId::ROOT,
            name: b"",
            entries: 0..0,
        });
        let mut index = 0;
        while let Some(dir) = inventory.entries.get(index).map(|entry| entry.node) {
            let first = inventory.entries.len();
            for link in tree.children(dir) {
                inventory.add(tree, map, link);
            }
            let end = inventory.entries.len();
            if let Some(dir) = inventory.entries.get_mut(index) {
                dir.entries = first..end;
            }
            index += 1;
        }
        inventory
    }

    fn add(&mut self, tree: &'a Tree, map: &ContentMap, link: &Link) {
        if let Some(why) = unfit(tree, map, link) {
            if let Some(loss) = self.left_out.get_mut(why as usize) {
                loss.add(|| tree.link_path(link));
            }
            return;
        }
        self.entries.push(InventoryEntry {
            node: link.node,
            name: tree.bytes(link.name),
            entries: 0..0,
        });
    }

    /// Returns the length of the listing of a directory in bytes.
    pub(super) fn listing_len(&self, dir: &InventoryEntry<'_>) -> u64 {
        let entries = self.entries.get(dir.entries.clone()).unwrap_or_default();
        entries.iter().map(|entry| entry.len() as u64).sum()
    }
}

/// Returns why a name cannot be stored.
fn unfit(tree: &Tree, map: &ContentMap, link: &Link) -> Option<Unfit> {
    let is_large = |number: Rdev| number.major > 255 || number.minor > 255;
    let found = match tree.node(link.node).content {
        Content::File { .. } if size(map.extents(link.node)) >= FILE_LIMIT => Unfit::LargeFile,
        Content::CharDevice(number) | Content::BlockDevice(number) if is_large(number) => {
            Unfit::LargeDevice
        }
        Content::Symlink(target) if tree.bytes(target).len() > TARGET_MAX as usize => {
            Unfit::LongTarget
        }
        _ if tree.bytes(link.name).len() > NAME_MAX => Unfit::LongName,
        _ => return None,
    };
    Some(found)
}

/// Returns the length of content in bytes.
pub(super) fn size(extents: &[MapExtent]) -> u64 {
    let lens = extents.iter().map(|extent| match *extent {
        MapExtent::Data { len, .. } => u64::from(len),
        MapExtent::Hole { len } => len,
    });
    lens.fold(0, u64::saturating_add)
}
