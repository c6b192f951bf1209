//! Applies actions to a tree, phase by phase.
//!
//! Enters a tree and actions; leaves changed attributes, and for names whether they stay.
//! **Invariant:** a file with several names changes if an action applies to one of them.

use std::collections::{BTreeSet, HashMap, HashSet};

use sinterfs_model::{Content, FileType, NodeId, Result, Tree, Xattrs};

use super::action::{Action, Effect, Reason};
use super::expression::NamedFile;
use crate::source::edits::xattrs::put;

impl Action {
    fn holds(&self, tree: &Tree, node: NodeId, path: &[u8]) -> bool {
        self.when.holds(NamedFile {
            tree,
            node,
            path,
            gone: None,
        })
    }
}

/// Returns whether a name is left out while a source is read.
pub(in super::super) fn excludes(
    actions: &[Action],
    tree: &Tree,
    node: NodeId,
    path: &[u8],
) -> bool {
    let mut of_phase = actions
        .iter()
        .filter(|one| matches!(one.effect, Effect::Exclude));
    of_phase.any(|action| action.holds(tree, node, path))
}

/// Visits all names of a tree, directories before what they hold.
fn each_name(tree: &Tree, visit: &mut dyn FnMut(NodeId, &[u8])) {
    let mut open = vec![(NodeId::ROOT, Vec::new())];
    while let Some((node, path)) = open.pop() {
        visit(node, &path);
        for link in tree.children(node).iter().rev() {
            let mut below: Vec<u8> = path.clone();
            if !below.is_empty() {
                below.push(b'/');
            }
            below.extend_from_slice(tree.bytes(link.name));
            open.push((link.node, below));
        }
    }
}

/// Changes owners and permissions; returns the files whose content is stored uncompressed.
pub(in super::super) fn change(actions: &[Action], tree: &mut Tree) -> HashSet<NodeId> {
    let mut uncompressed = HashSet::new();
    let is_of_phase = |action: &&Action| {
        matches!(
            action.effect,
            Effect::Owner(_)
                | Effect::Group(_)
                | Effect::Both(..)
                | Effect::Chmod(_)
                | Effect::Uncompressed
        )
    };
    let of_phase: Vec<&Action> = actions.iter().filter(is_of_phase).collect();
    if of_phase.is_empty() {
        return uncompressed;
    }
    let mut names = Vec::new();
    each_name(tree, &mut |node, path| names.push((node, path.to_vec())));
    for (node, path) in names {
        for action in &of_phase {
            if !action.holds(tree, node, &path) {
                continue;
            }
            let kind = tree.node(node).content.kind();
            let Some(entry) = tree.nodes_mut().get_mut(node.index()) else {
                continue;
            };
            match &action.effect {
                Effect::Owner(uid) => entry.meta.uid = *uid,
                Effect::Group(gid) => entry.meta.gid = *gid,
                Effect::Both(uid, gid) => (entry.meta.uid, entry.meta.gid) = (*uid, *gid),
                Effect::Chmod(chmod) if kind != FileType::Symlink => {
                    entry.meta.mode = chmod.apply(entry.meta.mode, kind == FileType::Directory);
                }
                Effect::Uncompressed => {
                    uncompressed.insert(node);
                }
                _ => {}
            }
        }
    }
    uncompressed
}

/// Returns the paths that are taken off the tree that was made: what a directory holds before the
/// directory, so that one may be taken off that holds nothing any more.
pub(in super::super) fn prune(actions: &[Action], tree: &Tree) -> HashSet<Vec<u8>> {
    let mut gone = HashSet::new();
    let prunes = |action: &&Action| matches!(action.effect, Effect::Prune);
    let of_phase: Vec<&Action> = actions.iter().filter(prunes).collect();
    if of_phase.is_empty() {
        return gone;
    }
    let mut names = Vec::new();
    each_name(tree, &mut |node, path| names.push((node, path.to_vec())));
    for (node, path) in names.into_iter().rev() {
        let file = NamedFile {
            tree,
            node,
            path: &path,
            gone: Some(&gone),
        };
        let is_root = path.is_empty();
        if !is_root && of_phase.iter().any(|action| action.when.holds(file)) {
            gone.insert(path);
        }
    }
    gone
}

/// The directories that are removed since nothing is in them.
pub(in super::super) type Emptied = HashSet<NodeId>;

/// Returns the directories that are empty and removed, and those that become empty by that;
/// `was_empty` says so of the source.
pub(in super::super) fn empty(
    actions: &[Action],
    tree: &Tree,
    was_empty: &dyn Fn(NodeId) -> bool,
) -> Emptied {
    let mut removed = Emptied::new();
    let of_phase = |action: &&Action| matches!(action.effect, Effect::Empty(_));
    let of_phase: Vec<&Action> = actions.iter().filter(of_phase).collect();
    if of_phase.is_empty() {
        return removed;
    }
    let mut directories = Vec::new();
    each_name(tree, &mut |node, path| {
        if matches!(tree.node(node).content, Content::Directory { .. }) && !path.is_empty() {
            directories.push((node, path.to_vec()));
        }
    });
    // what a directory holds comes behind it
    for (node, path) in directories.into_iter().rev() {
        let children = tree.children(node);
        if children.iter().any(|link| !removed.contains(&link.node)) {
            continue;
        }
        let reason = if was_empty(node) {
            Reason::Source
        } else {
            Reason::Excluded
        };
        let applies = |action: &&&Action| match action.effect {
            Effect::Empty(wanted) => wanted == Reason::All || wanted == reason,
            _ => false,
        };
        let mut applying = of_phase.iter().filter(applies);
        if applying.any(|action| action.holds(tree, node, &path)) {
            removed.insert(node);
        }
    }
    removed
}

/// Removes and adds extended attributes.
pub(in super::super) fn xattrs(actions: &[Action], tree: &mut Tree) -> Result<()> {
    let is_of_phase = |action: &&Action| {
        matches!(
            action.effect,
            Effect::XattrsExclude(_) | Effect::XattrsInclude(_) | Effect::XattrsAdd(_)
        )
    };
    let of_phase: Vec<&Action> = actions.iter().filter(is_of_phase).collect();
    if of_phase.is_empty() {
        return Ok(());
    }
    // by their places among the actions, so that those of several names are in that order
    let mut applying: HashMap<NodeId, BTreeSet<usize>> = HashMap::new();
    each_name(tree, &mut |node, path| {
        let numbered = of_phase.iter().enumerate();
        let holding = numbered.filter(|(_, action)| action.holds(tree, node, path));
        for (index, _) in holding {
            applying.entry(node).or_default().insert(index);
        }
    });
    tree.change_xattrs(|tree, node, sets| {
        let indices = applying.get(&node).into_iter().flatten();
        let actions = indices.filter_map(|&index| of_phase.get(index));
        let effects: Vec<&Effect> = actions.map(|action| &action.effect).collect();
        let includes = |effect: &&&Effect| matches!(effect, Effect::XattrsInclude(_));
        let has_includes = effects.iter().any(|effect| includes(&effect));
        let stays = |name: &[u8]| {
            let mut matching = effects.iter().filter(|effect| match effect {
                Effect::XattrsExclude(regex) | Effect::XattrsInclude(regex) => regex.is_match(name),
                _ => false,
            });
            let excluded = matching
                .clone()
                .any(|one| matches!(one, Effect::XattrsExclude(_)));
            let included = matching.any(|one| matches!(one, Effect::XattrsInclude(_)));
            !excluded && (included || !has_includes)
        };
        let pairs = tree.xattrs().pairs(tree.node(node).xattrs);
        let kept = pairs.filter(|(name, _)| stays(name));
        let mut all: Xattrs = kept
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let added = effects.into_iter().filter_map(|effect| match effect {
            Effect::XattrsAdd(added) => Some(added),
            _ => None,
        });
        put(&mut all, tree.node(node).content.kind(), added);
        sets.intern(&mut all)
    })
}
