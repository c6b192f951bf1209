//! The link of a tree that a path names.
//!
//! In: a tree and a path, as lists of files have it. Out: the index of the link.

use sinterfs_model::{Content, NodeId, Tree};

/// Returns the index of the link that a path names; `Some(None)` is the root. Empty names and `.`
/// are ignored.
pub(crate) fn link_of_path(tree: &Tree, path: &[u8]) -> Option<Option<usize>> {
    let (mut dir, mut found) = (NodeId::ROOT, None);
    let names = path.split(|&byte| byte == b'/');
    for name in names.filter(|name| !matches!(name, [] | [b'.'])) {
        let Content::Directory { first, .. } = tree.node(dir).content else {
            return None;
        };
        let links = tree.children(dir);
        let index = links
            .binary_search_by(|link| tree.bytes(link.name).cmp(name))
            .ok()?;
        found = Some(first as usize + index);
        dir = links[index].node;
    }
    Some(found)
}
