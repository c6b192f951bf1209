//! MicroLZMA (xz's `lzma/container.h`): an LZMA stream whose first byte, which is always zero,
//! holds the inverted properties. Only the caller knows the length of the content.
//!
//! **Invariant:** the dictionary is no longer than the requested content.

use liblzma::stream::{Action, Status, Stream};
use sinterfs_model::{Error, Result};

use crate::limits::{MAX_DICTIONARY, too_long};
use crate::lzma::{LZMA_TABLES, lzma_error, position};

const CODEC: &str = "microlzma";

/// The shortest dictionary of LZMA, in bytes.
const DICTIONARY_MIN: u32 = 4096;

/// Decodes one stream whose content fills the output.
pub(super) fn decode(stream: &[u8], output: &mut [u8]) -> Result<usize> {
    if output.is_empty() {
        return Err(too_long(CODEC, output));
    }
    run(stream, output, true)?;
    Ok(output.len())
}

/// Decodes the first bytes of a stream, as many as the output holds.
pub(super) fn decode_part(stream: &[u8], output: &mut [u8]) -> Result<()> {
    run(stream, output, false)
}

/// Decodes the stream with a header of `.lzma` in front, which liblzma's decoder needs.
fn run(stream: &[u8], output: &mut [u8], whole: bool) -> Result<()> {
    let (properties, stream) = stream
        .split_first()
        .ok_or_else(|| Error::corrupt("microlzma: an empty stream"))?;
    let decoder = Stream::new_lzma_decoder(MAX_DICTIONARY + LZMA_TABLES);
    let mut decoder = decoder.map_err(|error| lzma_error(CODEC, error))?;
    let head = header(!properties, output.len(), whole);
    // liblzma consumes no input without output space, though the header has no content
    let fed = decoder.process(&head, output, Action::Run);
    fed.map_err(|error| lzma_error(CODEC, error))?;
    let skip = head.len() as u64;
    if decoder.total_in() != skip {
        return Err(Error::corrupt("microlzma: bad properties"));
    }
    loop {
        let (read, written) = (decoder.total_in() - skip, decoder.total_out());
        let rest = stream.get(position(read)..).unwrap_or_default();
        let left = output.get_mut(position(written)..).unwrap_or_default();
        if left.is_empty() && !whole {
            return Ok(());
        }
        let status = decoder.process(rest, left, Action::Run);
        let status = status.map_err(|error| lzma_error(CODEC, error))?;
        let full = position(decoder.total_out()) == output.len();
        match status {
            Status::StreamEnd if full => return Ok(()),
            Status::StreamEnd => return Err(ends_early()),
            _ if decoder.total_out() == written && decoder.total_in() - skip == read => {
                return Err(ends_early());
            }
            _ => {}
        }
    }
}

/// Returns the header of `.lzma`, and the zero that the stream begins with.
fn header(properties: u8, len: usize, whole: bool) -> [u8; 14] {
    let dictionary = u32::try_from(len).unwrap_or(u32::MAX).max(DICTIONARY_MIN);
    let [d0, d1, d2, d3] = dictionary.to_le_bytes();
    // all bits set: unknown
    let content = if whole { len as u64 } else { u64::MAX };
    let [c0, c1, c2, c3, c4, c5, c6, c7] = content.to_le_bytes();
    [
        properties, d0, d1, d2, d3, c0, c1, c2, c3, c4, c5, c6, c7, 0,
    ]
}

#[cold]
fn ends_early() -> Error {
    Error::corrupt("microlzma: stream ends early")
}
