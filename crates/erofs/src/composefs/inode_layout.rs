//! The positions of inodes in a written image.
//!
//! In: lengths. Out: offsets, as the reference chooses them.
//!
//! **Invariant:** an inode is at a multiple of 32 bytes; its attributes and inline tail do not
//! cross a block, and no part of a symlink does. Content that does not fit after an inode gets a
//! separate block.

use crate::layout::INODE_SLOT;
use crate::write::BLOCK;

/// The longest inline tail.
const INLINE_TAIL_MAX: u64 = BLOCK / 2;

/// The space that an inode needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Separate blocks, and the length of the inline tail.
    Blocks { blocks: u64, tail: u64 },
    /// A symlink's target.
    Target(u64),
}

impl Content {
    /// Cuts content: whole blocks, and one for the tail, too, if that fills more than half.
    pub(super) fn cut(len: u64) -> Self {
        let (blocks, tail) = (len / BLOCK, len % BLOCK);
        if tail <= INLINE_TAIL_MAX {
            Self::Blocks { blocks, tail }
        } else {
            Self::Blocks {
                blocks: blocks + 1,
                tail: 0,
            }
        }
    }
}

/// The position of an inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct InodeLocation {
    /// In bytes from the start of the image.
    pub(super) at: u64,
    /// Bytes of content after it.
    pub(super) tail: u64,
    /// Blocks of its content.
    pub(super) blocks: u64,
    /// The first of these, counted from the first block of content.
    pub(super) block: u64,
}

/// Assigns places to inodes, one after the other.
#[derive(Debug)]
pub(super) struct InodeLayout {
    /// The end of the last inode.
    pub(super) end: u64,
    /// Blocks so far.
    pub(super) blocks: u64,
}

impl InodeLayout {
    /// Returns the next inode a place; `len` is its size with its attributes.
    pub(super) fn next(&mut self, len: u64, content: Content) -> InodeLocation {
        let at = self.end.next_multiple_of(INODE_SLOT);
        let (at, blocks, tail) = match content {
            Content::Blocks { blocks, tail } => behind(at, len, blocks, tail),
            Content::Target(target) => whole(at, len, target),
        };
        let place = InodeLocation {
            at,
            tail,
            blocks,
            block: self.blocks,
        };
        self.end = at + len + tail;
        self.blocks += blocks;
        place
    }
}

/// Moves an inode so that its inline tail does not cross a block.
fn behind(at: u64, len: u64, blocks: u64, tail: u64) -> (u64, u64, u64) {
    let fits = |at: u64| (at + len) % BLOCK + tail <= BLOCK;
    if tail == 0 || fits(at) {
        return (at, blocks, tail);
    }
    let moved = (at + BLOCK - (at + len) % BLOCK).next_multiple_of(INODE_SLOT);
    if fits(moved) {
        (moved, blocks, tail)
    } else {
        (at.next_multiple_of(BLOCK), blocks + 1, 0)
    }
}

/// Moves a symlink so that all of it is in one block; of one as long as a block, the target is
/// elsewhere.
fn whole(at: u64, len: u64, target: u64) -> (u64, u64, u64) {
    let at = if at % BLOCK + len + target <= BLOCK {
        at
    } else {
        at.next_multiple_of(BLOCK)
    };
    if len + target < BLOCK {
        (at, 0, target)
    } else {
        (at, 1, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(end: u64, len: u64, content: Content) -> (u64, u64, u64) {
        let place = InodeLayout { end, blocks: 0 }.next(len, content);
        (place.at, place.blocks, place.tail)
    }

    // as mkcomposefs 1.0.8 places them
    #[test]
    fn ends_do_not_cross_blocks() {
        let tail = |tail: u64| Content::Blocks { blocks: 0, tail };
        assert_eq!(place(0x3fc0, 32, tail(32)), (0x3fc0, 0, 32));
        assert_eq!(place(0x5f60, 64, tail(107)), (0x5fc0, 0, 107));
        assert_eq!(place(0x3fa0, 92, tail(50)), (0x3fc0, 0, 50));
        assert_eq!(Content::cut(2049), Content::Blocks { blocks: 1, tail: 0 });
        assert_eq!(
            Content::cut(5000),
            Content::Blocks {
                blocks: 1,
                tail: 904
            }
        );
    }

    #[test]
    fn content_that_does_not_fit_gets_a_block() {
        let chunks = |chunks: u64| Content::Blocks {
            blocks: 0,
            tail: 4 * chunks,
        };
        assert_eq!(place(0x1cc0, 96, chunks(1024)), (0x1fa0, 0, 4096));
        assert_eq!(place(0x24c0, 104, chunks(1022)), (0x2fa0, 0, 4088));
        assert_eq!(place(0x24c0, 104, chunks(1023)), (0x3000, 1, 0));
        assert_eq!(place(0x2fc0, 104, chunks(1023)), (0x3000, 1, 0));
    }

    #[test]
    fn symlinks_are_in_one_block() {
        assert_eq!(place(0x2fe0, 32, Content::Target(32)), (0x3000, 0, 32));
        assert_eq!(place(0x4fc0, 32, Content::Target(32)), (0x4fc0, 0, 32));
        assert_eq!(place(0x24e0, 32, Content::Target(4063)), (0x3000, 0, 4063));
        assert_eq!(place(0x24e0, 32, Content::Target(4064)), (0x3000, 1, 0));
    }
}
