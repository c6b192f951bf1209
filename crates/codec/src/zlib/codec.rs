//! The options of zlib streams.

use std::fmt;
use std::sync::Arc;

use sinterfs_model::Result;

use super::encode::encode;
use super::{LEVELS, decode, stored};
use crate::codec::{Codec, Encode, Hints};
use crate::options::Options;

/// The level if none is named.
pub(crate) const DEFAULT_LEVEL: i32 = 9;

/// The tables of the strongest levels of libdeflate, in bytes.
pub(crate) const MEMORY: u64 = 10 << 20;

/// Deflate in a zlib stream.
pub(crate) struct ZlibCodec;

impl Codec for ZlibCodec {
    fn parse(&self, options: &mut Options<'_>) -> Result<Arc<dyn Encode>> {
        let level = options.level(LEVELS, DEFAULT_LEVEL)?;
        Ok(Arc::new(Zlib { level }))
    }

    fn decode_unit(&self, stream: &[u8], output: &mut [u8]) -> Result<usize> {
        decode::decode(stream, output)
    }
}

/// Encodes by libdeflate.
#[derive(Debug)]
struct Zlib {
    level: i32,
}

impl Encode for Zlib {
    fn encode_with(&self, raw: &[u8], _hints: Hints<'_>) -> Result<Vec<u8>> {
        let encoded = encode(raw, self.level)?;
        Ok(encoded.unwrap_or_else(|| stored(raw)))
    }

    fn encode_smaller(&self, raw: &[u8], _hints: Hints<'_>) -> Result<Option<Vec<u8>>> {
        encode(raw, self.level)
    }

    fn level(&self) -> i32 {
        self.level
    }

    fn memory(&self, _len: u32) -> u64 {
        MEMORY
    }

    fn window(&self) -> u64 {
        1 << 15
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":level={}", self.level)
    }
}
