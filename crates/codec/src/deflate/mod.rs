//! Deflate without a header (RFC 1951), by libdeflate.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use libdeflater::{DecompressionError, Decompressor};
use sinterfs_model::{Error, Result};

use crate::codec::{Codec, Encode, Hints};
use crate::limits::too_long;
use crate::options::Options;
use crate::part;
use crate::zlib::{self, DEFAULT_LEVEL, LEVELS, MEMORY};

thread_local! {
    static DECODER: RefCell<Option<Decompressor>> = const { RefCell::new(None) };
}

/// Deflate without a header.
pub(crate) struct DeflateCodec;

impl Codec for DeflateCodec {
    fn parse(&self, options: &mut Options<'_>) -> Result<Arc<dyn Encode>> {
        let level = options.level(LEVELS, DEFAULT_LEVEL)?;
        Ok(Arc::new(Deflate { level }))
    }

    fn decode_unit(&self, stream: &[u8], output: &mut [u8]) -> Result<usize> {
        fill(stream, output)?.ok_or_else(|| too_long("deflate", output))
    }

    fn decode_part(&self, stream: &[u8], output: &mut [u8]) -> Result<()> {
        part::decode("deflate", output, |output| fill(stream, output))
    }
}

/// Encodes a zlib stream and takes its parts off.
#[derive(Debug)]
struct Deflate {
    level: i32,
}

impl Encode for Deflate {
    fn encode_with(&self, raw: &[u8], _hints: Hints<'_>) -> Result<Vec<u8>> {
        let encoded = zlib::encode(raw, self.level)?;
        Ok(bare(encoded.unwrap_or_else(|| zlib::stored(raw))))
    }

    fn encode_smaller(&self, raw: &[u8], _hints: Hints<'_>) -> Result<Option<Vec<u8>>> {
        Ok(zlib::encode(raw, self.level)?.map(bare))
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

/// Removes the header and the checksum of zlib. A stream must not begin with a zero, which some
/// readers would take for padding: the first byte of a stream that begins with a stored block has
/// unused bits, one of which is set.
fn bare(mut stream: Vec<u8>) -> Vec<u8> {
    const UNUSED: u8 = 1 << 3;
    const HEADER: usize = 2;
    const CHECKSUM: usize = 4;
    stream.truncate(stream.len().saturating_sub(CHECKSUM));
    stream.drain(..HEADER.min(stream.len()));
    if let Some(first @ 0) = stream.first_mut() {
        *first = UNUSED;
    }
    stream
}

/// Decodes one stream; `None` if it has more content than the output holds.
fn fill(stream: &[u8], output: &mut [u8]) -> Result<Option<usize>> {
    let decoded = DECODER.with_borrow_mut(|slot| {
        slot.get_or_insert_with(Decompressor::new)
            .deflate_decompress(stream, output)
    });
    match decoded {
        Ok(len) => Ok(Some(len)),
        Err(DecompressionError::InsufficientSpace) => Ok(None),
        Err(DecompressionError::BadData) => Err(Error::corrupt("deflate: damaged stream")),
    }
}
