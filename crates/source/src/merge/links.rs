//! Hard links of layers to files of lower layers.
//!
//! In: links and the files they lead to. Out: the file that each link is one more name of.
//! **Invariant:** a link without a file is not part of the common tree.

use std::collections::{HashMap, HashSet};

use sinterfs_model::NodeId;

/// A node of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Origin {
    pub(super) part: u32,
    pub(super) node: NodeId,
}

/// The links of all layers.
#[derive(Debug, Default)]
pub(super) struct LinksBelow {
    /// The file of each link; `None` if there is none.
    pub(super) files: HashMap<Origin, Option<Origin>>,
    /// Files that links lead to.
    pub(super) targets: HashSet<Origin>,
}

impl LinksBelow {
    /// Returns the file that a node is a link to, or the node if it is no such link.
    pub(super) fn follow(&self, node: Origin) -> Option<Origin> {
        match self.files.get(&node) {
            Some(file) => *file,
            None => Some(node),
        }
    }

    /// Returns whether links lead to a file.
    pub(super) fn is_target(&self, node: Origin) -> bool {
        self.targets.contains(&node)
    }
}

/// Returns the node of a name in a directory.
pub(crate) fn child(tree: &sinterfs_model::Tree, dir: NodeId, name: &[u8]) -> Option<NodeId> {
    let children = tree.children(dir);
    let found = children.binary_search_by(|link| tree.bytes(link.name).cmp(name));
    children.get(found.ok()?).map(|link| link.node)
}
