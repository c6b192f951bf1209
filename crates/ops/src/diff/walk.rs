//! The paths of two trees, walked together.
//!
//! In: two trees. Out: the paths that both have, with both nodes, and those that only one has.
//! **Invariant:** every path of either tree is in one of the lists, once; a path is made when it is
//! asked for, so that memory does not grow with the depth of trees.

use std::cmp::Ordering;

use sinterfs_model::{Link, NameRef, NodeId, Tree};

/// A path that both trees have.
pub(super) struct Pair {
    /// The index of the pair of its directory, and the name, which is in the old tree; `None` for
    /// the root.
    above: Option<(usize, NameRef)>,
    pub(super) nodes: (NodeId, NodeId),
}

/// A path that one tree has.
pub(super) struct Lone {
    above: Above,
    name: NameRef,
    pub(super) node: NodeId,
    /// Whether it was renamed.
    pub(super) is_renamed: bool,
}

/// The directory of a path that one tree has.
#[derive(Clone, Copy)]
enum Above {
    /// Both trees have it.
    Pair(usize),
    /// It is in the same list.
    Lone(usize),
}

/// All paths.
pub(super) struct PairedWalk<'t> {
    old: &'t Tree,
    new: &'t Tree,
    pub(super) pairs: Vec<Pair>,
    pub(super) removed: Vec<Lone>,
    pub(super) added: Vec<Lone>,
}

impl<'t> PairedWalk<'t> {
    /// Walks two trees. Paths in both trees are matched before their turn; only directories have
    /// entries.
    pub(super) fn of(old: &'t Tree, new: &'t Tree) -> Self {
        let root = Pair {
            above: None,
            nodes: (NodeId::ROOT, NodeId::ROOT),
        };
        let mut walk = Self {
            old,
            new,
            pairs: vec![root],
            removed: Vec::new(),
            added: Vec::new(),
        };
        let mut next = 0;
        while let Some(Pair { nodes, .. }) = walk.pairs.get(next) {
            walk.entries(next, *nodes);
            next += 1;
        }
        walk
    }

    /// Merges the entries of a path by name.
    fn entries(&mut self, at: usize, nodes: (NodeId, NodeId)) {
        let (old, new) = (self.old, self.new);
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
                    above: Some((at, a.name)),
                    nodes: (a.node, b.node),
                }),
                (Some(a), None) => alone(old, Above::Pair(at), a, &mut self.removed),
                (None, Some(b)) => alone(new, Above::Pair(at), b, &mut self.added),
                (None, None) => {}
            }
        }
    }

    /// Returns the path of a pair, by its index.
    pub(super) fn path(&self, index: usize) -> Vec<u8> {
        joined(self.names(index, Vec::new()))
    }

    /// Returns the path of what only the old tree has, by its index.
    pub(super) fn removed_path(&self, index: usize) -> Vec<u8> {
        self.lone_path(self.old, &self.removed, index)
    }

    /// Returns the path of what only the new tree has, by its index.
    pub(super) fn added_path(&self, index: usize) -> Vec<u8> {
        self.lone_path(self.new, &self.added, index)
    }

    /// Returns the last name of what only the old tree has, by its index.
    pub(super) fn removed_name(&self, index: usize) -> &'t [u8] {
        self.old.bytes(self.removed[index].name)
    }

    /// Returns the last name of what only the new tree has, by its index.
    pub(super) fn added_name(&self, index: usize) -> &'t [u8] {
        self.new.bytes(self.added[index].name)
    }

    fn lone_path(&self, tree: &'t Tree, list: &[Lone], index: usize) -> Vec<u8> {
        let (mut names, mut above) = (Vec::new(), Above::Lone(index));
        loop {
            match above {
                Above::Lone(index) => {
                    let lone = &list[index];
                    names.push(tree.bytes(lone.name));
                    above = lone.above;
                }
                Above::Pair(index) => return joined(self.names(index, names)),
            }
        }
    }

    /// Adds the names from a pair up to the root.
    fn names(&self, mut index: usize, mut names: Vec<&'t [u8]>) -> Vec<&'t [u8]> {
        while let Some((above, name)) = self.pairs[index].above {
            names.push(self.old.bytes(name));
            index = above;
        }
        names
    }
}

/// Notes a path of one tree, and all below it.
fn alone(tree: &Tree, above: Above, link: &Link, into: &mut Vec<Lone>) {
    let lone = |above, link: &Link| Lone {
        above,
        name: link.name,
        node: link.node,
        is_renamed: false,
    };
    let mut next = into.len();
    into.push(lone(above, link));
    while let Some(Lone { node, .. }) = into.get(next) {
        let children = tree.children(*node).iter();
        into.extend(children.map(|link| lone(Above::Lone(next), link)));
        next += 1;
    }
}

/// Joins names, the last one first.
fn joined(mut names: Vec<&[u8]>) -> Vec<u8> {
    names.reverse();
    names.join(&b'/')
}
