//! The .xz format, by liblzma.

mod encode;
mod stream;
mod unit;

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use liblzma::stream::{Check, PRESET_EXTREME};
use sinterfs_model::Result;

use crate::bcj::Bcj;
use crate::codec::{Codec, Encode, Hints, StepDecoder};
use crate::lzma::{LEVELS, dictionary_memory};
use crate::options::{Options, Readers};

/// Dictionaries as powers of two.
const DICTIONARIES: RangeInclusive<u32> = 12..=30;

/// The dictionaries of the presets 0 to 9 as powers of two.
const DICTIONARY_OF_LEVEL: [u32; 10] = [18, 20, 21, 22, 22, 23, 23, 24, 25, 26];

/// The .xz format.
pub(crate) struct XzCodec;

impl Codec for XzCodec {
    fn parse(&self, options: &mut Options<'_>) -> Result<Arc<dyn Encode>> {
        let readers = options.readers();
        let keys = ["dict", "dict_size"];
        let is_general = readers == Readers::Programs;
        Ok(Arc::new(Xz {
            level: options.level(LEVELS, 9)?.unsigned_abs(),
            extreme: options.flag("extreme")?,
            dictionary: if is_general {
                options.number(&keys, DICTIONARIES)?.map(|log| 1 << log)
            } else {
                options.size(&keys)?
            },
            converters: if is_general {
                Vec::from_iter(options.choice("binary", &Bcj::NAMES)?)
            } else {
                options.choices("bcj", &Bcj::NAMES)?
            },
            readers,
        }))
    }

    fn decoded_len(&self, stream: &[u8]) -> Result<Option<u64>> {
        stream::decoded_len(stream).map(Some)
    }

    fn decode(&self, stream: &[u8], len: u64) -> Result<Vec<u8>> {
        stream::decode(stream, len)
    }

    fn decode_unit(&self, stream: &[u8], output: &mut [u8]) -> Result<usize> {
        unit::decode(stream, output)
    }

    fn steps(&self) -> Result<Option<Box<dyn StepDecoder>>> {
        Ok(Some(Box::new(stream::State::new()?)))
    }
}

/// Encodes with LZMA2.
#[derive(Debug)]
struct Xz {
    /// The preset.
    level: u32,
    /// Whether to try harder than the preset.
    extreme: bool,
    /// The dictionary in bytes, instead of the preset's or the readers'.
    dictionary: Option<u32>,
    /// The branch converters that are tried, in addition to none.
    converters: Vec<Bcj>,
    readers: Readers,
}

impl Xz {
    fn preset_dictionary(&self) -> u32 {
        let log = DICTIONARY_OF_LEVEL.get(self.level as usize);
        1 << log.copied().unwrap_or(26)
    }
}

impl Encode for Xz {
    fn encode_with(&self, raw: &[u8], hints: Hints<'_>) -> Result<Vec<u8>> {
        let dictionary = self.dictionary.or(hints.window);
        let dictionary = dictionary.unwrap_or_else(|| self.preset_dictionary());
        let check = match self.readers {
            Readers::Programs => Check::Crc64,
            // some drivers have no other
            Readers::Kernels => Check::Crc32,
        };
        let preset = self.level | if self.extreme { PRESET_EXTREME } else { 0 };
        encode::encode(raw, preset, dictionary, check, &self.converters)
    }

    fn level(&self) -> i32 {
        self.level.cast_signed()
    }

    fn memory(&self, len: u32) -> u64 {
        let unnamed = match self.readers {
            Readers::Programs => self.preset_dictionary(),
            Readers::Kernels => u32::MAX,
        };
        dictionary_memory(self.dictionary.unwrap_or(unnamed), len)
    }

    fn window(&self) -> u64 {
        self.dictionary
            .unwrap_or_else(|| self.preset_dictionary())
            .into()
    }

    fn dictionary(&self) -> Option<u32> {
        self.dictionary
    }

    fn converters(&self) -> &[Bcj] {
        &self.converters
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extreme = if self.extreme { ":extreme" } else { "" };
        write!(f, ":level={}{extreme}", self.level)?;
        let (unit, mut key) = match self.readers {
            Readers::Programs => (u32::ilog2 as fn(u32) -> u32, ":binary="),
            Readers::Kernels => ((|bytes| bytes) as fn(u32) -> u32, ":bcj="),
        };
        if let Some(dictionary) = self.dictionary {
            write!(f, ":dict={}", unit(dictionary))?;
        }
        for bcj in &self.converters {
            write!(f, "{key}{bcj}")?;
            key = ",";
        }
        Ok(())
    }
}
