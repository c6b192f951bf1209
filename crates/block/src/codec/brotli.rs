//! Brotli streams (RFC 7932), with the large-window extension: windows of up to 2^30 bytes.
//!
//! In: a stream whose decoded size the format keeps elsewhere. Out: the content.
//!
//! **Invariant:** output grows with what has been decoded, never ahead of it by more than it
//! already has; the decoder's own ring buffer does too, up to twice the decoded size.

use brotli::enc::{BrotliEncoderParams, StandardAlloc};
use brotli::{BrotliDecompressStream, BrotliResult, BrotliState};
use model::{Error, Result};

use super::{with_room, wrong_length};

/// How much output is made room for at first, in bytes.
const FIRST_STEP: usize = 64 << 10;

/// Decodes a stream of exactly `decoded_len` bytes; the caller holds that against its limit.
pub fn decode(stream: &[u8], decoded_len: u64) -> Result<Vec<u8>> {
    let mut decoded = with_room(decoded_len)?;
    let full = decoded
        .capacity()
        .min(usize::try_from(decoded_len).unwrap_or(usize::MAX));
    // accepts large windows
    let alloc = StandardAlloc::default;
    let mut state = BrotliState::new(alloc(), alloc(), alloc());
    let (mut left, mut read, mut written, mut total) = (stream.len(), 0, 0, 0);
    loop {
        let mut room = decoded.len() - written;
        let result = BrotliDecompressStream(
            &mut left,
            &mut read,
            stream,
            &mut room,
            &mut written,
            &mut decoded,
            &mut total,
            &mut state,
        );
        match result {
            BrotliResult::ResultSuccess if written == full => return Ok(decoded),
            BrotliResult::ResultSuccess => {
                return Err(wrong_length("brotli", decoded_len, written as u64));
            }
            BrotliResult::NeedsMoreOutput if decoded.len() < full => {
                let grown = decoded
                    .len()
                    .saturating_mul(2)
                    .clamp(FIRST_STEP, full.max(FIRST_STEP));
                decoded.resize(grown.min(full), 0);
            }
            BrotliResult::NeedsMoreOutput => {
                return Err(Error::corrupt(format!(
                    "brotli: expected {decoded_len} decoded bytes, found more"
                )));
            }
            BrotliResult::NeedsMoreInput => {
                return Err(Error::corrupt("brotli: stream ends early"));
            }
            BrotliResult::ResultFailure => return Err(Error::corrupt("brotli: damaged stream")),
        }
    }
}

/// Encodes with a window no larger than the input needs.
pub(super) fn encode(raw: &[u8], quality: u32, lgwin: u32) -> Result<Vec<u8>> {
    let lgwin = lgwin.min(needed_window(raw.len()));
    let params = BrotliEncoderParams {
        quality: i32::try_from(quality).unwrap_or(i32::MAX),
        lgwin: i32::try_from(lgwin).unwrap_or(i32::MAX),
        large_window: lgwin > 24,
        size_hint: raw.len(),
        ..BrotliEncoderParams::default()
    };
    let mut encoded = Vec::new();
    brotli::BrotliCompress(&mut &*raw, &mut encoded, &params)
        .map_err(|error| Error::invalid("brotli: cannot encode").because(error))?;
    Ok(encoded)
}

/// Tells the smallest window that reaches over so many bytes; a window of n bits reaches over
/// 2^n - 16.
fn needed_window(len: usize) -> u32 {
    let len = (len as u64).saturating_add(16);
    len.next_power_of_two().trailing_zeros().clamp(10, 30)
}
