//! The compression of an image: one codec with its options, parsed, printed and as stored.
//!
//! In: text like `zstd:level=19`, then raw bytes. Out: streams of the codec. **Invariant:** the
//! result depends only on the bytes and the options. Format: `docs/formats/squashfs.md`,
//! "Compressor options".

use std::fmt;
use std::str::FromStr;

use sinterfs_codec::unit::encode;
use sinterfs_codec::{Bcj, Encoding, Options, levels};
use sinterfs_model::{Error, Result, Setting};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32};

use crate::layout::{self, options as stored};

/// The codec of an image, and its options.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Deflate.
    Gzip {
        /// The level; those above 9 are stronger than zlib's.
        level: i32,
    },
    /// LZMA as in `.lzma` files, which no kernel reads.
    Lzma {
        /// The preset of liblzma.
        level: u32,
        /// The dictionary in bytes, instead of the block size.
        dictionary: Option<u32>,
    },
    /// LZO1X.
    Lzo,
    /// LZMA2 in .xz streams.
    Xz {
        /// The preset of liblzma.
        level: u32,
        /// Whether to use the preset's extreme variant.
        extreme: bool,
        /// The dictionary in bytes, instead of the block size.
        dictionary: Option<u32>,
        /// The branch converters that are tried for each block, in addition to none.
        converters: Vec<Bcj>,
    },
    /// LZ4 by the fast method.
    Lz4 {
        /// 0, or negative for faster and larger.
        level: i32,
    },
    /// LZ4 by the high-compression method.
    Lz4Hc {
        /// The level.
        level: i32,
    },
    /// Zstandard.
    Zstd {
        /// The level; those below 1 are fast ones.
        level: i32,
    },
}

/// The default levels: as in mksquashfs, except for LZ4, for which mksquashfs uses the highest: a
/// fifth slower than this one for 0.06 % of size.
const GZIP_DEFAULT: i32 = 9;
const LZMA_DEFAULT: u32 = 6;
const LZ4HC_DEFAULT: i32 = 11;
const ZSTD_DEFAULT: i32 = 15;

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
        if self.is_slow() && raw.len() >= TRIAL_MIN && encode::zstd(raw, 1)?.is_none() {
            return Ok(None);
        }
        match self {
            Self::Gzip { level } => encode::zlib(raw, *level),
            Self::Lzma { level, dictionary } => {
                encode::lzma(raw, *level, dictionary.unwrap_or(block_size))
            }
            Self::Lzo => encode::lzo(raw),
            Self::Xz {
                level,
                extreme,
                dictionary,
                converters,
            } => {
                let options = encode::XzOptions {
                    level: *level,
                    extreme: *extreme,
                    dictionary: dictionary.unwrap_or(block_size),
                    converters,
                };
                encode::xz(raw, options)
            }
            Self::Lz4 { level } => encode::lz4(raw, *level),
            Self::Lz4Hc { level } => encode::lz4_hc(raw, *level),
            Self::Zstd { level } => encode::zstd(raw, *level),
        }
    }

    /// Returns whether the codec is some ten times slower than a trial with a fast one.
    fn is_slow(&self) -> bool {
        match self {
            Self::Xz { .. } | Self::Lzma { .. } => true,
            Self::Zstd { level } => *level >= 13,
            Self::Gzip { .. } | Self::Lzo | Self::Lz4 { .. } | Self::Lz4Hc { .. } => false,
        }
    }

    /// Returns the codec's id in the superblock.
    pub(super) fn id(&self) -> layout::Compressor {
        match self {
            Self::Gzip { .. } => layout::Compressor::GZIP,
            Self::Lzma { .. } => layout::Compressor::LZMA,
            Self::Lzo => layout::Compressor::LZO,
            Self::Xz { .. } => layout::Compressor::XZ,
            Self::Lz4 { .. } | Self::Lz4Hc { .. } => layout::Compressor::LZ4,
            Self::Zstd { .. } => layout::Compressor::ZSTD,
        }
    }

    /// Returns the stored options; `None` if all have the values that readers assume.
    pub(super) fn stored_options(&self, block_size: u32) -> Option<Vec<u8>> {
        match self {
            Self::Gzip { level } if *level >= GZIP_STORED_MAX => None,
            Self::Gzip { level } => {
                let options = stored::Gzip {
                    level: U32::new(level.unsigned_abs()),
                    window: U16::new(15),
                    strategies: U16::new(0),
                };
                Some(options.as_bytes().to_vec())
            }
            Self::Lzma { .. } | Self::Lzo => None,
            Self::Xz {
                dictionary,
                converters,
                ..
            } => {
                let options = stored::Xz {
                    dictionary: U32::new(dictionary.unwrap_or(block_size)),
                    filters: U32::new(converters.iter().fold(0, |bits, &bcj| bits | bit(bcj))),
                };
                let usual = options.dictionary.get() == block_size && converters.is_empty();
                (!usual).then(|| options.as_bytes().to_vec())
            }
            Self::Lz4 { .. } | Self::Lz4Hc { .. } => {
                let hc = matches!(self, Self::Lz4Hc { .. });
                let options = stored::Lz4 {
                    version: U32::new(stored::Lz4::BLOCK),
                    flags: U32::new(if hc { stored::Lz4::HC } else { 0 }),
                };
                Some(options.as_bytes().to_vec())
            }
            Self::Zstd { level } => {
                // the field is unsigned, and readers refuse values other than 1 to 22
                let stored_level = (*level).max(1).unsigned_abs();
                let options = stored::Zstd {
                    level: U32::new(stored_level),
                };
                (*level != ZSTD_DEFAULT).then(|| options.as_bytes().to_vec())
            }
        }
    }

    /// Fails with `Invalid` for options that do not fit the block size.
    pub(super) fn check(&self, block_size: u32) -> Result<()> {
        let (Self::Lzma {
            dictionary: Some(dictionary),
            ..
        }
        | Self::Xz {
            dictionary: Some(dictionary),
            ..
        }) = *self
        else {
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

    /// Returns an upper bound of the memory for encoding a block of `len` bytes.
    pub(super) fn memory(&self, len: u32) -> u64 {
        let own = |encoding: Encoding| encoding.memory(len);
        match self {
            // the tables of the strongest levels of libdeflate
            Self::Gzip { .. } => 10 << 20,
            Self::Lzo => 1 << 20,
            Self::Lzma { level, .. } | Self::Xz { level, .. } => own(Encoding::Lzma {
                level: *level,
                extreme: false,
                dict: None,
                binary: None,
            }),
            Self::Lz4 { level } => own(Encoding::Lz4 { level: *level }),
            Self::Lz4Hc { level } => own(Encoding::Lz4Hc { level: *level }),
            Self::Zstd { level } => own(Encoding::Zstd {
                level: *level,
                window: None,
                long: false,
            }),
        }
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

impl Default for Compression {
    fn default() -> Self {
        Self::Zstd {
            level: ZSTD_DEFAULT,
        }
    }
}

impl FromStr for Compression {
    type Err = Error;

    /// Parses `gzip:level=9`, `lzo`, `lz4:level=0`, `lz4hc:level=12`,
    /// `xz:level=6:extreme:dict=64k:bcj=x86,arm`, `zstd:level=15`, `lzma:level=6:dict=64k`; every
    /// option is optional.
    fn from_str(text: &str) -> Result<Self> {
        let mut options = Options::new(text)?;
        let name = options.name();
        for (codec, option, why) in REFUSED {
            if codec == name && options.has(option) {
                return Err(Error::invalid(format!(
                    "compression `{text}`: no option `{option}`: {why}"
                )));
            }
        }
        let compression = match name {
            "gzip" | "zlib" => Self::Gzip {
                level: options.level(encode::ZLIB_LEVELS, GZIP_DEFAULT)?,
            },
            "lzo" => Self::Lzo,
            "lz4" => Self::Lz4 {
                level: options.level(levels::LZ4, 0)?,
            },
            "lz4hc" => Self::Lz4Hc {
                level: options.level(levels::LZ4HC, LZ4HC_DEFAULT)?,
            },
            "xz" => Self::Xz {
                level: options.level(levels::LZMA, LZMA_DEFAULT)?,
                extreme: options.flag("extreme")?,
                dictionary: options.size(&["dict", "dict_size"])?,
                converters: options.choices("bcj", &Bcj::NAMES)?,
            },
            "lzma" => Self::Lzma {
                level: options.level(levels::LZMA, LZMA_DEFAULT)?,
                dictionary: options.size(&["dict", "dict_size"])?,
            },
            "zstd" => Self::Zstd {
                level: options.level(levels::ZSTD, ZSTD_DEFAULT)?,
            },
            name => {
                let option = Setting::Uncompressed;
                let what = format!(
                    "compression `{text}`: SquashFS has no `{name}` (supported: gzip, lzo, lz4, \
                     lz4hc, \
                     xz, zstd and lzma; to compress nothing ask for {option}=all)"
                );
                return Err(Error::invalid(what).about([option]));
            }
        };
        options.finish()?;
        Ok(compression)
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dict = |f: &mut fmt::Formatter<'_>, bytes: &Option<u32>| match bytes {
            Some(bytes) => write!(f, ":dict={bytes}"),
            None => Ok(()),
        };
        match self {
            Self::Gzip { level } => write!(f, "gzip:level={level}"),
            Self::Lzma { level, dictionary } => {
                write!(f, "lzma:level={level}")?;
                dict(f, dictionary)
            }
            Self::Lzo => f.write_str("lzo"),
            Self::Xz {
                level,
                extreme,
                dictionary,
                converters,
            } => {
                let extreme = if *extreme { ":extreme" } else { "" };
                write!(f, "xz:level={level}{extreme}")?;
                dict(f, dictionary)?;
                for (index, bcj) in converters.iter().enumerate() {
                    write!(f, "{}{bcj}", if index == 0 { ":bcj=" } else { "," })?;
                }
                Ok(())
            }
            Self::Lz4 { level } => write!(f, "lz4:level={level}"),
            Self::Lz4Hc { level } => write!(f, "lz4hc:level={level}"),
            Self::Zstd { level } => write!(f, "zstd:level={level}"),
        }
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
