//! MicroLZMA (xz's `lzma/container.h`): an LZMA stream without an end marker, whose first byte,
//! always zero, is replaced by the inverted properties. By our encoder, which can stop at a given
//! length.

#[cfg(feature = "lzma")]
mod decode;

use std::fmt;
use std::sync::Arc;

use sinterfs_model::Result;

use crate::codec::{Codec, Encode, Filling, Hints};
use crate::cost::BASE;
use crate::lzma2::{self, LEVELS};
use crate::options::Options;

/// MicroLZMA: encoded by our encoder, decoded by liblzma.
pub(crate) struct MicroLzmaCodec;

impl Codec for MicroLzmaCodec {
    fn parse(&self, options: &mut Options<'_>) -> Result<Arc<dyn Encode>> {
        let level = options.level(LEVELS, 6)?.unsigned_abs();
        Ok(Arc::new(MicroLzma { level }))
    }

    #[cfg(feature = "lzma")]
    fn decode_unit(&self, stream: &[u8], output: &mut [u8]) -> Result<usize> {
        decode::decode(stream, output)
    }

    #[cfg(feature = "lzma")]
    fn decode_part(&self, stream: &[u8], output: &mut [u8]) -> Result<()> {
        decode::decode_part(stream, output)
    }

    #[cfg(not(feature = "lzma"))]
    fn decode_unit(&self, _stream: &[u8], _output: &mut [u8]) -> Result<usize> {
        Err(crate::codec::left_out("microlzma", "lzma"))
    }
}

/// Encodes by the encoder of our LZMA2.
#[derive(Debug)]
struct MicroLzma {
    level: u32,
}

impl Encode for MicroLzma {
    fn encode_with(&self, raw: &[u8], hints: Hints<'_>) -> Result<Vec<u8>> {
        let room = raw.len() + raw.len() / 8 + 64;
        Ok(self.fill(raw, room, hints)?.1)
    }

    fn encode_smaller(&self, raw: &[u8], hints: Hints<'_>) -> Result<Option<Vec<u8>>> {
        let (taken, stream) = self.fill(raw, raw.len().saturating_sub(1), hints)?;
        Ok((taken == raw.len() && !stream.is_empty()).then_some(stream))
    }

    fn filling(&self) -> Filling {
        Filling::Ahead
    }

    fn fill(&self, raw: &[u8], room: usize, hints: Hints<'_>) -> Result<(usize, Vec<u8>)> {
        let dictionary = hints.window.unwrap_or(u32::MAX);
        Ok(fill(raw, room, self.level, dictionary))
    }

    fn level(&self) -> i32 {
        self.level.cast_signed()
    }

    fn memory(&self, _len: u32) -> u64 {
        BASE
    }

    fn window(&self) -> u64 {
        1 << crate::cost::OWN_REACH
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":level={}", self.level)
    }
}

/// The shortest stream.
const STREAM_MIN: usize = 6;

/// LZMA's default parameters, and the byte that encodes them.
const PROPERTIES: (u32, u32, u32) = (3, 0, 2);
const PROPERTIES_BYTE: u8 = 0x5d;

/// Encodes as much of `raw` as fits a stream of `room` bytes; also returns how much that is.
/// Distances are at most `dictionary`. The stream is empty if `room` is too short for any.
fn fill(raw: &[u8], room: usize, level: u32, dictionary: u32) -> (usize, Vec<u8>) {
    if raw.is_empty() || room < STREAM_MIN {
        return (0, Vec::new());
    }
    let (lc, lp, pb) = PROPERTIES;
    let options = lzma2::Lzma2Options {
        level,
        dict: None,
        lc,
        lp,
        pb,
    };
    let (taken, mut stream) = lzma2::fill(raw, options, dictionary, room);
    if let Some(first) = stream.first_mut() {
        *first = !PROPERTIES_BYTE;
    }
    match taken {
        0 => (0, Vec::new()),
        _ => (taken, stream),
    }
}
