//! LZMA with the header of `.lzma` files, and the parts that .xz shares with it.

mod decode;
mod encode;
mod liblzma;

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use sinterfs_model::Result;

use crate::codec::{Codec, Encode, Hints};
use crate::cost::{BASE, log_of};
use crate::options::Options;

pub(crate) use self::encode::lzma_options;
pub(crate) use self::liblzma::{
    LZMA_TABLES, cannot_encode, finish, lzma_error, position, run_lzma,
};

/// The presets of liblzma.
pub(crate) const LEVELS: RangeInclusive<i32> = 0..=9;

/// Returns the memory for a block of `len` bytes with a dictionary of up to `dictionary` bytes.
pub(crate) fn dictionary_memory(dictionary: u32, len: u32) -> u64 {
    // binary trees: the dictionary twice, two links a position, hash tables
    let dictionary = u64::from(dictionary).min(1 << log_of(len));
    BASE + dictionary * 23 / 2
}

/// LZMA with the header of `.lzma` files.
pub(crate) struct LzmaCodec;

impl Codec for LzmaCodec {
    fn parse(&self, options: &mut Options<'_>) -> Result<Arc<dyn Encode>> {
        Ok(Arc::new(Lzma {
            level: options.level(LEVELS, 6)?.unsigned_abs(),
            dictionary: options.size(&["dict", "dict_size"])?,
        }))
    }

    fn decode_unit(&self, stream: &[u8], output: &mut [u8]) -> Result<usize> {
        decode::decode(stream, output)
    }
}

/// Encodes by liblzma.
#[derive(Debug)]
struct Lzma {
    /// The preset.
    level: u32,
    /// The dictionary in bytes, instead of the readers'.
    dictionary: Option<u32>,
}

impl Encode for Lzma {
    fn encode_with(&self, raw: &[u8], hints: Hints<'_>) -> Result<Vec<u8>> {
        let dictionary = self.dictionary.or(hints.window);
        encode::encode(raw, self.level, dictionary.unwrap_or(u32::MAX))
    }

    fn level(&self) -> i32 {
        self.level.cast_signed()
    }

    fn memory(&self, len: u32) -> u64 {
        dictionary_memory(self.dictionary.unwrap_or(u32::MAX), len)
    }

    fn window(&self) -> u64 {
        self.dictionary.unwrap_or(u32::MAX).into()
    }

    fn dictionary(&self) -> Option<u32> {
        self.dictionary
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":level={}", self.level)?;
        match self.dictionary {
            Some(bytes) => write!(f, ":dict={bytes}"),
            None => Ok(()),
        }
    }
}
