//! zstd frames (RFC 8878), with or without a content size.

use std::cell::RefCell;

use sinterfs_model::{Error, Result};
use zstd_safe::{DCtx, ErrorCode};

use super::frame::damaged;
use crate::part;

thread_local! {
    static DECODER: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

/// Decodes frames up to the end of the stream; no window is allocated.
pub(super) fn decode(stream: &[u8], output: &mut [u8]) -> Result<usize> {
    run(stream, output)?.map_err(damaged)
}

/// Fills the output with the first bytes of the content, of up to `MAX_CONTENT` bytes.
pub(super) fn decode_part(stream: &[u8], output: &mut [u8]) -> Result<()> {
    part::decode("zstd", output, |output| fill(stream, output))
}

/// Decodes frames up to the end of the stream; `None` if they have more content than the output
/// holds.
fn fill(stream: &[u8], output: &mut [u8]) -> Result<Option<usize>> {
    match run(stream, output)? {
        Ok(len) => Ok(Some(len)),
        Err(code) if zstd_safe::get_error_name(code) == NO_ROOM => Ok(None),
        Err(code) => Err(damaged(code)),
    }
}

/// The name of zstd's error for a frame with more content than the output holds.
const NO_ROOM: &str = "Destination buffer is too small";

fn run(stream: &[u8], output: &mut [u8]) -> Result<std::result::Result<usize, ErrorCode>> {
    DECODER.with_borrow_mut(|slot| {
        let context = match slot {
            Some(context) => context,
            None => slot.insert(
                DCtx::try_create().ok_or_else(|| Error::limit("zstd: no memory for a context"))?,
            ),
        };
        Ok(context.decompress(output, stream))
    })
}
