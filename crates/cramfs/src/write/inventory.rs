//! The inodes of a new image: one for each name, breadth first, without what cannot be stored.
//!
//! In: a tree and the map of its content. Out: `Inventory`, with counts of what is left out.
//!
//! **Invariant:** the entries of a directory are adjacent and sorted by name; every name has 1 to
//! 252 bytes, and every file and symlink is shorter than 16 MiB.

use std::ops::Range;

use sinterfs_model::{Content, ContentMap, MapExtent, NodeId, Tree};

use crate::layout::{FILE_LIMIT, INODE_LEN, NAME_MAX};

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

/// All inodes; the first is the root.
#[derive(Debug, Default)]
pub(super) struct Inventory<'a> {
    pub(super) entries: Vec<InventoryEntry<'a>>,
    /// Files of 16 MiB or more, which are left out.
    pub(super) large_files: u64,
    /// Names of more than 252 bytes, which are left out.
    pub(super) long_names: u64,
}

impl<'a> Inventory<'a> {
    /// Lists all inodes.
    pub(super) fn new(tree: &'a Tree, map: &ContentMap) -> Self {
        let mut inventory = Self::default();
        inventory.entries.push(InventoryEntry {
            node: NodeId::ROOT,
            name: b"",
            entries: 0..0,
        });
        let mut index = 0;
        while let Some(dir) = inventory.entries.get(index).map(|entry| entry.node) {
            let first = inventory.entries.len();
            for link in tree.children(dir) {
                inventory.add(tree, map, link.node, tree.bytes(link.name));
            }
            let end = inventory.entries.len();
            if let Some(dir) = inventory.entries.get_mut(index) {
                dir.entries = first..end;
            }
            index += 1;
        }
        inventory
    }

    fn add(&mut self, tree: &Tree, map: &ContentMap, node: NodeId, name: &'a [u8]) {
        let is_large = match tree.node(node).content {
            Content::File { .. } => size(map.extents(node)) >= FILE_LIMIT,
            _ => false,
        };
        if is_large {
            self.large_files += 1;
        } else if name.len() > NAME_MAX {
            self.long_names += 1;
        } else {
            self.entries.push(InventoryEntry {
                node,
                name,
                entries: 0..0,
            });
        }
    }

    /// Returns the length of the listing of a directory in bytes.
    pub(super) fn listing_len(&self, dir: &InventoryEntry<'_>) -> u64 {
        let entries = self.entries.get(dir.entries.clone()).unwrap_or_default();
        entries.iter().map(|entry| entry.len() as u64).sum()
    }
}

/// Returns the length of content in bytes.
pub(super) fn size(extents: &[MapExtent]) -> u64 {
    let lens = extents.iter().map(|extent| match *extent {
        MapExtent::Data { len, .. } => u64::from(len),
        MapExtent::Hole { len } => len,
    });
    lens.fold(0, u64::saturating_add)
}
