//! Flat content: one run of blocks, the last part of which may be behind the inode.

use sinterfs_model::{Error, Result};

use super::{Place, Run};
use crate::read::Erofs;
use crate::read::device::Address;
use crate::read::inode::{Layout, Node};

/// Finds the run at a position.
pub(super) fn run_at(image: &Erofs, node: &Node, position: u64) -> Result<Run> {
    let block_size = image.superblock.block_size();
    let blocks = match node.layout {
        Layout::Inline => (node.size - 1) / block_size * block_size,
        _ => node.size,
    };
    if position >= blocks {
        let (at, len) = (node.end(), node.size - blocks);
        if (at.at % block_size).saturating_add(len) > block_size {
            return Err(Error::corrupt("the end of the content crosses a block"));
        }
        return Ok(Run {
            start: blocks,
            len,
            place: Place::Inline(at),
        });
    }
    let place = match node.first_block() {
        None => Place::Hole,
        Some(block) => {
            let at = block.checked_mul(block_size);
            let at = at.ok_or_else(|| Error::corrupt(format!("content in block {block:#x}")))?;
            Place::Stored(Address { device: 0, at })
        }
    };
    Ok(Run {
        start: 0,
        len: blocks,
        place,
    })
}
