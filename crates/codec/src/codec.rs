//! The trait of codecs: a decoder of its streams, and options, which encode.
//!
//! In: streams, blocks, options as text. Out: the other of the two. **Invariants:** a decoder
//! returns the declared number of bytes or an error; the result of an encoder depends on the bytes
//! and the options only, not on the idle threads that share the work.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use sinterfs_model::{Category, Error, Result};
use sinterfs_workers::{MemoryNeeds, WorkerPermits};

use super::bcj::Bcj;
use super::options::Options;
use super::{wrong_length, zeroed};

/// A codec of this build: one row of [`CODECS`](super::CODECS).
pub trait Codec: Sync {
    /// Parses the options of an encoder. `Unsupported` for a codec that only decodes.
    fn parse(&self, _options: &mut Options<'_>) -> Result<Arc<dyn Encode>> {
        Err(Error::unsupported("a codec that only decodes"))
    }

    /// Returns the decoded length if the stream states it, without decoding it.
    fn decoded_len(&self, _stream: &[u8]) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Decodes a stream of `len` bytes, which the caller has compared with its limit; of up to
    /// `len` bytes if the stream states its length.
    fn decode(&self, stream: &[u8], len: u64) -> Result<Vec<u8>> {
        let mut decoded = zeroed(len)?;
        match self.decode_unit(stream, &mut decoded)? as u64 {
            found if found == len => Ok(decoded),
            found => Err(wrong_length("codec", len, found)),
        }
    }

    /// Decodes a stream, which is not empty, into the front of `output` and returns the number of
    /// bytes. Bytes after the stream's end are ignored.
    fn decode_unit(&self, _stream: &[u8], _output: &mut [u8]) -> Result<usize> {
        Err(Error::unsupported("a codec of streams of a known length"))
    }

    /// Fills `output` with the first bytes of the content, which may be longer.
    fn decode_part(&self, _stream: &[u8], _output: &mut [u8]) -> Result<()> {
        Err(Error::unsupported(
            "a codec that decodes whole streams only",
        ))
    }

    /// Starts to decode in steps; `None` if the codec decodes whole streams only.
    fn steps(&self) -> Result<Option<Box<dyn StepDecoder>>> {
        Ok(None)
    }
}

/// A stream that is decoded in steps; every call gets the same stream.
pub trait StepDecoder: Send {
    /// Decodes the bytes after the last decoded ones, to `end` or the end of a unit of the
    /// codec's own. `decoded` has room for the whole content and is not changed between the steps.
    fn step(&mut self, stream: &[u8], decoded: &mut Vec<u8>, end: usize) -> Result<()>;

    /// Checks that the content ends here.
    fn finish(&mut self, stream: &[u8], decoded: &mut Vec<u8>) -> Result<()>;

    /// Returns whether the decoder allocates a window, no longer than the decoded bytes.
    fn has_window(&self) -> bool {
        true
    }
}

/// Decodes a step of a codec that fills buffers: up to `end`, or less at the stream's end.
#[cfg(any(feature = "brotli", feature = "lzma"))]
pub(super) fn step_to(
    decoded: &mut Vec<u8>,
    end: usize,
    fill: impl FnOnce(&mut [u8]) -> Result<usize>,
) -> Result<()> {
    let start = decoded.len();
    decoded.resize(end, 0);
    let found = fill(decoded.get_mut(start..).unwrap_or_default())?;
    decoded.truncate(start.saturating_add(found));
    Ok(())
}

/// The options of a codec, which encode.
pub trait Encode: fmt::Debug + Any + Send + Sync {
    /// Encodes a block into the codec's own stream, which may be longer than the block.
    fn encode_with(&self, raw: &[u8], hints: Hints<'_>) -> Result<Vec<u8>>;

    /// As [`Self::encode_with`]; `None` if the stream is not smaller than the block.
    fn encode_smaller(&self, raw: &[u8], hints: Hints<'_>) -> Result<Option<Vec<u8>>> {
        let encoded = self.encode_with(raw, hints)?;
        Ok((encoded.len() < raw.len()).then_some(encoded))
    }

    /// Returns how the codec fills a given room.
    fn filling(&self) -> Filling {
        Filling::Unknown
    }

    /// Encodes as much of `raw`, which is not empty, as fits in a stream of `room` bytes, and
    /// returns how much that is: nothing if the codec cannot stop at a given length.
    fn fill(&self, _raw: &[u8], _room: usize, _hints: Hints<'_>) -> Result<(usize, Vec<u8>)> {
        Ok((0, Vec::new()))
    }

    /// Returns the level; 0 for a codec without levels.
    fn level(&self) -> i32 {
        0
    }

    /// Returns an upper bound of the memory in bytes for encoding a block of `len` bytes, without
    /// the block, its encoded form, and what it reserves ([`Self::memory_needs`]).
    fn memory(&self, len: u32) -> u64;

    /// Returns what encoding a block of `len` bytes needs while it holds a memory permit.
    fn memory_needs(&self, _len: u32) -> Option<MemoryNeeds> {
        None
    }

    /// Returns the distance in bytes up to which the codec finds repeats in a block; 0 for a codec
    /// that does not look for any.
    fn window(&self) -> u64;

    /// Returns the dictionary in bytes that the options name, for formats that record it.
    fn dictionary(&self) -> Option<u32> {
        None
    }

    /// Returns the branch converters that the options name, for formats that record them.
    fn converters(&self) -> &[Bcj] {
        &[]
    }

    /// Writes the options as text, each after a colon.
    fn write(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

/// What an encoder gets beside the block.
#[derive(Debug, Clone, Copy)]
pub struct Hints<'a> {
    /// What the block contains.
    pub category: Category,
    /// The longest distance in bytes that readers are prepared for, if the options name none.
    pub window: Option<u32>,
    /// The places of idle threads, which may share the block.
    pub permits: &'a WorkerPermits,
}

/// How a codec fills a stream of a given length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filling {
    /// It stops when the room is full.
    Exact,
    /// It stops when the room is full, but adapts to the length of its input first.
    Ahead,
    /// It cannot stop at a given length.
    Unknown,
}

/// Makes the error for something that needs a Cargo feature.
#[cold]
pub(super) fn left_out(name: &str, feature: &str) -> Error {
    Error::unsupported(format!(
        "{name}: not in this build of the program (Cargo feature `{feature}`)"
    ))
}
