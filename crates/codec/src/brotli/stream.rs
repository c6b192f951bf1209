//! Brotli streams (RFC 7932), with the large-window extension: windows of up to 2^30 bytes.
//!
//! In: a stream whose decoded length the format stores elsewhere. Out: the content.
//!
//! **Invariant:** the output is never allocated more than twice as long as what has been decoded;
//! nor is the decoder's own ring buffer.

use ::brotli::enc::{BrotliEncoderParams, StandardAlloc};
use ::brotli::{BrotliDecompressStream, BrotliResult, BrotliState};
use sinterfs_model::{Error, Result};

use crate::codec::{StepDecoder, step_to};
use crate::{with_room, wrong_length};

/// The first allocation of output, in bytes.
const FIRST_STEP: usize = 64 << 10;

/// Decodes a stream of exactly `decoded_len` bytes, which the caller has compared with its limit.
pub(super) fn decode(stream: &[u8], decoded_len: u64) -> Result<Vec<u8>> {
    let mut decoded = with_room(decoded_len)?;
    let full = decoded
        .capacity()
        .min(usize::try_from(decoded_len).unwrap_or(usize::MAX));
    let mut state = State::new()?;
    let mut written = 0;
    while written < full {
        let grown = decoded.len().saturating_mul(2).max(FIRST_STEP).min(full);
        decoded.resize(grown, 0);
        let output = decoded.get_mut(written..).unwrap_or_default();
        written += state.fill(stream, output)?;
        if written < grown {
            return Err(wrong_length("brotli", decoded_len, written as u64));
        }
    }
    state.end(stream)?;
    Ok(decoded)
}

/// The state of a stream that is decoded in parts; every call gets the same stream.
pub(super) struct State {
    decoder: Box<BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>>,
    read: usize,
    ended: bool,
}

impl State {
    pub(super) fn new() -> Result<Self> {
        // accepts large windows
        let alloc = StandardAlloc::default;
        Ok(Self {
            decoder: Box::new(BrotliState::new(alloc(), alloc(), alloc())),
            read: 0,
            ended: false,
        })
    }

    /// Decodes the next bytes: as many as the part holds, fewer only at the stream's end.
    fn fill(&mut self, stream: &[u8], part: &mut [u8]) -> Result<usize> {
        if self.ended {
            return Ok(0);
        }
        let mut left = stream.len().saturating_sub(self.read);
        let (mut output, mut written, mut total) = (part.len(), 0, 0);
        let result = BrotliDecompressStream(
            &mut left,
            &mut self.read,
            stream,
            &mut output,
            &mut written,
            part,
            &mut total,
            &mut self.decoder,
        );
        match result {
            BrotliResult::ResultSuccess => self.ended = true,
            BrotliResult::NeedsMoreOutput => {}
            // the decoder has all input and still returns what it decoded before
            BrotliResult::NeedsMoreInput if written > 0 && written == part.len() => {}
            BrotliResult::NeedsMoreInput => {
                return Err(Error::corrupt("brotli: stream ends early"));
            }
            BrotliResult::ResultFailure => return Err(Error::corrupt("brotli: damaged stream")),
        }
        Ok(written)
    }

    /// Fails unless the content ends here.
    fn end(&mut self, stream: &[u8]) -> Result<()> {
        self.fill(stream, &mut [])?;
        if self.ended {
            return Ok(());
        }
        Err(Error::corrupt("brotli: more decoded bytes than expected"))
    }
}

impl StepDecoder for State {
    fn step(&mut self, stream: &[u8], decoded: &mut Vec<u8>, end: usize) -> Result<()> {
        step_to(decoded, end, |part| self.fill(stream, part))
    }

    fn finish(&mut self, stream: &[u8], _decoded: &mut Vec<u8>) -> Result<()> {
        self.end(stream)
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
    ::brotli::BrotliCompress(&mut &*raw, &mut encoded, &params)
        .map_err(|error| Error::invalid("brotli: cannot encode").because(error))?;
    Ok(encoded)
}

/// Returns the smallest window that covers `len` bytes; a window of n bits covers 2^n - 16.
fn needed_window(len: usize) -> u32 {
    let len = (len as u64).saturating_add(16);
    len.next_power_of_two().trailing_zeros().clamp(10, 30)
}
