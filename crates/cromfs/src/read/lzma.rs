//! LZMA streams with a header: how long they decode, and their content.
//!
//! In: the bytes of a stream, and more after it. Out: the content.
//!
//! **Invariant:** memory is at most `limit`, and at most the output that LZMA can make from that
//! many bytes.

use sinterfs_codec::CodecId;
use sinterfs_model::{Error, Result};

use crate::layout::{LZMA_HEADER_LEN, part};

/// More than LZMA makes of one byte: a match of 273 bytes takes at least 0.3 bits.
const EXPANSION: u64 = 8192;

/// The smallest dictionary of the format.
const DICTIONARY_MIN: u64 = 4096;

/// Returns the decoded length that the header of a stream declares, at most `limit`.
pub(super) fn declared_len(header: &[u8], stored: u64, limit: u64) -> Result<u64> {
    if header.len() < LZMA_HEADER_LEN {
        return Err(Error::corrupt("an LZMA stream without a header"));
    }
    let len = u64::from_le_bytes(part(header, 5));
    if len > stored.saturating_mul(EXPANSION) {
        let what = format!("{stored} stored bytes that would decode to {len}");
        return Err(Error::corrupt(what));
    }
    if len > limit {
        let what = format!("{len} decoded bytes, where {limit} are allowed");
        return Err(Error::limit(what));
    }
    Ok(len)
}

/// Decodes a stream. `Limit` if it has more than `limit` bytes, `Corrupt` if it is damaged.
pub(super) fn decode(mut stream: Vec<u8>, limit: u64) -> Result<Vec<u8>> {
    let len = declared_len(&stream, stream.len() as u64, limit)?;
    // nothing refers to what is before the content
    let dictionary = u64::from(u32::from_le_bytes(part(&stream, 1)));
    let needed = u32::try_from(dictionary.min(len.max(DICTIONARY_MIN))).unwrap_or(u32::MAX);
    if let Some(field) = stream.get_mut(1..5) {
        field.copy_from_slice(&needed.to_le_bytes());
    }
    let mut decoded = vec![0; usize::try_from(len).unwrap_or(0)];
    let found = CodecId::Lzma.decode(&stream, &mut decoded)?;
    if found == decoded.len() {
        return Ok(decoded);
    }
    Err(Error::corrupt(format!(
        "expected {len} decoded bytes, found {found}"
    )))
}
