//! LZ4 by liblz4: blocks by either method, and frames.

mod block;
mod frame;
mod unit;

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use sinterfs_model::Result;

use crate::codec::{Codec, Encode, Filling, Hints};
use crate::cost::BASE;
use crate::options::{Options, Readers};

/// The levels of the fast method: 0, or negative for more speed (the acceleration of liblz4).
const LEVELS: RangeInclusive<i32> = -65_536..=0;

/// The levels of the high-compression method.
const HC_LEVELS: RangeInclusive<i32> = 1..=12;

/// Those that mkdwarfs takes, too: for liblz4, 0 is its default level.
const HC_LEVELS_WITH_DEFAULT: RangeInclusive<i32> = 0..=*HC_LEVELS.end();

/// How far back a match reaches.
const WINDOW: u64 = 1 << 16;

/// Blocks by the fast method.
pub(crate) struct Lz4Codec;

/// Blocks by the high-compression method.
pub(crate) struct Lz4HcCodec;

/// Blocks in a frame.
pub(crate) struct Lz4FrameCodec;

impl Codec for Lz4Codec {
    fn parse(&self, options: &mut Options<'_>) -> Result<Arc<dyn Encode>> {
        let level = options.level(LEVELS, 0)?;
        Ok(Arc::new(Lz4 { level }))
    }

    fn decode(&self, stream: &[u8], len: u64) -> Result<Vec<u8>> {
        block::decode(stream, len)
    }

    fn decode_unit(&self, stream: &[u8], output: &mut [u8]) -> Result<usize> {
        unit::decode(stream, output)
    }

    fn decode_part(&self, stream: &[u8], output: &mut [u8]) -> Result<()> {
        unit::decode_part(stream, output)
    }
}

impl Codec for Lz4HcCodec {
    fn parse(&self, options: &mut Options<'_>) -> Result<Arc<dyn Encode>> {
        let levels = match options.readers() {
            Readers::Programs => HC_LEVELS_WITH_DEFAULT,
            Readers::Kernels => HC_LEVELS,
        };
        let level = options.level(levels, 9)?;
        Ok(Arc::new(Lz4Hc { level }))
    }

    fn decode(&self, stream: &[u8], len: u64) -> Result<Vec<u8>> {
        Lz4Codec.decode(stream, len)
    }

    fn decode_unit(&self, stream: &[u8], output: &mut [u8]) -> Result<usize> {
        Lz4Codec.decode_unit(stream, output)
    }

    fn decode_part(&self, stream: &[u8], output: &mut [u8]) -> Result<()> {
        Lz4Codec.decode_part(stream, output)
    }
}

impl Codec for Lz4FrameCodec {
    fn decode_unit(&self, stream: &[u8], output: &mut [u8]) -> Result<usize> {
        frame::decode(stream, output)
    }
}

/// Encodes by the fast method.
#[derive(Debug)]
struct Lz4 {
    level: i32,
}

impl Encode for Lz4 {
    fn encode_with(&self, raw: &[u8], _hints: Hints<'_>) -> Result<Vec<u8>> {
        block::encode(raw, self.level)
    }

    fn filling(&self) -> Filling {
        match self.level {
            // its tables are finer for short input
            0 => Filling::Ahead,
            _ => Filling::Unknown,
        }
    }

    fn fill(&self, raw: &[u8], room: usize, _hints: Hints<'_>) -> Result<(usize, Vec<u8>)> {
        match self.level {
            0 => block::fill(raw, room),
            _ => Ok((0, Vec::new())),
        }
    }

    fn level(&self) -> i32 {
        self.level
    }

    fn memory(&self, _len: u32) -> u64 {
        BASE
    }

    fn window(&self) -> u64 {
        WINDOW
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level {
            0 => Ok(()),
            level => write!(f, ":level={level}"),
        }
    }
}

/// Encodes by the high-compression method.
#[derive(Debug)]
struct Lz4Hc {
    level: i32,
}

impl Encode for Lz4Hc {
    fn encode_with(&self, raw: &[u8], _hints: Hints<'_>) -> Result<Vec<u8>> {
        block::encode_hc(raw, self.level)
    }

    fn filling(&self) -> Filling {
        Filling::Exact
    }

    fn fill(&self, raw: &[u8], room: usize, _hints: Hints<'_>) -> Result<(usize, Vec<u8>)> {
        block::fill_hc(raw, room, self.level)
    }

    fn level(&self) -> i32 {
        self.level
    }

    fn memory(&self, _len: u32) -> u64 {
        BASE
    }

    fn window(&self) -> u64 {
        WINDOW
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":level={}", self.level)
    }
}
