//! The tree of the largest entries: all entries are summed, and small ones are combined into one
//! rest per directory.
//!
//! **Invariant:** what a node has is what its children have together. While the tree grows, a
//! directory keeps at most `WIDTH` of its children, and none if it is small; in the end `NODES`
//! nodes are left, and as many rests. No node is deeper than `DEPTH`, so that the tree can be
//! walked by recursion.

/// Nodes in the end.
const NODES: usize = 2000;

/// Children of a directory.
const WIDTH: usize = 250;

/// Directories inside each other.
const DEPTH: usize = 60;

/// A directory is small if its share of the image is less than one in this number.
const SMALL: u64 = 20_000;

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageKind {
    /// A directory with all in it.
    Directory,
    /// A file.
    File,
    /// The sum of the other entries of a directory.
    Rest,
    /// Blocks that no file refers to.
    Unused,
    /// Everything that is not content.
    Metadata,
}

/// A part of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UsageNode {
    /// Its name in its directory; of files that are not in a tree the path.
    pub name: Vec<u8>,
    /// The new value as text.
    pub what: UsageKind,
    /// The number of files it stands for.
    pub files: u64,
    /// Their bytes.
    pub size: u64,
    /// Their bytes in the image.
    pub stored: u64,
    /// Its children, largest first; nothing if they are not kept.
    pub children: Vec<UsageNode>,
}

impl UsageNode {
    fn new(name: &[u8], what: UsageKind) -> Self {
        Self {
            name: name.to_vec(),
            what,
            files: 0,
            size: 0,
            stored: 0,
            children: Vec::new(),
        }
    }

    fn count(&mut self, other: &Self) {
        self.files = self.files.saturating_add(other.files);
        self.size = self.size.saturating_add(other.size);
        self.stored = self.stored.saturating_add(other.stored);
    }

    /// Keeps some children, and what the others have in one that is the rest.
    fn keep(&mut self, mut chosen: impl FnMut(&Self) -> bool) {
        let mut rest = Self::new(b"", UsageKind::Rest);
        self.children.retain(|child| {
            let kept = child.what != UsageKind::Rest && chosen(child);
            if !kept {
                rest.count(child);
            }
            kept
        });
        if rest.files > 0 {
            self.children.push(rest);
        }
    }

    /// Keeps no children if they are one rest, which is the directory itself.
    fn settle(&mut self) {
        if self
            .children
            .iter()
            .all(|child| child.what == UsageKind::Rest)
        {
            self.children = Vec::new();
        }
    }

    /// Keeps the largest children.
    fn shorten(&mut self) {
        sort(&mut self.children);
        let mut left = WIDTH;
        self.keep(|_| {
            let kept = left > 0;
            left = left.saturating_sub(1);
            kept
        });
    }

    /// Keeps children with more than `least`, and the given number of children with exactly
    /// `least`.
    fn trim(&mut self, least: u64, equal: &mut usize) {
        self.keep(|child| {
            let kept = child.stored > least || (child.stored == least && *equal > 0);
            if kept && child.stored == least {
                *equal -= 1;
            }
            kept
        });
        self.settle();
        for child in &mut self.children {
            child.trim(least, equal);
        }
    }

    fn weights(&self, all: &mut Vec<u64>) {
        for child in &self.children {
            all.push(child.stored);
            child.weights(all);
        }
    }
}

fn sort(nodes: &mut [UsageNode]) {
    nodes.sort_by(|a, b| (b.stored, b.size, &a.name).cmp(&(a.stored, a.size, &b.name)));
}

/// A tree on the way.
#[derive(Debug)]
pub(super) struct Growing {
    /// The directories from the root to where the walk is.
    open: Vec<UsageNode>,
    small: u64,
    largest: Vec<UsageNode>,
    many: usize,
}

impl Growing {
    /// Starts the tree of an image, given its size in bytes.
    pub(super) fn new(all: u64, many: usize) -> Self {
        Self {
            open: vec![UsageNode::new(b"/", UsageKind::Directory)],
            small: all / SMALL,
            largest: Vec::new(),
            many,
        }
    }

    /// Enters a directory.
    pub(super) fn enter(&mut self, name: &[u8], depth: usize) {
        if depth < DEPTH {
            self.open.push(UsageNode::new(name, UsageKind::Directory));
        }
    }

    /// Leaves a directory.
    pub(super) fn leave(&mut self, depth: usize) {
        if depth >= DEPTH || self.open.len() < 2 {
            return;
        }
        let Some(mut done) = self.open.pop() else {
            return;
        };
        if done.stored < self.small {
            done.children = Vec::new();
        } else {
            done.shorten();
            done.settle();
        }
        if done.files > 0 {
            self.add(done);
        }
    }

    /// Adds a file to the directory that is open.
    pub(super) fn file(&mut self, path: &[u8], name: &[u8], depth: usize, size: u64, stored: u64) {
        let mut node = UsageNode::new(name, UsageKind::File);
        (node.files, node.size, node.stored) = (1, size, stored);
        let mut named = node.clone();
        named.name = path.to_vec();
        self.largest.push(named);
        if self.largest.len() >= 8 * self.many {
            self.first();
        }
        if depth > DEPTH {
            // whose directory is no node
            node.what = UsageKind::Rest;
        }
        self.add(node);
    }

    fn first(&mut self) {
        sort(&mut self.largest);
        self.largest.truncate(self.many);
    }

    fn add(&mut self, node: UsageNode) {
        let Some(dir) = self.open.last_mut() else {
            return;
        };
        dir.count(&node);
        dir.children.push(node);
        if dir.children.len() > 2 * WIDTH {
            dir.shorten();
        }
    }

    /// Ends the tree, with more parts of the image in it, and returns the largest files.
    pub(super) fn finish(mut self, more: &[(UsageKind, u64)]) -> (UsageNode, Vec<UsageNode>) {
        self.first();
        let mut root = self.open.swap_remove(0);
        root.shorten();
        let mut weights = Vec::new();
        root.weights(&mut weights);
        weights.sort_unstable_by(|a, b| b.cmp(a));
        if let Some(&least) = weights.get(NODES) {
            let above = weights.iter().filter(|weight| **weight > least).count();
            root.trim(least, &mut NODES.saturating_sub(above));
        }
        for (what, stored) in more.iter().filter(|(_, stored)| *stored > 0) {
            let mut node = UsageNode::new(b"", *what);
            node.stored = *stored;
            root.stored = root.stored.saturating_add(*stored);
            root.children.push(node);
        }
        (root, self.largest)
    }
}
