//! The compression of an image: one codec with its options, parsed, printed and as stored.
//!
//! In: text like `zstd:level=19`, then raw bytes. Out: streams of the codec. **Invariant:** the
//! result depends only on the bytes and the options. Format: `docs/formats/squashfs.md`,
//! "Compressor options".

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use sinterfs_codec::{Bcj, CodecId, Encoding, Options};
use sinterfs_model::{Error, Result, Setting};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32};

use crate::codecs::{self, DIALECT, ZSTD_LEVEL};
use crate::layout::{self, options as stored};

/// The codec of an image, and its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compression(Encoding);

/// The highest level that the compressor options of gzip can store.
const GZIP_STORED_MAX: i32 = 9;

/// The smallest dictionary in bytes.
const DICTIONARY_MIN: u32 = 8192;

/// Unsupported options of mksquashfs' compressors, with reasons.
const REFUSED: [(&str, &str, &str); 5] = [
    (
        "gzip",
        "window",
        "readers use 32 KiB in any case, and a smaller one only makes images larger",
    ),
    (
        "gzip",
        "strategy",
        "libdeflate has no strategies: it chooses its codes for each block",
    ),
    ("lzo", "level", "there is one level"),
    ("lzo", "algorithm", "there is one search of matches"),
    ("lz4", "hc", "use lz4hc"),
];

/// The length from which a slow codec is used only if a fast one saves something: small blocks and
/// metadata blocks nearly always compress.
const TRIAL_MIN: usize = 16 << 10;

impl Compression {
    /// Encodes a block of an image with the given block size; `None` if that does not make it
    /// smaller.
    pub fn encode(&self, raw: &[u8], block_size: u32) -> Result<Option<Vec<u8>>> {
        if self.is_slow() && raw.len() >= TRIAL_MIN {
            let trial = Encoding::at_level(CodecId::Zstd, 1)?;
            if trial.encode_unit(raw, None)?.is_none() {
                return Ok(None);
            }
        }
        let has_dictionary = matches!(self.codec(), CodecId::Xz | CodecId::Lzma);
        self.encode_unit(raw, has_dictionary.then_some(block_size))
    }

    /// Returns whether the codec is some ten times slower than a trial with a fast one.
    fn is_slow(&self) -> bool {
        match self.codec() {
            CodecId::Xz | CodecId::Lzma => true,
            CodecId::Zstd => self.level() >= 13,
            _ => false,
        }
    }

    /// Returns the codec's id in the superblock.
    pub(super) fn id(&self) -> layout::Compressor {
        codecs::id(self.codec()).unwrap_or(layout::Compressor::ZSTD)
    }

    /// Returns the stored options; `None` if all have the values that readers assume.
    pub(super) fn stored_options(&self, block_size: u32) -> Option<Vec<u8>> {
        match self.codec() {
            CodecId::Zlib if self.level() < GZIP_STORED_MAX => {
                let options = stored::Gzip {
                    level: U32::new(self.level().unsigned_abs()),
                    window: U16::new(15),
                    strategies: U16::new(0),
                };
                Some(options.as_bytes().to_vec())
            }
            CodecId::Xz => {
                let bits = |bits, &bcj: &Bcj| bits | bit(bcj);
                let options = stored::Xz {
                    dictionary: U32::new(self.dictionary().unwrap_or(block_size)),
                    filters: U32::new(self.converters().iter().fold(0, bits)),
                };
                let usual = options.dictionary.get() == block_size && options.filters.get() == 0;
                (!usual).then(|| options.as_bytes().to_vec())
            }
            codec @ (CodecId::Lz4 | CodecId::Lz4Hc) => {
                let hc = codec == CodecId::Lz4Hc;
                let options = stored::Lz4 {
                    version: U32::new(stored::Lz4::BLOCK),
                    flags: U32::new(if hc { stored::Lz4::HC } else { 0 }),
                };
                Some(options.as_bytes().to_vec())
            }
            CodecId::Zstd if self.level() != ZSTD_LEVEL => {
                // the field is unsigned, and readers refuse values other than 1 to 22
                let options = stored::Zstd {
                    level: U32::new(self.level().max(1).unsigned_abs()),
                };
                Some(options.as_bytes().to_vec())
            }
            _ => None,
        }
    }

    /// Fails with `Invalid` for options that do not fit the block size.
    pub(super) fn check(&self, block_size: u32) -> Result<()> {
        let Some(dictionary) = self.dictionary() else {
            return Ok(());
        };
        let third = dictionary / 3;
        let is_form =
            dictionary.is_power_of_two() || (dictionary == third * 3 && third.is_power_of_two());
        if (DICTIONARY_MIN..=block_size).contains(&dictionary) && is_form {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "a dictionary of {dictionary} bytes: must be a power of two, or three times one, from \
             {DICTIONARY_MIN} to the block size, {block_size}"
        )))
    }
}

/// Returns the bit of a branch converter in the stored options.
const fn bit(bcj: Bcj) -> u32 {
    match bcj {
        Bcj::X86 => stored::Xz::X86,
        Bcj::PowerPc => stored::Xz::POWERPC,
        Bcj::Ia64 => stored::Xz::IA64,
        Bcj::Arm => stored::Xz::ARM,
        Bcj::ArmThumb => stored::Xz::ARM_THUMB,
        Bcj::Sparc => stored::Xz::SPARC,
        Bcj::Arm64 => stored::Xz::ARM64,
        Bcj::RiscV => stored::Xz::RISCV,
    }
}

impl Deref for Compression {
    type Target = Encoding;

    fn deref(&self) -> &Encoding {
        &self.0
    }
}

impl Default for Compression {
    fn default() -> Self {
        Self(DIALECT.usual(CodecId::Zstd))
    }
}

impl FromStr for Compression {
    type Err = Error;

    /// Parses `gzip:level=9`, `lzo`, `lz4:level=0`, `lz4hc:level=12`,
    /// `xz:level=6:extreme:dict=64k:bcj=x86,arm`, `zstd:level=15`, `lzma:level=6:dict=64k`; every
    /// option is optional.
    fn from_str(text: &str) -> Result<Self> {
        let options = Options::new(text, DIALECT.readers)?;
        for (codec, option, why) in REFUSED {
            if codec == options.name() && options.has(option) {
                return Err(Error::invalid(format!(
                    "compression `{text}`: no option `{option}`: {why}"
                )));
            }
        }
        if matches!(options.name(), "none" | "null") {
            let option = Setting("uncompressed");
            let what = format!("compression `{text}`: to compress nothing, use {option}=all");
            return Err(Error::invalid(what).about([option]));
        }
        DIALECT.parse(text).map(Self)
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Compression> {
        text.parse()
    }

    #[test]
    fn text_comes_back() {
        for text in [
            "gzip:level=12",
            "lzo",
            "lz4:level=-3",
            "lz4hc:level=12",
            "xz:level=6",
            "xz:level=9:extreme:dict=65536:bcj=x86,arm64",
            "lzma:level=6",
            "zstd:level=-5",
        ] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        assert_eq!(parse("zstd").unwrap(), Compression::default());
        assert_eq!(
            parse("xz:dict=96k").unwrap(),
            parse("xz:dict=98304").unwrap()
        );
        assert_eq!(parse("zlib").unwrap(), parse("gzip:level=9").unwrap());
    }

    #[test]
    fn refuses_unsupported_codec_options_with_a_reason() {
        for (text, why) in [
            ("gzip:window=9", "32 KiB"),
            ("gzip:strategy=default", "libdeflate"),
            ("lzo:level=9", "one level"),
            ("lz4:hc", "lz4hc"),
            ("gzip:level=13", "1..12"),
            ("brotli", "SquashFS has no"),
            ("none", "`uncompressed`=all"),
            ("xz:bcj=x87", "bcj="),
            ("xz:bcj=x86,x86", "twice"),
            ("zstd:window=20", "unknown option"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn dictionaries_fit_blocks() {
        let check = |text: &str| parse(text).unwrap().check(1 << 17);
        for text in ["xz", "xz:dict=8k", "xz:dict=96k", "lzma:dict=128k"] {
            check(text).unwrap();
        }
        for text in [
            "xz:dict=4k",
            "xz:dict=256k",
            "xz:dict=40k",
            "xz:dict=0",
            "lzma:dict=2048m",
        ] {
            assert!(check(text).is_err(), "{text}");
        }
    }

    #[test]
    fn options_are_stored_where_readers_would_assume_others() {
        let options = |text: &str| parse(text).unwrap().stored_options(1 << 17);
        for text in ["gzip", "lzo", "xz", "xz:dict=128k", "zstd", "lzma"] {
            assert_eq!(options(text), None, "{text}");
        }
        assert_eq!(options("lz4").unwrap(), [1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(options("lz4hc").unwrap(), [1, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(options("zstd:level=3").unwrap(), [3, 0, 0, 0]);
        assert_eq!(options("zstd:level=-3").unwrap(), [1, 0, 0, 0]);
        assert_eq!(options("gzip:level=1").unwrap(), [1, 0, 0, 0, 15, 0, 0, 0]);
        assert_eq!(
            options("xz:bcj=arm64,x86").unwrap(),
            [0, 0, 2, 0, 0x41, 0, 0, 0]
        );
    }
}
