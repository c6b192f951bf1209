//! In which order inodes are written, and their numbers.
//!
//! In: a tree. Out: a number for each node, from 1 without gaps, in the order of writing: first
//! everything but directories, then directories, those furthest from the root first. **Invariant:** a
//! directory is written after everything that it names, and only directories of one distance from the
//! root need to know where others are, so that metadata is encoded in few large parts.
//!
//! Memory: 4 bytes for each node and each directory.

use model::{Content, Error, NodeId, Result, Tree};

/// The order of inodes.
#[derive(Debug)]
pub(super) struct Numbering {
    numbers: Vec<u32>,
    /// All directories by their distance from the root, the root first.
    directories: Vec<NodeId>,
    /// Where each distance begins in `directories`, with the end of the last.
    levels: Vec<usize>,
}

impl Numbering {
    /// Numbers the nodes of a tree. `Limit` if there are too many for the format.
    pub(super) fn new(tree: &Tree) -> Result<Self> {
        let nodes = tree.nodes();
        if u32::try_from(nodes.len()).is_err() {
            return Err(Error::limit("more inodes than SquashFS can count"));
        }
        let (directories, levels) = by_distance(tree);
        let mut numbers = vec![0; nodes.len()];
        let mut last = 0;
        let leaves = nodes.iter().zip(&mut numbers);
        for (node, number) in leaves {
            if !matches!(node.content, Content::Directory { .. }) {
                last += 1;
                *number = last;
            }
        }
        let numbering = Self {
            numbers,
            directories,
            levels,
        };
        Ok(numbering.with_directories(last))
    }

    fn with_directories(mut self, mut last: u32) -> Self {
        for level in (0..self.level_count()).rev() {
            for index in self.levels[level]..self.levels[level + 1] {
                last += 1;
                self.numbers[self.directories[index].index()] = last;
            }
        }
        self
    }

    /// Tells the number of a node.
    pub(super) fn number(&self, node: NodeId) -> u32 {
        self.numbers[node.index()]
    }

    /// Tells how many inodes there are.
    pub(super) fn count(&self) -> u32 {
        self.numbers.len() as u32
    }

    /// Tells how many distances from the root there are.
    pub(super) fn level_count(&self) -> usize {
        self.levels.len() - 1
    }

    /// Tells the directories of one distance from the root, in the order of writing.
    pub(super) fn level(&self, level: usize) -> &[NodeId] {
        &self.directories[self.levels[level]..self.levels[level + 1]]
    }
}

fn by_distance(tree: &Tree) -> (Vec<NodeId>, Vec<usize>) {
    let (mut directories, mut levels) = (vec![NodeId::ROOT], vec![0, 1]);
    loop {
        let (start, end) = (levels[levels.len() - 2], directories.len());
        for index in start..end {
            let children = tree.children(directories[index]).iter();
            let below = children.filter(|link| {
                let content = tree.node(link.node).content;
                matches!(content, Content::Directory { .. })
            });
            directories.extend(below.map(|link| link.node));
        }
        if directories.len() == end {
            return (directories, levels);
        }
        levels.push(directories.len());
    }
}

#[cfg(test)]
mod tests {
    use model::{Meta, TreeBuilder};

    use super::*;

    #[test]
    fn directories_follow_what_they_name() {
        let mut builder = TreeBuilder::new(Meta::default());
        let directory = Content::Directory { first: 0, count: 0 };
        let mut at = NodeId::ROOT;
        for depth in 0..4 {
            for name in ["b", "d"] {
                let file = Content::File { size: depth };
                builder
                    .add(at, name.as_bytes(), Meta::default(), file)
                    .unwrap();
            }
            at = builder.add(at, b"c", Meta::default(), directory).unwrap();
        }
        let tree = builder.finish().unwrap();
        let numbering = Numbering::new(&tree).unwrap();
        let mut seen: Vec<u32> = Vec::new();
        for index in 0..tree.nodes().len() {
            let node = NodeId(index as u32);
            seen.push(numbering.number(node));
            for link in tree.children(node) {
                assert!(numbering.number(link.node) < numbering.number(node));
            }
        }
        seen.sort_unstable();
        assert_eq!(seen, (1..=13).collect::<Vec<u32>>());
        assert_eq!(numbering.number(NodeId::ROOT), 13);
        assert_eq!(numbering.level_count(), 5);
        assert_eq!(numbering.level(0), [NodeId::ROOT]);
    }
}
