//! Finds the block size of an image, which no field says.
//!
//! In: the inodes. Out: the size with which first blocks of files decode to their full length.
//!
//! The number of block pointers of a file follows from the block size, and with it the start of
//! the first block. **Invariant:** at most `WITNESSES` files are tried.

use sinterfs_model::{FileType, Result};

use super::blocks::{BlockReader, Stored};
use super::nodes::Nodes;
use crate::layout::{BLOCK_SIZE, BLOCK_SIZE_MAX, InodeFields};

/// The number of files that are tried.
const WITNESSES: usize = 16;

/// Returns the block size; 4096 if no file shows it.
pub(super) fn find(nodes: &Nodes, blocks: &BlockReader) -> u32 {
    let files = nodes
        .all()
        .iter()
        .filter(|node| node.kind == FileType::File);
    let large = files.filter(|node| node.fields.size > BLOCK_SIZE);
    for node in large.take(WITNESSES) {
        let mut size = BLOCK_SIZE;
        while size <= BLOCK_SIZE_MAX {
            let tried = BlockReader {
                block_size: size,
                ..blocks.clone()
            };
            if first_block_fits(&tried, &node.fields).unwrap_or(false) {
                return size;
            }
            size *= 2;
        }
    }
    BLOCK_SIZE
}

fn first_block_fits(blocks: &BlockReader, file: &InodeFields) -> Result<bool> {
    let first = blocks.locate(file, 0..1)?;
    let Some(block) = first.first().filter(|block| block.stored == Stored::Zlib) else {
        return Ok(false);
    };
    let mut decoded = vec![0; blocks.decoded_len(file, 0) as usize];
    blocks.decode(*block, &mut decoded)?;
    Ok(true)
}
