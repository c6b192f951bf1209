//! Deflate without a header (RFC 1951), decoded by libdeflate.

use std::cell::RefCell;

use libdeflater::{DecompressionError, Decompressor};
use sinterfs_model::{Error, Result};

use super::limits::too_long;
use super::part;

thread_local! {
    static DECODER: RefCell<Option<Decompressor>> = const { RefCell::new(None) };
}

/// Decodes one stream.
pub(super) fn decode(stream: &[u8], output: &mut [u8]) -> Result<usize> {
    fill(stream, output)?.ok_or_else(|| too_long("deflate", output))
}

/// Fills the output with the first bytes of the content, of up to `MAX_CONTENT` bytes.
pub(super) fn decode_part(stream: &[u8], output: &mut [u8]) -> Result<()> {
    part::decode("deflate", output, |output| fill(stream, output))
}

/// Decodes one stream; `None` if it has more content than the output holds.
fn fill(stream: &[u8], output: &mut [u8]) -> Result<Option<usize>> {
    let decoded = DECODER.with_borrow_mut(|slot| {
        slot.get_or_insert_with(Decompressor::new)
            .deflate_decompress(stream, output)
    });
    match decoded {
        Ok(len) => Ok(Some(len)),
        Err(DecompressionError::InsufficientSpace) => Ok(None),
        Err(DecompressionError::BadData) => Err(Error::corrupt("deflate: damaged stream")),
    }
}
