//! What a WIM image does not keep of a tree, counted.
//!
//! In: the tree. Out: losses, without those of count zero.

use sinterfs_model::{Content, Loss, NodeId, Rdev, Tree};

use super::entries::{UNIT_NANOS, fits, units};

/// Counts what is lost.
pub(super) fn losses(tree: &Tree, left_out: u64) -> Vec<Loss> {
    let nodes = || tree.nodes().iter();
    let links =
        nodes().filter(|node| node.links > 1 && matches!(node.content, Content::Symlink(_)));
    let unfit = nodes().map(|node| {
        let pairs = tree.xattrs().pairs(node.xattrs);
        pairs.filter(|(name, value)| !fits(name, value)).count() as u64
    });
    let devices = nodes().filter(|node| match node.content {
        Content::CharDevice(rdev) | Content::BlockDevice(rdev) => is_large(rdev),
        _ => false,
    });
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
    let mut losses = Loss::counted([
        (
            "names that are not UTF-8 (left out, with what is below)",
            left_out,
        ),
        (
            "hard links of symlinks (separate inodes with the same target)",
            links.map(|node| u64::from(node.links) - 1).sum(),
        ),
        (
            "extended attributes with values above 65535 bytes or names above 255",
            unfit.sum(),
        ),
        (
            "devices with numbers above 32 bits (stored as 0)",
            devices.count() as u64,
        ),
        ("times before 1601", early.count() as u64),
    ]);
    let finer = finer.count() as u64;
    losses.extend(Loss::precision("fractions of 100 nanoseconds", finer, None));
    losses
}

fn is_large(rdev: Rdev) -> bool {
    u32::try_from(rdev.to_dev_t()).is_err()
}
