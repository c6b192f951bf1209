//! LZO1X streams up to their end marker.

use lzokay::Error as Lzo;
use sinterfs_model::{Error, Result};

use super::limits::too_long;

/// Decodes one stream. It has no checksum.
pub(super) fn decode(stream: &[u8], output: &mut [u8]) -> Result<usize> {
    lzokay::decompress::decompress(stream, output).map_err(|error| match error {
        Lzo::OutputOverrun => too_long("lzo", output),
        error => Error::corrupt("lzo: damaged stream").because(error),
    })
}
