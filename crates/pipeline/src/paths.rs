//! The regular files of a tree in path order, and the keys that orders compare.
//!
//! **Invariant:** every regular file occurs once, at its first link.

use sinterfs_model::{Content, FileType, NodeId, Tree};

/// Returns the regular files in the order of a depth-first walk with names in bytewise order.
pub(crate) fn files(tree: &Tree) -> Vec<NodeId> {
    let mut files = Vec::new();
    let mut open = vec![children(tree, NodeId::ROOT)];
    while let Some(links) = open.last_mut() {
        let Some(index) = links.next() else {
            open.pop();
            continue;
        };
        let link = tree.links()[index];
        let node = tree.node(link.node);
        match node.content.kind() {
            FileType::Directory => open.push(children(tree, link.node)),
            FileType::File if node.first_link as usize == index => files.push(link.node),
            _ => {}
        }
    }
    files
}

fn children(tree: &Tree, dir: NodeId) -> std::ops::Range<usize> {
    match tree.node(dir).content {
        Content::Directory { first, count } => first as usize..first as usize + count as usize,
        _ => 0..0,
    }
}

/// Returns a node's first name; empty for the root.
pub(crate) fn name(tree: &Tree, node: NodeId) -> &[u8] {
    if node == NodeId::ROOT {
        return &[];
    }
    tree.bytes(tree.links()[tree.node(node).first_link as usize].name)
}

/// Returns what follows the last dot of a name; empty if there is no dot or it comes first.
pub(crate) fn extension(name: &[u8]) -> &[u8] {
    match name.iter().rposition(|&byte| byte == b'.') {
        Some(dot) if dot > 0 => &name[dot + 1..],
        _ => &[],
    }
}

/// Returns the directory of a node's first name; the root is its own parent.
pub(crate) fn parent(tree: &Tree, node: NodeId) -> NodeId {
    if node == NodeId::ROOT {
        return node;
    }
    tree.links()[tree.node(node).first_link as usize].parent
}

/// Returns the size of a regular file; zero for other nodes.
pub(crate) fn size(tree: &Tree, node: NodeId) -> u64 {
    match tree.node(node).content {
        Content::File { size } => size,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinterfs_model::{Meta, TreeBuilder};

    #[test]
    fn files_are_in_depth_first_order() {
        let mut builder = TreeBuilder::new(Meta::default());
        let dir = Content::Directory { first: 0, count: 0 };
        let file = Content::File { size: 1 };
        let b = builder
            .add(NodeId::ROOT, b"b", Meta::default(), dir)
            .unwrap();
        let shared = builder.add(b, b"x", Meta::default(), file).unwrap();
        builder.add(b, b"y.tar.gz", Meta::default(), file).unwrap();
        builder
            .add(NodeId::ROOT, b"a", Meta::default(), file)
            .unwrap();
        builder
            .add(NodeId::ROOT, b"c", Meta::default(), Content::Fifo)
            .unwrap();
        builder.link(NodeId::ROOT, b"d", shared).unwrap();
        let tree = builder.finish().unwrap();
        let paths: Vec<_> = files(&tree)
            .into_iter()
            .map(|node| tree.path(node))
            .collect();
        assert_eq!(paths, [&b"a"[..], b"b/y.tar.gz", b"d"]);
        let y = files(&tree)[1];
        assert_eq!(name(&tree, y), b"y.tar.gz");
        assert_eq!(extension(name(&tree, y)), b"gz");
        assert_eq!(extension(b".profile"), b"");
        assert_eq!(name(&tree, parent(&tree, y)), b"b");
    }
}
