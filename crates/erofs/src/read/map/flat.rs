//! Flat content: a row of blocks, whose tail may be inline.

use sinterfs_model::{Error, Result};

use crate::layout::DataLayout;
use crate::read::device::Address;
use crate::read::erofs::Erofs;
use crate::read::mapped::{ContentLocation, MappedExtent};
use crate::read::node::ErofsInode;

/// Returns the extent at a position.
pub(super) fn find(image: &Erofs, node: &ErofsInode, position: u64) -> Result<MappedExtent> {
    let block_size = image.superblock.block_size();
    let blocks = match node.layout {
        DataLayout::Inline => (node.size - 1) / block_size * block_size,
        _ => node.size,
    };
    if position >= blocks {
        let (at, len) = (node.end(), node.size - blocks);
        if (at.at % block_size).saturating_add(len) > block_size {
            return Err(Error::corrupt("the end of the content crosses a block"));
        }
        return Ok(MappedExtent {
            start: blocks,
            len,
            location: ContentLocation::Inline(at),
        });
    }
    let location = match node.first_block() {
        None => ContentLocation::Hole,
        Some(block) => {
            let at = block.checked_mul(block_size);
            let at = at.ok_or_else(|| Error::corrupt(format!("content in block {block:#x}")))?;
            ContentLocation::Stored(Address { device: 0, at })
        }
    };
    Ok(MappedExtent {
        start: 0,
        len: blocks,
        location,
    })
}
