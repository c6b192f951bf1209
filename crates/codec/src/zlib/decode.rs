//! zlib streams (RFC 1950), decoded by libdeflate.

use std::cell::RefCell;

use libdeflater::{DecompressionError, Decompressor};
use sinterfs_model::{Error, Result};

use crate::limits::too_long;

thread_local! {
    static DECODER: RefCell<Option<Decompressor>> = const { RefCell::new(None) };
}

/// Decodes one stream; its checksum is compared.
pub(super) fn decode(stream: &[u8], output: &mut [u8]) -> Result<usize> {
    let decoded = DECODER.with_borrow_mut(|slot| {
        slot.get_or_insert_with(Decompressor::new)
            .zlib_decompress(stream, output)
    });
    decoded.map_err(|error| match error {
        DecompressionError::BadData => Error::corrupt("zlib: damaged stream"),
        DecompressionError::InsufficientSpace => too_long("zlib", output),
    })
}
