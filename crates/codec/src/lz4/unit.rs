//! LZ4 blocks of unknown decoded length (lz4_Block_format.md).

use sinterfs_model::{Error, Result};

use crate::wrong_length;

/// Decodes one block. Damage and too much content cannot be distinguished.
pub(super) fn decode(stream: &[u8], output: &mut [u8]) -> Result<usize> {
    lzzzz::lz4::decompress(stream, output)
        .map_err(|_| Error::corrupt("lz4: damaged block, or more than a unit"))
}

/// Decodes the first bytes of a block, as many as the output holds. Bytes behind the block's end
/// are ignored.
pub(super) fn decode_part(stream: &[u8], output: &mut [u8]) -> Result<()> {
    let wanted = output.len();
    let found = lzzzz::lz4::decompress_partial(stream, output, wanted);
    match found.map_err(|_| Error::corrupt("lz4: damaged block"))? {
        found if found == wanted => Ok(()),
        found => Err(wrong_length("lz4", wanted as u64, found as u64)),
    }
}
