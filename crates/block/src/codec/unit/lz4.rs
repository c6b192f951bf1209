//! LZ4 blocks, whose decoded size nobody tells (lz4_Block_format.md).

use model::{Error, Result};

/// Decodes one block. A damaged one and one with too much content look alike.
pub(super) fn decode(stream: &[u8], room: &mut [u8]) -> Result<usize> {
    lzzzz::lz4::decompress(stream, room)
        .map_err(|_| Error::corrupt("lz4: damaged block, or more than a unit"))
}
