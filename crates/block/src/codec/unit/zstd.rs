//! zstd frames (RFC 8878), with or without a content size.

use std::cell::RefCell;

use model::{Error, Result};
use zstd_safe::DCtx;

thread_local! {
    static DECODER: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

/// Decodes frames up to the end of the stream; no window is allocated.
pub(super) fn decode(stream: &[u8], room: &mut [u8]) -> Result<usize> {
    let decoded = DECODER.with_borrow_mut(|slot| {
        let context = match slot {
            Some(context) => context,
            None => slot.insert(
                DCtx::try_create().ok_or_else(|| Error::limit("zstd: no memory for a context"))?,
            ),
        };
        Ok(context.decompress(room, stream))
    })?;
    decoded.map_err(|code| {
        let name = zstd_safe::get_error_name(code).to_lowercase();
        Error::corrupt(format!("zstd: {name}"))
    })
}
