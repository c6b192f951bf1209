//! LZO1X without a header, by lzokay, which has one level, between the fast variants of the
//! reference and its slow one.

use std::cell::RefCell;

use lzokay::compress::{Dict, compress_with_dict};
use sinterfs_model::{Error, Result};

thread_local! {
    static ENCODER: RefCell<Option<Box<Dict>>> = const { RefCell::new(None) };
}

/// Encodes into an LZO1X stream.
pub(super) fn encode(raw: &[u8]) -> Result<Vec<u8>> {
    let encoded = ENCODER.with_borrow_mut(|slot| {
        let tables = slot.get_or_insert_with(Dict::new);
        compress_with_dict(raw, tables)
    });
    encoded.map_err(|error| Error::invalid(format!("lzo: cannot encode: {error:?}")))
}
