//! LZO1X streams up to their end marker, by lzokay.

mod encode;

use std::sync::Arc;

use lzokay::Error as Lzo;
use sinterfs_model::{Error, Result};

use crate::codec::{Codec, Encode, Hints};
use crate::limits::too_long;
use crate::options::Options;

/// LZO1X without a header.
pub(crate) struct LzoCodec;

impl Codec for LzoCodec {
    fn parse(&self, _options: &mut Options<'_>) -> Result<Arc<dyn Encode>> {
        Ok(Arc::new(LzoEncoder))
    }

    fn decode_unit(&self, stream: &[u8], output: &mut [u8]) -> Result<usize> {
        // there is no checksum
        lzokay::decompress::decompress(stream, output).map_err(|error| match error {
            Lzo::OutputOverrun => too_long("lzo", output),
            error => Error::corrupt("lzo: damaged stream").because(error),
        })
    }
}

/// Encodes by the one level of lzokay.
#[derive(Debug)]
struct LzoEncoder;

impl Encode for LzoEncoder {
    fn encode_with(&self, raw: &[u8], _hints: Hints<'_>) -> Result<Vec<u8>> {
        encode::encode(raw)
    }

    fn memory(&self, _len: u32) -> u64 {
        1 << 20
    }

    fn window(&self) -> u64 {
        0xbfff
    }
}
