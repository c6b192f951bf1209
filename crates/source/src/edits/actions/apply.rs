//! Applies actions to a tree, phase by phase.
//!
//! Enters a tree and actions; leaves changed attributes, and for names whether they stay.
//! **Invariant:** a file with several names changes if an action applies to one of them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::num::NonZeroU64;

use sinterfs_model::{Content, FileLayout, FileType, NodeId, Result, Tree, Xattrs};

use super::action::{Action, Effect, Reason};
use super::expression::NamedFile;
use crate::edits::xattrs::put;

/// Actions in the order given, and what their tests depend on in addition to the tree.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Actions<'a> {
    pub(in super::super) all: &'a [Action],
    /// The size of the blocks before the tails.
    pub(in super::super) block: NonZeroU64,
}

impl<'a> Actions<'a> {
    fn holds(&self, action: &Action, tree: &Tree, node: NodeId, path: &[u8]) -> bool {
        action.when.holds(NamedFile {
            tree,
            node,
            path,
            block: self.block,
            gone: None,
        })
    }

    fn of_phase(&self, is_of_phase: impl Fn(&Effect) -> bool) -> Vec<&'a Action> {
        let all = self.all.iter();
        all.filter(|action| is_of_phase(&action.effect)).collect()
    }
}

/// Returns whether a name is left out while a source is read.
pub(in super::super) fn excludes(
    actions: Actions<'_>,
    tree: &Tree,
    node: NodeId,
    path: &[u8],
) -> bool {
    let all = actions.all.iter();
    let mut of_phase = all.filter(|one| matches!(one.effect, Effect::Exclude));
    of_phase.any(|action| actions.holds(action, tree, node, path))
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

/// How content is stored, where that is not as for all files.
#[derive(Debug, Clone, Copy, Default)]
pub(in super::super) struct HowStored {
    pub(in super::super) is_uncompressed: bool,
    pub(in super::super) layout: FileLayout,
}

/// Files by how their content is stored.
pub(in super::super) type StoredApart = HashMap<NodeId, HowStored>;

/// Changes owners and permissions; returns the files whose content is stored in a special way.
pub(in super::super) fn change(actions: Actions<'_>, tree: &mut Tree) -> StoredApart {
    let mut apart = StoredApart::new();
    let of_phase = actions.of_phase(|effect| {
        matches!(
            effect,
            Effect::Owner(_)
                | Effect::Group(_)
                | Effect::Both(..)
                | Effect::Chmod(_)
                | Effect::Uncompressed
                | Effect::Layout(_)
        )
    });
    if of_phase.is_empty() {
        return apart;
    }
    let mut names = Vec::new();
    each_name(tree, &mut |node, path| names.push((node, path.to_vec())));
    for (node, path) in names {
        for action in &of_phase {
            if !actions.holds(action, tree, node, &path) {
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
                    apart.entry(node).or_default().is_uncompressed = true;
                }
                Effect::Layout(wanted) => {
                    let layout = &mut apart.entry(node).or_default().layout;
                    layout.fragments = wanted.fragments.or(layout.fragments);
                    layout.large_tails = wanted.large_tails.or(layout.large_tails);
                    layout.align = wanted.align.or(layout.align);
                }
                _ => {}
            }
        }
    }
    apart
}

/// Returns the paths that are taken off the tree that was made: what a directory holds before the
/// directory, so that one may be taken off that holds nothing any more.
pub(in super::super) fn prune(actions: Actions<'_>, tree: &Tree) -> HashSet<Vec<u8>> {
    let mut gone = HashSet::new();
    let of_phase = actions.of_phase(|effect| matches!(effect, Effect::Prune));
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
            block: actions.block,
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
    actions: Actions<'_>,
    tree: &Tree,
    was_empty: &dyn Fn(NodeId) -> bool,
) -> Emptied {
    let mut removed = Emptied::new();
    let of_phase = actions.of_phase(|effect| matches!(effect, Effect::Empty(_)));
    if of_phase.is_empty() {
        return removed;
    }
    let mut directories = Vec::new();
    each_name(tree, &mut |node, path| {
        if matches!(tree.node(node).content, Content::Directory { .. }) && !path.is_empty() {
            directories.push((node, path.to_vec()));
        }
    });
    // the entries of a directory come after it
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
        if applying.any(|action| actions.holds(action, tree, node, &path)) {
            removed.insert(node);
        }
    }
    removed
}

/// Removes and adds extended attributes.
pub(in super::super) fn xattrs(actions: Actions<'_>, tree: &mut Tree) -> Result<()> {
    let of_phase = actions.of_phase(|effect| {
        matches!(
            effect,
            Effect::XattrsExclude(_) | Effect::XattrsInclude(_) | Effect::XattrsAdd(_)
        )
    });
    if of_phase.is_empty() {
        return Ok(());
    }
    // by their places among the actions, so that those of several names are in that order
    let mut applying: HashMap<NodeId, BTreeSet<usize>> = HashMap::new();
    each_name(tree, &mut |node, path| {
        let numbered = of_phase.iter().enumerate();
        let holding = numbered.filter(|(_, action)| actions.holds(action, tree, node, path));
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

#[cfg(test)]
mod tests {
    use sinterfs_model::{Meta, TreeBuilder};

    use super::*;
    use crate::edits::actions::IdsByName;

    fn parsed(texts: &[&str]) -> Vec<Action> {
        let id = |text: &str| text.parse().map_err(|_| format!("no `{text}`"));
        let ids = IdsByName {
            user: &id,
            group: &id,
        };
        let parse = |text: &&str| Action::parse(text, &ids).unwrap();
        texts.iter().map(parse).collect()
    }

    /// A file of two names.
    fn linked_file(size: u64) -> Tree {
        let mut tree = TreeBuilder::new(Meta::default());
        let content = Content::File { size };
        let file = tree.add(NodeId::ROOT, b"a", Meta::default(), content);
        tree.link(NodeId::ROOT, b"z", file.unwrap()).unwrap();
        tree.finish().unwrap()
    }

    #[test]
    fn attributes_change_by_any_name_of_a_file() {
        for (name, other) in [("a", "z"), ("z", "a")] {
            let add = format!("xattrs-add(user.x=1)@name({name})");
            let replace = format!("xattrs-add(user.x=2)@name({other})");
            let mut tree = linked_file(0);
            let all = parsed(&[&add, &replace]);
            let block = NonZeroU64::MIN;
            xattrs(Actions { all: &all, block }, &mut tree).unwrap();
            let set = tree.node(tree.children(NodeId::ROOT)[0].node).xattrs;
            let pairs: Vec<_> = tree.xattrs().pairs(set).collect();
            assert_eq!(pairs, [(&b"user.x"[..], &b"2"[..])], "{name}");
        }
    }

    #[test]
    fn tails_are_behind_blocks_of_the_image() {
        let all = parsed(&["prune@tailsize(10)"]);
        for (block, goes) in [(1 << 12, true), (1 << 13, false), (1, false)] {
            let block = NonZeroU64::new(block).unwrap();
            let gone = prune(Actions { all: &all, block }, &linked_file((1 << 12) + 10));
            assert_eq!(!gone.is_empty(), goes, "{block}");
        }
    }
}
