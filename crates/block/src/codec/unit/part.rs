//! The first bytes of a stream's content, where the rest is of no interest.
//!
//! **Invariant:** codecs that decode whole streams only get room for up to `MAX_CONTENT` bytes,
//! which they use in vain.

use sinterfs_model::Result;

use super::limits::{MAX_CONTENT, too_long};
use crate::codec::{wrong_length, zeroed};

/// Decodes the first bytes of a stream by decoding it whole, into more and more room until it fits.
pub(super) fn decode(
    codec: &str,
    room: &mut [u8],
    whole: impl Fn(&mut [u8]) -> Result<Option<usize>>,
) -> Result<()> {
    if whole(room)? == Some(room.len()) {
        return Ok(());
    }
    let mut len = room.len();
    while len < MAX_CONTENT {
        len = len.saturating_mul(2).clamp(64 << 10, MAX_CONTENT);
        let mut decoded = zeroed(len as u64)?;
        if let Some(found) = whole(&mut decoded)? {
            return match decoded.get(..found.min(room.len())) {
                Some(first) if first.len() == room.len() => {
                    room.copy_from_slice(first);
                    Ok(())
                }
                _ => Err(wrong_length(codec, room.len() as u64, found as u64)),
            };
        }
    }
    Err(too_long(codec, room))
}
