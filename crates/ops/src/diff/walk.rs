//! The paths of two trees, walked together.
//!
//! In: two trees. Out: the paths that both have, with both nodes, and those that only one has.
//! **Invariant:** every path of either tree is in one of the lists, once.

use std::cmp::Ordering;

use sinterfs_model::{Link, NodeId, Tree};

/// A path that both trees have.
pub(super) struct Pair {
    pub(super) path: Vec<u8>,
    pub(super) nodes: (NodeId, NodeId),
}

/// A path that one tree has.
pub(super) struct Lone {
    pub(super) path: Vec<u8>,
    pub(super) node: NodeId,
}

/// All paths.
#[derive(Default)]
pub(super) struct PairedWalk {
    pub(super) pairs: Vec<Pair>,
    pub(super) removed: Vec<Lone>,
    pub(super) added: Vec<Lone>,
}

impl PairedWalk {
    /// Walks two trees. Paths in both trees are matched before their turn; only directories have
    /// entries.
    pub(super) fn of(old: &Tree, new: &Tree) -> Self {
        let mut walk = Self::default();
        walk.pairs.push(Pair {
            path: Vec::new(),
            nodes: (NodeId::ROOT, NodeId::ROOT),
        });
        let mut next = 0;
        while let Some(Pair { path, nodes }) = walk.pairs.get(next) {
            let (path, nodes) = (path.clone(), *nodes);
            next += 1;
            walk.entries(old, new, &path, nodes);
        }
        walk
    }

    /// Merges the entries of a path by name.
    fn entries(&mut self, old: &Tree, new: &Tree, path: &[u8], nodes: (NodeId, NodeId)) {
        let mut left = old.children(nodes.0).iter().peekable();
        let mut right = new.children(nodes.1).iter().peekable();
        loop {
            let order = match (left.peek(), right.peek()) {
                (Some(a), Some(b)) => old.bytes(a.name).cmp(new.bytes(b.name)),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => break,
            };
            let a = left.next_if(|_| order.is_le());
            let b = right.next_if(|_| order.is_ge());
            match (a, b) {
                (Some(a), Some(b)) => self.pairs.push(Pair {
                    path: join(path, old.bytes(a.name)),
                    nodes: (a.node, b.node),
                }),
                (Some(a), None) => alone(old, path, a, &mut self.removed),
                (None, Some(b)) => alone(new, path, b, &mut self.added),
                (None, None) => {}
            }
        }
    }
}

/// Notes a path of one tree, and all below it.
fn alone(tree: &Tree, parent: &[u8], link: &Link, into: &mut Vec<Lone>) {
    let mut next = into.len();
    into.push(Lone {
        path: join(parent, tree.bytes(link.name)),
        node: link.node,
    });
    while let Some(Lone { path, node }) = into.get(next) {
        let (path, node) = (path.clone(), *node);
        next += 1;
        into.extend(tree.children(node).iter().map(|link| Lone {
            path: join(&path, tree.bytes(link.name)),
            node: link.node,
        }));
    }
}

fn join(parent: &[u8], name: &[u8]) -> Vec<u8> {
    match parent {
        [] => name.to_vec(),
        _ => [parent, b"/", name].concat(),
    }
}
