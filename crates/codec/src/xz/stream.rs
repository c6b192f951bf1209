//! The .xz format: any filter chain, any number of blocks (tukaani.org/xz/xz-file-format.txt).
//!
//! In: a stream, or several with padding. Out: the content, verified by the stream's own integrity
//! check.
//!
//! **Invariant:** the length in the index is compared with the limit before anything is allocated.
//! The decoder's dictionary is as large as the stream needs, up to 1 GiB, the most that `xz` and
//! mkdwarfs write.

use liblzma::stream::{Action, Status, Stream};
use sinterfs_model::{Error, Result};

use crate::codec::{StepDecoder, step_to};
use crate::{check_limit, wrong_length, zeroed};

/// The most memory of a decoder: a dictionary of 1 GiB and some tables, in bytes.
const DECODER_MEMORY: u64 = (1 << 30) + (8 << 20);

/// The length of a stream's header, and of its footer, in bytes.
const EDGE: usize = 12;

/// Returns the decoded length from the indexes, without decoding. Fails with `Corrupt` for what is
/// no stream.
///
/// The indexes' checksums are not verified; `decode` does that.
pub(super) fn decoded_len(stream: &[u8]) -> Result<u64> {
    let mut rest = stream;
    let mut total = 0u64;
    loop {
        while let Some(before) = rest.strip_suffix(&[0; 4]) {
            rest = before;
        }
        let (before, len) = last_stream(rest)?;
        total = total
            .checked_add(len)
            .ok_or_else(|| bad("sizes overflow"))?;
        if before.is_empty() {
            return Ok(total);
        }
        rest = before;
    }
}

/// Splits the last stream off: returns the bytes before it, and its decoded length.
fn last_stream(bytes: &[u8]) -> Result<(&[u8], u64)> {
    let (rest, footer) = bytes
        .len()
        .checked_sub(EDGE)
        .and_then(|start| bytes.split_at_checked(start))
        .ok_or_else(|| bad("shorter than a footer"))?;
    // footer: CRC32, backward size / 4 - 1, flags (2), "YZ"
    let &[_, _, _, _, b0, b1, b2, b3, _, _, b'Y', b'Z'] = footer else {
        return Err(bad("no footer at the end"));
    };
    let index_len = (u64::from(u32::from_le_bytes([b0, b1, b2, b3])) + 1) * 4;
    let (rest, mut index) = usize::try_from(index_len)
        .ok()
        .and_then(|len| rest.len().checked_sub(len))
        .and_then(|start| rest.split_at_checked(start))
        .ok_or_else(|| bad("index longer than the stream"))?;
    if take(&mut index)? != 0 {
        return Err(bad("no index before the footer"));
    }
    let records = integer(&mut index)?;
    let (mut stored, mut decoded) = (0u64, 0u64);
    for _ in 0..records {
        let unpadded = integer(&mut index)?;
        let padded = unpadded
            .checked_next_multiple_of(4)
            .ok_or_else(|| bad("block size"))?;
        stored = stored
            .checked_add(padded)
            .ok_or_else(|| bad("sizes overflow"))?;
        decoded = decoded
            .checked_add(integer(&mut index)?)
            .ok_or_else(|| bad("sizes overflow"))?;
    }
    let before = usize::try_from(stored)
        .ok()
        .and_then(|stored| rest.len().checked_sub(stored)?.checked_sub(EDGE))
        .and_then(|start| rest.get(..start))
        .ok_or_else(|| bad("index names more than is there"))?;
    Ok((before, decoded))
}

/// Splits a byte off the front.
fn take(bytes: &mut &[u8]) -> Result<u8> {
    let (&first, rest) = bytes.split_first().ok_or_else(|| bad("index ends early"))?;
    *bytes = rest;
    Ok(first)
}

/// Splits a variable-length integer off the front: 7 bits a byte, least first, at most 9 bytes.
fn integer(bytes: &mut &[u8]) -> Result<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let byte = take(bytes)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(bad("number too long"))
}

/// Decodes streams of up to `limit` bytes of content. Fails with `Limit` if they declare more or
/// need a dictionary above 1 GiB, with `Corrupt` if they are damaged.
pub(super) fn decode(stream: &[u8], limit: u64) -> Result<Vec<u8>> {
    let len = decoded_len(stream)?;
    check_limit(len, limit)?;
    let mut decoded = zeroed(len)?;
    let mut state = State::new()?;
    let found = state.fill(stream, &mut decoded)?;
    if found as u64 != len {
        return Err(wrong_length("xz", len, found as u64));
    }
    state.end(stream)?;
    Ok(decoded)
}

/// The state of a stream that is decoded in parts; every call gets the same stream.
pub(super) struct State {
    decoder: Stream,
    ended: bool,
}

impl State {
    pub(super) fn new() -> Result<Self> {
        let decoder = Stream::new_stream_decoder(DECODER_MEMORY, liblzma::stream::CONCATENATED)
            .map_err(|error| Error::limit("xz: cannot make a decoder").because(error))?;
        Ok(Self {
            decoder,
            ended: false,
        })
    }

    /// Decodes the next bytes: as many as the part holds, fewer only at the stream's end.
    pub(super) fn fill(&mut self, stream: &[u8], part: &mut [u8]) -> Result<usize> {
        let mut written = 0;
        while let Some(output) = part.get_mut(written..).filter(|output| !output.is_empty())
            && !self.ended
        {
            written += self.run(stream, output)?;
        }
        Ok(written)
    }

    fn run(&mut self, stream: &[u8], output: &mut [u8]) -> Result<usize> {
        let (read, written) = (self.decoder.total_in(), self.decoder.total_out());
        let rest = usize::try_from(read).ok().and_then(|at| stream.get(at..));
        let status = self
            .decoder
            .process(rest.unwrap_or_default(), output, Action::Finish)
            .map_err(failed)?;
        self.ended = status == Status::StreamEnd;
        let count = self.decoder.total_out() - written;
        if !self.ended && count == 0 && self.decoder.total_in() == read {
            return Err(bad("more or less content than the index states"));
        }
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// Fails unless the content ends here and the stream's integrity check matches.
    fn end(&mut self, stream: &[u8]) -> Result<()> {
        while !self.ended {
            self.run(stream, &mut [])?;
        }
        Ok(())
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

#[cold]
fn failed(error: liblzma::stream::Error) -> Error {
    use liblzma::stream::Error as Xz;
    match error {
        Xz::MemLimit => Error::limit(format!(
            "xz: the dictionary is above the limit of {DECODER_MEMORY} bytes"
        )),
        Xz::Mem => Error::limit("xz: no memory for the dictionary"),
        Xz::Options | Xz::UnsupportedCheck => Error::unsupported("xz: unknown filter or check"),
        _ => Error::corrupt("xz: damaged stream").because(error),
    }
}

#[cold]
fn bad(what: &str) -> Error {
    Error::corrupt(format!("xz: {what}"))
}
