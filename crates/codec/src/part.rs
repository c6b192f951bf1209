//! The first bytes of a stream's content, when the rest is not needed.
//!
//! **Invariant:** codecs that can only decode whole streams use up to `MAX_CONTENT` bytes of
//! temporary memory.

use sinterfs_model::Result;

use super::limits::{MAX_CONTENT, too_long};
use super::{wrong_length, zeroed};

/// Decodes the first bytes of a stream by decoding all of it, into larger and larger buffers.
pub(super) fn decode(
    codec: &str,
    output: &mut [u8],
    whole: impl Fn(&mut [u8]) -> Result<Option<usize>>,
) -> Result<()> {
    if whole(output)? == Some(output.len()) {
        return Ok(());
    }
    let mut len = output.len();
    while len < MAX_CONTENT {
        len = len.saturating_mul(2).clamp(64 << 10, MAX_CONTENT);
        let mut decoded = zeroed(len as u64)?;
        if let Some(found) = whole(&mut decoded)? {
            return match decoded.get(..found.min(output.len())) {
                Some(first) if first.len() == output.len() => {
                    output.copy_from_slice(first);
                    Ok(())
                }
                _ => Err(wrong_length(codec, output.len() as u64, found as u64)),
            };
        }
    }
    Err(too_long(codec, output))
}
