//! The metadata of a tree that a WIM image does not keep, counted.
//!
//! In: the tree. Out: losses with a count above zero.

use std::collections::BTreeSet;

use sinterfs_model::{Content, Loss, NodeId, Tree};

use super::entries::{UNIT_NANOS, fits, units};
use super::metadata::{LeftOut, stream_name};

/// Counts what is lost.
pub(super) fn losses(tree: &Tree, left_out: LeftOut, streams: &BTreeSet<Vec<u8>>) -> Vec<Loss> {
    let nodes = || tree.nodes().iter();
    let links =
        nodes().filter(|node| node.links > 1 && matches!(node.content, Content::Symlink(_)));
    let early = nodes().filter(|node| {
        let modified = node.meta.times.modified;
        units(modified) == 0
    });
    let finer = nodes().filter(|node| {
        let modified = node.meta.times.modified;
        modified.nanos % UNIT_NANOS != 0 && units(modified) != 0
    });
    let root = tree.node(NodeId::ROOT);
    debug_assert!(matches!(root.content, Content::Directory { .. }));
    let mut losses = left_out.into_losses();
    losses.extend(unfit_attributes(tree, streams));
    losses.extend(Loss::counted([
        (
            "hard links of symlinks (separate inodes with the same target)",
            links.map(|node| u64::from(node.links) - 1).sum(),
        ),
        ("times before 1601", early.count() as u64),
    ]));
    let finer = finer.count() as u64;
    losses.extend(Loss::precision("fractions of 100 nanoseconds", finer, None));
    losses
}

/// Names the attributes that are too long.
fn unfit_attributes(tree: &Tree, streams: &BTreeSet<Vec<u8>>) -> Vec<Loss> {
    let what = "extended attributes with values above 65535 bytes, names above 255 or none";
    let mut loss = Loss::entries(what);
    for (node, id) in tree.nodes().iter().zip(0..) {
        for (name, value) in tree.xattrs().pairs(node.xattrs) {
            if !fits(name, value) && stream_name(name, streams).is_none() {
                loss.add(|| tree.attribute_path(NodeId(id), name));
            }
        }
    }
    Loss::happened([loss])
}
