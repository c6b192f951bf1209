//! SELinux labels of a finished tree.
//!
//! Enters a tree and file contexts; leaves the tree with the labels of these, and no others.
//! **Invariant:** a file of several names gets the label of its first name.

use std::collections::{HashMap, HashSet};

use sinterfs_model::{NodeId, Result, Tree, XattrSet, Xattrs};

use super::file_contexts::{FileContexts, NAME};

/// Labels all nodes but those in `kept`, whose labels stay; the root has the path `mount_point`.
pub(super) fn label(
    tree: &mut Tree,
    contexts: &FileContexts,
    mount_point: &[u8],
    kept: &HashSet<NodeId>,
) -> Result<()> {
    // there are few labels, and most nodes have no or the same other attributes
    let mut known: HashMap<(XattrSet, Option<&[u8]>), XattrSet> = HashMap::new();
    tree.change_xattrs(|tree, id, sets| {
        let node = tree.node(id);
        let copied = |keeps: &dyn Fn(&[u8]) -> bool| -> Xattrs {
            let pairs = tree.xattrs().pairs(node.xattrs);
            let pairs = pairs.filter(|(name, _)| keeps(name));
            pairs
                .map(|(name, value)| (name.into(), value.into()))
                .collect()
        };
        if kept.contains(&id) {
            return sets.intern(&mut copied(&|_| true));
        }
        let path = match (mount_point, &*tree.path(id)) {
            ([_, ..], []) => mount_point.to_vec(),
            (below, path) => [below, b"/", path].concat(),
        };
        let label = contexts.label(&path, node.content.kind());
        if let Some(&set) = known.get(&(node.xattrs, label)) {
            return Ok(set);
        }
        let mut pairs = copied(&|name| name != NAME);
        pairs.extend(label.map(|label| (NAME.to_vec(), label.to_vec())));
        let set = sets.intern(&mut pairs)?;
        known.insert((node.xattrs, label), set);
        Ok(set)
    })
}
