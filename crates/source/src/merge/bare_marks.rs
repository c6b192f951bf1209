//! Directories that a layer has only for the whiteouts in them.
//!
//! In: the tree of a layer. Out: its directories without an entry that hold nothing but marks, and
//! such directories. **Invariant:** they hide names of lower layers and make no directory.

use sinterfs_model::{FileType, NodeId, Tree};

use super::input::MergeInput;

/// Returns for each node whether it is such a directory; nothing if the layer has no marks.
pub(super) fn bare_marks(part: &MergeInput, tree: &Tree) -> Vec<bool> {
    let marks = part.marks;
    if !marks.names && !marks.overlay {
        return Vec::new();
    }
    let is_directory = |node: NodeId| tree.node(node).content.kind() == FileType::Directory;
    // parents before children
    let mut directories = vec![NodeId::ROOT];
    let mut next = 0;
    while let Some(&directory) = directories.get(next) {
        let children = tree.children(directory).iter().map(|link| link.node);
        directories.extend(children.filter(|&node| is_directory(node)));
        next += 1;
    }
    let mut bare = vec![false; tree.nodes().len()];
    for directory in directories.into_iter().rev() {
        if part.source.has_entry(directory) {
            continue;
        }
        let children = tree.children(directory);
        let is_bare = !children.is_empty()
            && children.iter().all(|link| {
                marks.of_name(tree.bytes(link.name)).is_some()
                    || marks.is_whiteout(tree, link.node)
                    || bare.get(link.node.index()).is_some_and(|bare| *bare)
            });
        if let Some(found) = bare.get_mut(directory.index()) {
            *found = is_bare;
        }
    }
    bare
}
