//! Zstandard: frames that state their content size (RFC 8878).
//!
//! In: one frame, or several of which all but one are empty or skippable. Out: the content.
//!
//! **Invariant:** the size in the frame header is held against the limit before anything is
//! allocated, and against what comes out afterwards.

use std::cell::RefCell;

use sinterfs_model::{Error, Result};
use zstd_safe::{CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer, ResetDirective};

use crate::codec::StepDecoder;
use crate::{check_limit, with_room, wrong_length};

thread_local! {
    static DECODER: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
    static ENCODER: RefCell<Option<CCtx<'static>>> = const { RefCell::new(None) };
}

/// Returns the content size of the first frame from its header. `Corrupt` for what is no frame,
/// `Unsupported` for a frame that does not state it.
pub(super) fn decoded_len(stream: &[u8]) -> Result<u64> {
    match zstd_safe::get_frame_content_size(stream) {
        Ok(Some(len)) => Ok(len),
        Ok(None) => Err(Error::unsupported("zstd: frame without a content size")),
        Err(_) => Err(Error::corrupt("zstd: no valid frame header")),
    }
}

/// Decodes frames of up to `limit` bytes of content. `Limit` if they claim more, `Corrupt` if
/// they are damaged.
pub(super) fn decode(stream: &[u8], limit: u64) -> Result<Vec<u8>> {
    let len = decoded_len(stream)?;
    check_limit(len, limit)?;
    let mut decoded = with_room(len)?;
    let result = DECODER.with_borrow_mut(|slot| {
        let context = match slot {
            Some(context) => context,
            None => slot.insert(DCtx::try_create().ok_or_else(no_memory)?),
        };
        Ok(context.decompress(&mut decoded, stream))
    })?;
    let found = result.map_err(damaged)?;
    if found as u64 != len {
        return Err(wrong_length("zstd", len, found as u64));
    }
    Ok(decoded)
}

/// The largest window that a frame may ask for, as a power of two. None is allocated: what was
/// decoded is the window.
const WINDOW_LOG_MAX: u32 = if usize::BITS == 64 { 31 } else { 30 };

/// The longest header of a frame, in bytes.
const HEADER_MAX: usize = 18;

/// A frame that is decoded step by step, always from the same stream behind the same bytes.
pub(super) struct State {
    context: DCtx<'static>,
    read: usize,
    /// How many bytes to read next: up to the end of a block of the frame.
    hint: usize,
}

impl State {
    pub(super) fn new() -> Result<Self> {
        let mut context = DCtx::try_create().ok_or_else(no_memory)?;
        context
            .set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX))
            .and_then(|_| context.set_parameter(DParameter::StableOutBuffer(true)))
            .map_err(damaged)?;
        Ok(Self {
            context,
            read: 0,
            hint: HEADER_MAX,
        })
    }
}

impl StepDecoder for State {
    /// Decodes a block of the frame, up to 128 KiB.
    fn step(&mut self, stream: &[u8], decoded: &mut Vec<u8>, _end: usize) -> Result<()> {
        let start = decoded.len();
        while self.hint > 0 && decoded.len() == start {
            let rest = stream.get(self.read..).unwrap_or_default();
            let rest = rest.get(..self.hint).unwrap_or(rest);
            let mut input = InBuffer::around(rest);
            let mut target = OutBuffer::around_pos(decoded, start);
            let hint = self.context.decompress_stream(&mut target, &mut input);
            self.hint = hint.map_err(damaged)?;
            self.read = self.read.saturating_add(input.pos());
            if self.hint > 0 && input.pos() == 0 && target.pos() == start {
                return Err(Error::corrupt("zstd: stream ends early"));
            }
        }
        Ok(())
    }

    /// Checks that the content ends here, and that what follows the frame has none.
    fn finish(&mut self, stream: &[u8], decoded: &mut Vec<u8>) -> Result<()> {
        let len = decoded.len();
        while self.hint > 0 && decoded.len() == len {
            self.step(stream, decoded, len)?;
        }
        let rest = stream.get(self.read..).unwrap_or_default();
        let found = self.context.decompress(&mut [][..], rest);
        if found.map_err(damaged)? > 0 || decoded.len() > len {
            return Err(Error::corrupt(format!(
                "zstd: expected {len} decoded bytes, found more"
            )));
        }
        Ok(())
    }

    fn has_window(&self) -> bool {
        false
    }
}

/// Encodes into one frame with a content size and without a checksum.
pub(crate) fn encode(raw: &[u8], level: i32, window: Option<u32>, long: bool) -> Result<Vec<u8>> {
    let mut encoded = with_room(zstd_safe::compress_bound(raw.len()) as u64)?;
    let result = ENCODER.with_borrow_mut(|slot| {
        let context = match slot {
            Some(context) => context,
            None => slot.insert(CCtx::try_create().ok_or_else(no_memory)?),
        };
        Ok(context
            .reset(ResetDirective::SessionAndParameters)
            .and_then(|_| context.set_parameter(CParameter::CompressionLevel(level)))
            .and_then(|_| match window {
                Some(log) => context.set_parameter(CParameter::WindowLog(log)),
                None => Ok(0),
            })
            .and_then(|_| context.set_parameter(CParameter::EnableLongDistanceMatching(long)))
            .and_then(|_| context.compress2(&mut encoded, raw)))
    })?;
    result.map_err(|code| {
        Error::new(
            sinterfs_model::Kind::Invalid,
            format!(
                "zstd: cannot encode: {}",
                zstd_safe::get_error_name(code).to_lowercase()
            ),
        )
    })?;
    encoded.shrink_to_fit();
    Ok(encoded)
}

#[cold]
fn no_memory() -> Error {
    Error::limit("zstd: no memory for a context")
}

#[cold]
pub(super) fn damaged(code: zstd_safe::ErrorCode) -> Error {
    let name = zstd_safe::get_error_name(code).to_lowercase();
    Error::corrupt(format!("zstd: {name}"))
}
