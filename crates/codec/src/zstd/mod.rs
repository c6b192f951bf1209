//! Zstandard (RFC 8878), by zstd and by an encoder of our own.

mod cost;
mod encoder;
mod frame;
mod unit;

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use sinterfs_model::Result;
use sinterfs_workers::MemoryNeeds;

use crate::codec::{Codec, Encode, Hints, StepDecoder};
use crate::cost::{OWN_REACH, own_needs};
use crate::options::{Options, Readers};

pub(crate) use frame::encode;

/// The levels; those below 1 are fast.
const LEVELS: RangeInclusive<i32> = -131_072..=22;
const WINDOWS: RangeInclusive<u32> = 10..=31;

/// Zstandard.
pub(crate) struct ZstdCodec;

impl Codec for ZstdCodec {
    fn parse(&self, options: &mut Options<'_>) -> Result<Arc<dyn Encode>> {
        if options.readers() == Readers::Kernels {
            return Ok(Arc::new(Zstd {
                level: options.level(LEVELS, 22)?,
                window: None,
                long: false,
            }));
        }
        let window = ["window", "wlog"];
        if options.has("optimal") {
            let effort = options.flag_or_number("optimal", encoder::EFFORTS)?;
            return Ok(Arc::new(ZstdOptimal {
                effort: effort.unwrap_or(encoder::DEFAULT_EFFORT),
                window: options.number(&window, encoder::WINDOWS)?,
            }));
        }
        Ok(Arc::new(Zstd {
            level: options.level(LEVELS, 22)?,
            window: options.number(&window, WINDOWS)?,
            long: options.flag("long")?,
        }))
    }

    fn decoded_len(&self, stream: &[u8]) -> Result<Option<u64>> {
        frame::decoded_len(stream).map(Some)
    }

    fn decode(&self, stream: &[u8], len: u64) -> Result<Vec<u8>> {
        frame::decode(stream, len)
    }

    fn decode_unit(&self, stream: &[u8], output: &mut [u8]) -> Result<usize> {
        unit::decode(stream, output)
    }

    fn decode_part(&self, stream: &[u8], output: &mut [u8]) -> Result<()> {
        unit::decode_part(stream, output)
    }

    fn steps(&self) -> Result<Option<Box<dyn StepDecoder>>> {
        Ok(Some(Box::new(frame::State::new()?)))
    }
}

/// Encodes by zstd.
#[derive(Debug, Clone, Copy)]
struct Zstd {
    level: i32,
    /// The window as a power of two, instead of the level's.
    window: Option<u32>,
    /// Whether to look for matches far apart with a separate table.
    long: bool,
}

impl Encode for Zstd {
    fn encode_with(&self, raw: &[u8], hints: Hints<'_>) -> Result<Vec<u8>> {
        let most = hints.window.filter(|&most| raw.len() > most as usize);
        let window = self.window.or(most.and_then(u32::checked_ilog2));
        encode(raw, self.level, window, self.long)
    }

    fn level(&self) -> i32 {
        self.level
    }

    fn memory(&self, len: u32) -> u64 {
        cost::memory(self.level, self.window, self.long, len)
    }

    fn window(&self) -> u64 {
        1 << self.window.unwrap_or(cost::window_of(self.level))
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":level={}", self.level)?;
        if let Some(window) = self.window {
            write!(f, ":window={window}")?;
        }
        f.write_str(if self.long { ":long" } else { "" })
    }
}

/// Encodes by the encoder of this crate: as small as by the highest level of zstd, for less work.
#[derive(Debug)]
struct ZstdOptimal {
    effort: u32,
    /// How far back matches may reach as a power of two, instead of 64 MiB.
    window: Option<u32>,
}

impl Encode for ZstdOptimal {
    fn encode_with(&self, raw: &[u8], hints: Hints<'_>) -> Result<Vec<u8>> {
        encoder::encode(raw, self.effort, self.window, hints.permits)
    }

    fn memory(&self, _len: u32) -> u64 {
        // the matches of a stretch, which a thread keeps
        crate::cost::BASE + (16 << 20)
    }

    fn memory_needs(&self, len: u32) -> Option<MemoryNeeds> {
        Some(own_needs(len, 0))
    }

    fn window(&self) -> u64 {
        1 << self.window.unwrap_or(OWN_REACH)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":optimal={}", self.effort)?;
        match self.window {
            Some(window) => write!(f, ":window={window}"),
            None => Ok(()),
        }
    }
}
