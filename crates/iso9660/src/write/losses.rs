//! What an image does not keep of a tree, counted.
//!
//! In: the tree and the options. Out: losses, without those of count zero.

use sinterfs_model::{Loss, Node, Time, Tree};

use super::rock_ridge;
use crate::layout::ShortDate;

/// Counts what is lost.
pub(super) fn losses(tree: &Tree, keeps_xattrs: bool) -> Vec<Loss> {
    let count =
        |lost: &dyn Fn(&Node) -> bool| tree.nodes().iter().filter(|node| lost(node)).count() as u64;
    let is_lost = |time: &Time| ShortDate::from_seconds(time.secs).is_none();
    let rounded = count(&|node| {
        let time = &node.meta.times.modified;
        time.nanos != 0 && !is_lost(time)
    });
    let mut losses = Loss::counted([
        (
            "times of modification before 1900 or after 2155 (the nearest is stored)",
            count(&|node| is_lost(&node.meta.times.modified)),
        ),
        (
            "inodes with more than 48 KiB of extended attributes (none is stored)",
            count(&|node| {
                keeps_xattrs && !node.xattrs.is_none() && rock_ridge::xattrs(tree, node).is_none()
            }),
        ),
    ]);
    losses.extend(Loss::precision("fractions of a second", rounded, None));
    losses
}
