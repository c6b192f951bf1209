//! LZ4 blocks, whose decoded size nobody tells (lz4_Block_format.md).

use sinterfs_model::{Error, Result};

use crate::codec::wrong_length;

/// Decodes one block. A damaged one and one with too much content look alike.
pub(super) fn decode(stream: &[u8], room: &mut [u8]) -> Result<usize> {
    lzzzz::lz4::decompress(stream, room)
        .map_err(|_| Error::corrupt("lz4: damaged block, or more than a unit"))
}

/// Decodes the first bytes of a block, as many as there is room for. What follows the block's end
/// is not looked at.
pub(super) fn decode_part(stream: &[u8], room: &mut [u8]) -> Result<()> {
    let wanted = room.len();
    let found = lzzzz::lz4::decompress_partial(stream, room, wanted);
    match found.map_err(|_| Error::corrupt("lz4: damaged block"))? {
        found if found == wanted => Ok(()),
        found => Err(wrong_length("lz4", wanted as u64, found as u64)),
    }
}
