//! Brotli (RFC 7932), with the large-window extension.

mod stream;

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use sinterfs_model::Result;

use crate::codec::{Codec, Encode, Hints, StepDecoder};
use crate::cost::{BASE, log_of};
use crate::options::Options;

const QUALITIES: RangeInclusive<u32> = 0..=11;
const WINDOWS: RangeInclusive<u32> = 10..=30;

/// Brotli streams.
pub(crate) struct BrotliCodec;

impl Codec for BrotliCodec {
    fn parse(&self, options: &mut Options<'_>) -> Result<Arc<dyn Encode>> {
        Ok(Arc::new(Brotli {
            quality: options.number(&["quality"], QUALITIES)?.unwrap_or(11),
            lgwin: options.number(&["lgwin"], WINDOWS)?.unwrap_or(22),
        }))
    }

    fn decode(&self, stream: &[u8], len: u64) -> Result<Vec<u8>> {
        stream::decode(stream, len)
    }

    fn steps(&self) -> Result<Option<Box<dyn StepDecoder>>> {
        Ok(Some(Box::new(stream::State::new()?)))
    }
}

/// Encodes.
#[derive(Debug)]
struct Brotli {
    quality: u32,
    /// The window as a power of two; above 24 it is of the large-window extension.
    lgwin: u32,
}

impl Encode for Brotli {
    fn encode_with(&self, raw: &[u8], _hints: Hints<'_>) -> Result<Vec<u8>> {
        stream::encode(raw, self.quality, self.lgwin)
    }

    fn level(&self) -> i32 {
        self.quality.cast_signed()
    }

    fn memory(&self, len: u32) -> u64 {
        BASE + (1 << self.lgwin.min(log_of(len))) * 16 + u64::from(len) * 3
    }

    fn window(&self) -> u64 {
        1 << self.lgwin
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":quality={}:lgwin={}", self.quality, self.lgwin)
    }
}
