//! The positions of inodes in the metadata.
//!
//! In: the size of each inode, in the order of the image. Out: its offset. **Invariant:** neither
//! an inode's own bytes nor its inline tail cross a block.

use sinterfs_model::{Content, NodeId, Tree};

use super::limits::BlockSize;
use crate::layout::INODE_SLOT;

/// The sizes of an inode and of the data after it, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InodeSize {
    /// The inode itself.
    pub(crate) inode: u64,
    /// The inode, its attributes and the map of its content.
    pub(crate) fixed: u64,
    /// Its inline tail, `INLINE_MAX` at most.
    pub(crate) tail: u64,
}

/// The location of all metadata, in the order of the image; values other than inode numbers are in
/// blocks.
#[derive(Debug)]
pub(super) struct MetadataLayout {
    /// The first block of shared attributes.
    pub(super) xattrs: u64,
    /// The first block of directories.
    pub(super) dirs: u64,
    /// The block that inode numbers count from.
    pub(super) inodes: u64,
    /// The end of the image.
    pub(super) end: u64,
    /// The number of the packed inode.
    pub(super) packed: Option<u64>,
    /// Whether some file is in chunks.
    pub(super) chunked: bool,
}

/// The metadata as far as it has been laid out.
#[derive(Debug, Default)]
pub(crate) struct InodeOffsets {
    /// Bytes so far.
    pub(crate) end: u64,
    /// The size of EROFS blocks.
    block: BlockSize,
}

impl InodeOffsets {
    /// Begins metadata in blocks of a size.
    pub(super) fn in_blocks(block: BlockSize) -> Self {
        Self { end: 0, block }
    }

    /// Returns the offset of the next inode.
    pub(crate) fn next(&mut self, size: InodeSize) -> u64 {
        let mut offset = self.end.next_multiple_of(INODE_SLOT);
        let block = self.block.bytes();
        let crosses = |from: u64, len: u64| from % block + len > block;
        while crosses(offset, size.inode) || crosses(offset + size.fixed, size.tail) {
            offset += INODE_SLOT;
        }
        self.end = offset + size.fixed + size.tail;
        offset
    }
}

/// Lists all nodes in the order of their inodes: the root, then the entries of each directory
/// together, in the order in which `ls -R` and `find` visit them.
pub(super) fn order(tree: &Tree) -> Vec<NodeId> {
    let mut order = Vec::with_capacity(tree.nodes().len());
    let mut seen = vec![false; tree.nodes().len()];
    let mut waiting = vec![NodeId::ROOT];
    order.push(NodeId::ROOT);
    while let Some(dir) = waiting.pop() {
        let links = tree.children(dir);
        for link in links {
            if let Some(seen) = seen.get_mut(link.node.index())
                && !std::mem::replace(seen, true)
            {
                order.push(link.node);
            }
        }
        let is_dir = |node: &NodeId| matches!(tree.node(*node).content, Content::Directory { .. });
        waiting.extend(links.iter().rev().map(|link| link.node).filter(is_dir));
    }
    order
}

#[cfg(test)]
mod tests {
    use sinterfs_model::{Meta, TreeBuilder};

    use super::*;
    use crate::write::BLOCK;

    #[test]
    fn nothing_crosses_a_block() {
        let mut offsets = InodeOffsets::default();
        for (fixed, tail) in [
            (64, 4032),
            (64, 4000),
            (96, 4032),
            (4096 * 3 + 28, 4032),
            (64, 0),
        ] {
            let size = InodeSize {
                inode: 64,
                fixed,
                tail,
            };
            let before = offsets.end;
            let offset = offsets.next(size);
            assert!(offset >= before && offset.is_multiple_of(32) && offset - before < 4128);
            assert!(offset % BLOCK <= BLOCK - 64);
            assert!(
                (offset + fixed) % BLOCK + tail <= BLOCK,
                "{offset} {fixed} {tail}"
            );
            assert_eq!(offsets.end, offset + fixed + tail);
        }
    }

    #[test]
    fn inodes_of_a_directory_are_together() {
        let mut builder = TreeBuilder::new(Meta::default());
        let dir = Content::Directory { first: 0, count: 0 };
        let mut add = |parent, name: &str, content| {
            builder
                .add(parent, name.as_bytes(), Meta::default(), content)
                .unwrap()
        };
        let b = add(NodeId::ROOT, "b", dir);
        add(b, "deep", Content::Fifo);
        let a = add(NodeId::ROOT, "a", dir);
        let low = add(a, "low", dir);
        add(low, "lowest", Content::Fifo);
        let tree = builder.finish().unwrap();
        let order = order(&tree).into_iter().map(|node| tree.path(node));
        let expected = ["", "a", "b", "a/low", "a/low/lowest", "b/deep"];
        assert!(order.eq(expected.map(|path| path.as_bytes().to_vec())));
    }
}
