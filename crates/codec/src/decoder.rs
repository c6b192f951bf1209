//! A block that is decoded step by step from its start.
//!
//! In: a whole stream in memory. Out: its content up to a position that advances in steps.
//!
//! **Invariant:** the declared length is compared with the limit before anything is allocated, and
//! never exceeded. The last step succeeds only if the stream ends there; damage after the decoded
//! position is not detected yet.

use std::fmt;

use sinterfs_model::Result;

use super::bytes::Bytes;
use super::codec::StepDecoder;
use super::table::CodecId;
use super::{check_limit, with_room, wrong_length};

/// The bytes that a step decodes if the codec has no units: half a millisecond or less.
/// (brotli decodes up to a window at once and then returns it step by step.)
const STEP: usize = 64 << 10;

/// The most bytes that a step decodes: a block of zstd.
const STEP_MAX: usize = 128 << 10;

/// The bytes whose memory gets pages at once, so that blocks of which little is read take little.
const POPULATED: usize = 256 << 10;

/// Decodes a stream step by step.
pub struct Decoder {
    codec: CodecId,
    steps: Box<dyn StepDecoder>,
    stream: Bytes,
    decoded: Vec<u8>,
    len: usize,
    /// The end of the bytes whose memory has pages.
    populated: usize,
}

impl Decoder {
    /// Starts to decode what [`Codec::decode`](crate::Codec::decode) decodes, with the same errors;
    /// `None` if the codec only decodes whole streams.
    pub fn new(codec: CodecId, stream: Bytes, len: u64) -> Result<Option<Self>> {
        let row = codec.codec()?;
        let len = match row.decoded_len(&stream)? {
            Some(stated) => {
                check_limit(stated, len)?;
                stated
            }
            None => len,
        };
        let Some(steps) = row.steps()? else {
            return Ok(None);
        };
        Ok(Some(Self {
            codec,
            steps,
            decoded: with_room(len)?,
            stream,
            len: usize::try_from(len).unwrap_or(usize::MAX),
            populated: 0,
        }))
    }

    /// Returns the length of the whole content in bytes.
    pub fn len(&self) -> u64 {
        self.len as u64
    }

    /// Returns whether the content is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bytes that have been decoded.
    pub fn decoded(&self) -> &[u8] {
        &self.decoded
    }

    /// Returns whether all has been decoded.
    pub fn is_finished(&self) -> bool {
        self.decoded.len() == self.len
    }

    /// Takes the bytes that have been decoded.
    pub fn into_decoded(self) -> Vec<u8> {
        self.decoded
    }

    /// Returns an upper bound of the memory in use: the stream, the decoded bytes, the decoder's
    /// tables, and its window if it has one of its own, which is no longer than the decoded bytes.
    pub fn memory(&self) -> u64 {
        const TABLES: u64 = 256 << 10;
        let decoded = self.decoded.len().max(self.populated) as u64;
        let window = if self.steps.has_window() { decoded } else { 0 };
        (self.stream.len() as u64)
            .saturating_add(decoded)
            .saturating_add(window)
            .saturating_add(TABLES)
    }

    /// Decodes some 100 KiB more, or the rest. After an error nothing more can be decoded, but the
    /// bytes decoded before stay.
    pub fn advance(&mut self) -> Result<()> {
        let start = self.decoded.len();
        self.populate(start);
        let done = self.step(start);
        if done.is_err() {
            self.decoded.truncate(start);
        }
        done
    }

    /// Populates the memory that a step from `start` on writes.
    fn populate(&mut self, start: usize) {
        if start.saturating_add(STEP_MAX) <= self.populated {
            return;
        }
        let from = self.populated.max(start);
        let to = from.saturating_add(POPULATED).min(self.len);
        let room = self.decoded.spare_capacity_mut();
        if let Some(room) = room.get_mut(from.saturating_sub(start)..to.saturating_sub(start)) {
            sinterfs_platform::memory::populate(room);
        }
        self.populated = to;
    }

    fn step(&mut self, start: usize) -> Result<()> {
        let stream: &[u8] = &self.stream;
        let end = start.saturating_add(STEP).min(self.len);
        self.steps.step(stream, &mut self.decoded, end)?;
        if self.is_finished() {
            self.steps.finish(stream, &mut self.decoded)?;
        } else if self.decoded.len() <= start || self.decoded.len() > self.len {
            let found = self.decoded.len() as u64;
            return Err(wrong_length(self.codec.name(), self.len(), found));
        }
        Ok(())
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("codec", &self.codec)
            .field("len", &self.len)
            .field("decoded", &self.decoded.len())
            .finish_non_exhaustive()
    }
}
