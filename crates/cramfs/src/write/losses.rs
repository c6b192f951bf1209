//! The metadata of a tree that a CRAMFS image does not keep, counted.
//!
//! In: the tree and the inodes that are stored. Out: losses with a count above zero.

use std::collections::HashSet;

use sinterfs_model::{Loss, Node, Tree};

use super::inventory::Inventory;

/// Counts what is lost.
pub(super) fn losses(tree: &Tree, inventory: &Inventory<'_>) -> Vec<Loss> {
    let stored: HashSet<_> = inventory.entries.iter().map(|entry| entry.node).collect();
    let nodes = || stored.iter().map(|node| tree.node(*node));
    let count = |lost: &dyn Fn(&Node) -> bool| nodes().filter(|node| lost(node)).count() as u64;
    let mut losses = Loss::happened(inventory.left_out.iter().cloned());
    losses.extend(Loss::counted([
        (
            "hard links (separate inodes with the same content)",
            inventory.entries.len() as u64 - stored.len() as u64,
        ),
        (
            "user IDs above 65535 (their low 16 bits are stored, and no set-user-ID bit)",
            count(&|node| node.meta.uid > u16::MAX.into()),
        ),
        (
            "group IDs above 255 (their low 8 bits are stored, and no set-group-ID bit)",
            count(&|node| node.meta.gid > u8::MAX.into()),
        ),
        (
            "inodes with extended attributes",
            count(&|node| !node.xattrs.is_none()),
        ),
        (
            "times of modification",
            count(&|node| node.meta.times.modified != sinterfs_model::Time::default()),
        ),
    ]));
    losses
}
