//! The metadata of a tree that an image does not keep.
//!
//! In: the tree and the options. Out: losses with a count above zero.

use sinterfs_model::{Content, Link, Loss, Node, NodeId, Time, Tree};

use super::rock_ridge;
use crate::layout::{NAME_MAX, ShortDate, TARGET_MAX};

/// Why a name is left out: our reader does not have such.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unfit {
    Name,
    Target,
}

/// Returns why a name is left out, with what is below it.
pub(super) fn unfit(tree: &Tree, link: &Link) -> Option<Unfit> {
    if tree.bytes(link.name).len() > NAME_MAX {
        return Some(Unfit::Name);
    }
    match tree.node(link.node).content {
        Content::Symlink(target) if tree.bytes(target).len() > TARGET_MAX => Some(Unfit::Target),
        _ => None,
    }
}

/// Counts what is lost; `of_joliet` are those of the tree of Joliet.
pub(super) fn losses(tree: &Tree, keeps_xattrs: bool, of_joliet: Vec<Loss>) -> Vec<Loss> {
    let count =
        |lost: &dyn Fn(&Node) -> bool| tree.nodes().iter().filter(|node| lost(node)).count() as u64;
    let is_lost = |time: &Time| ShortDate::from_seconds(time.secs).is_none();
    let rounded = count(&|node| {
        let time = &node.meta.times.modified;
        time.nanos != 0 && !is_lost(time)
    });
    let mut losses = Loss::happened(left_out(tree, keeps_xattrs).into_iter().chain(of_joliet));
    losses.extend(Loss::counted([(
        "times of modification before 1900 or after 2155 (the nearest is stored)",
        count(&|node| is_lost(&node.meta.times.modified)),
    )]));
    losses.extend(Loss::precision("fractions of a second", rounded, None));
    losses
}

/// Names the entries that are left out, wholly or in part.
fn left_out(tree: &Tree, keeps_xattrs: bool) -> [Loss; 4] {
    let mut names = Loss::entries(
        "names longer than 255 bytes (left out, with everything below \
                                   them)",
    );
    let mut targets = Loss::entries("symlinks with targets above 64 KiB (left out)");
    for link in tree.links() {
        match unfit(tree, link) {
            Some(Unfit::Name) => names.add(|| tree.link_path(link)),
            Some(Unfit::Target) => targets.add(|| tree.link_path(link)),
            None => {}
        }
    }
    let mut large =
        Loss::entries("inodes with more than 48 KiB of extended attributes (none is stored)");
    let mut attributes =
        Loss::entries("extended attributes whose names are empty or have more than 255 bytes");
    for (node, id) in tree.nodes().iter().zip(0..) {
        let pairs = tree.xattrs().pairs(node.xattrs);
        for (name, _) in pairs.filter(|(name, _)| keeps_xattrs && !rock_ridge::is_attribute(name)) {
            attributes.add(|| tree.attribute_path(NodeId(id), name));
        }
        let has_some = keeps_xattrs && !node.xattrs.is_none();
        if has_some && rock_ridge::xattrs(tree, node).is_none() {
            large.add(|| tree.path(NodeId(id)));
        }
    }
    [names, targets, large, attributes]
}
