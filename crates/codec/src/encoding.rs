//! How to encode a block: a codec with its options, as text and as a value.
//!
//! In: text like `zstd:level=19:long` (the spelling of mkdwarfs' `-C`), then raw bytes. Out: the
//! codec's own stream.
//!
//! **Invariant:** the result depends on the bytes and the options alone, not on the idle
//! threads that share the work.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use sinterfs_model::{Category, Error, Machine, Result};
use sinterfs_workers::WorkerPermits;

use super::bcj::{Bcj, Binary};
use super::options::Options;
use super::{brotli, flac, levels, lz4, lzma2, ricepp, xz, xz_options, zstd, zstd_options};

/// Names a codec and its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Encoding {
    /// The bytes as they are.
    #[default]
    None,
    /// A Zstandard frame.
    Zstd {
        /// The level; below 1 are the fast ones.
        level: i32,
        /// The window as a power of two, instead of the level's.
        window: Option<u32>,
        /// Whether to look for matches far apart with a table of their own.
        long: bool,
    },
    /// A Zstandard frame by the encoder of this crate: as small as by the highest level, for less
    /// work. Matches reach 64 MiB back at most.
    ZstdOptimal {
        /// The effort.
        effort: u32,
        /// How far back matches may reach as a power of two, instead of 64 MiB.
        window: Option<u32>,
    },
    /// An .xz stream with LZMA2, by liblzma.
    Lzma {
        /// The preset.
        level: u32,
        /// Whether to try harder than the preset.
        extreme: bool,
        /// The dictionary as a power of two, instead of the preset's.
        dict: Option<u32>,
        /// The machine code to filter, where that is smaller.
        binary: Option<Bcj>,
    },
    /// An .xz stream with LZMA2, by the encoder of this crate: nearly as small as by liblzma, for
    /// less work. Matches reach 64 MiB back at most.
    Lzma2 {
        /// The effort.
        level: u32,
        /// How far back matches may reach as a power of two, instead of the block's length.
        dict: Option<u32>,
        /// Bits of the byte before that choose how a byte is coded.
        lc: u32,
        /// Bits of the position that choose how a byte is coded; `lc` and `lp` have a sum of 4 at
        /// most.
        lp: u32,
        /// Bits of the position that choose how a match is coded.
        pb: u32,
        /// The machine code to filter, where a quick trial says that it is smaller.
        binary: Option<Binary>,
    },
    /// An LZ4 block by the fast method.
    Lz4 {
        /// 0, or below for faster and larger.
        level: i32,
    },
    /// An LZ4 block by the high-compression method.
    Lz4Hc {
        /// The level.
        level: i32,
    },
    /// A brotli stream.
    Brotli {
        /// The quality.
        quality: u32,
        /// The window as a power of two; above 24 it is of the large-window extension.
        lgwin: u32,
    },
    /// A FLAC stream, for PCM audio of a known form.
    Flac {
        /// The effort.
        level: u32,
        /// Whether to try everything, whatever the level.
        exhaustive: bool,
    },
    /// Rice codes, for images of a known form.
    Ricepp {
        /// Samples of one component in a block, instead of the best of several numbers.
        block_size: Option<u32>,
    },
}

const ZSTD_WINDOW: RangeInclusive<u32> = 10..=31;
const ZSTD_OPTIMAL: RangeInclusive<u32> = zstd_options::EFFORTS;
const ZSTD_OPTIMAL_WINDOW: RangeInclusive<u32> = zstd_options::WINDOWS;
const LZMA_DICT: RangeInclusive<u32> = 12..=30;
const LZMA2_LEVEL: RangeInclusive<u32> = 1..=9;
const LZMA2_DICT: RangeInclusive<u32> = 12..=26;
/// lc, lp and pb.
const LZMA2_BITS: RangeInclusive<u32> = 0..=4;
const LZMA2_LITERAL_BITS: u32 = 4;
const LZMA2_LC: u32 = 3;
const LZMA2_LP: u32 = 0;
const LZMA2_PB: u32 = 2;
const BROTLI_QUALITY: RangeInclusive<u32> = 0..=11;
const BROTLI_WINDOW: RangeInclusive<u32> = 10..=30;
const FLAC_LEVEL: RangeInclusive<u32> = 0..=flac::MAX_LEVEL;
#[expect(
    clippy::cast_possible_truncation,
    reason = "MAX_BLOCK is a small constant"
)]
const RICEPP_BLOCK: RangeInclusive<u32> = 1..=ricepp::MAX_BLOCK as u32;

impl Encoding {
    /// Encodes a block into the codec's own stream, which may be longer than the block.
    /// `Invalid` for options out of their range, a block that is too long for the codec, and the
    /// codecs of audio and images, which have to know more than the bytes.
    pub fn encode(&self, raw: &[u8]) -> Result<Vec<u8>> {
        self.encode_with(raw, &[], &WorkerPermits::default())
    }

    /// As [`Self::encode`] for content of a category, shared with idle threads. Where `lzma2` is
    /// left to choose, the branch converters of a machine are tried, and what is before a byte
    /// counts as suits the category.
    pub fn encode_as(
        &self,
        category: Category,
        raw: &[u8],
        permits: &WorkerPermits,
    ) -> Result<Vec<u8>> {
        let (bits, candidates) = match category {
            Category::Text => ((4, 0, 0), &[][..]),
            Category::Code(machine) => (bits_of(machine), Bcj::of(machine)),
            _ => ((LZMA2_LC, LZMA2_LP, LZMA2_PB), &[][..]),
        };
        self.with_bits(bits).encode_with(raw, candidates, permits)
    }

    /// Sets lc, lp and pb where `lzma2` is left to choose.
    fn with_bits(mut self, bits: (u32, u32, u32)) -> Self {
        if let Self::Lzma2 {
            lc: lc @ LZMA2_LC,
            lp: lp @ LZMA2_LP,
            pb: pb @ LZMA2_PB,
            binary: Some(Binary::Auto),
            ..
        } = &mut self
        {
            (*lc, *lp, *pb) = bits;
        }
        self
    }

    /// As [`Self::encode`]; where the branch converter is left to choose, these are tried.
    fn encode_with(
        &self,
        raw: &[u8],
        candidates: &[Bcj],
        permits: &WorkerPermits,
    ) -> Result<Vec<u8>> {
        self.check()?;
        match *self {
            Self::None => Ok(raw.to_vec()),
            Self::Zstd {
                level,
                window,
                long,
            } => zstd::encode(raw, level, window, long),
            Self::ZstdOptimal { effort, window } => {
                zstd::encode_optimal(raw, effort, window, permits)
            }
            Self::Lzma {
                level,
                extreme,
                dict,
                binary,
            } => xz::encode(
                raw,
                xz_options::Options {
                    level,
                    extreme,
                    dict,
                    binary,
                },
            ),
            Self::Lzma2 {
                level,
                dict,
                lc,
                lp,
                pb,
                binary,
            } => {
                let only = match binary {
                    Some(Binary::Only(bcj)) => Some(bcj),
                    Some(Binary::Auto) | None => None,
                };
                let candidates = match binary {
                    Some(Binary::Auto) => candidates,
                    Some(Binary::Only(_)) | None => only.as_slice(),
                };
                let options = lzma2::Options {
                    level,
                    dict,
                    lc,
                    lp,
                    pb,
                };
                lzma2::encode(raw, options, candidates, permits)
            }
            Self::Lz4 { level } => lz4::encode(raw, level),
            Self::Lz4Hc { level } => lz4::encode_hc(raw, level),
            Self::Brotli { quality, lgwin } => brotli::encode(raw, quality, lgwin),
            Self::Flac { .. } | Self::Ricepp { .. } => Err(Error::invalid(format!(
                "compression `{self}`: only for content whose samples are known"
            ))),
        }
    }

    /// Fails with `Invalid` for values that the text form would not take.
    fn check(&self) -> Result<()> {
        let fits = match *self {
            Self::None => true,
            Self::Zstd {
                level,
                window,
                long: _,
            } => {
                levels::ZSTD.contains(&level) && window.is_none_or(|log| ZSTD_WINDOW.contains(&log))
            }
            Self::ZstdOptimal { effort, window } => {
                ZSTD_OPTIMAL.contains(&effort)
                    && window.is_none_or(|log| ZSTD_OPTIMAL_WINDOW.contains(&log))
            }
            Self::Lzma { level, dict, .. } => {
                levels::LZMA.contains(&level) && dict.is_none_or(|log| LZMA_DICT.contains(&log))
            }
            Self::Lzma2 {
                level,
                dict,
                lc,
                lp,
                pb,
                binary: _,
            } => {
                LZMA2_LEVEL.contains(&level)
                    && dict.is_none_or(|log| LZMA2_DICT.contains(&log))
                    && [lc, lp, pb].iter().all(|bits| LZMA2_BITS.contains(bits))
                    && lc + lp <= LZMA2_LITERAL_BITS
            }
            Self::Lz4 { level } => levels::LZ4.contains(&level),
            Self::Lz4Hc { level } => levels::LZ4HC_WITH_DEFAULT.contains(&level),
            Self::Brotli { quality, lgwin } => {
                BROTLI_QUALITY.contains(&quality) && BROTLI_WINDOW.contains(&lgwin)
            }
            Self::Flac { level, .. } => FLAC_LEVEL.contains(&level),
            Self::Ricepp { block_size } => {
                block_size.is_none_or(|size| RICEPP_BLOCK.contains(&size))
            }
        };
        if fits {
            Ok(())
        } else {
            Err(Error::invalid(format!(
                "compression `{self}`: out of range"
            )))
        }
    }
}

/// Returns lc, lp and pb for the code of a machine: as its instructions are aligned.
const fn bits_of(machine: Machine) -> (u32, u32, u32) {
    match machine {
        // instructions of four bytes
        Machine::Arm
        | Machine::Arm64
        | Machine::Mips
        | Machine::MipsEl
        | Machine::Mips64
        | Machine::Mips64El
        | Machine::PowerPc
        | Machine::PowerPc64
        | Machine::PowerPc64El
        | Machine::Sparc
        | Machine::LoongArch => (2, 2, 2),
        // of two bytes or several of them
        Machine::RiscV | Machine::S390 => (3, 1, 1),
        _ => (LZMA2_LC, LZMA2_LP, LZMA2_PB),
    }
}

impl FromStr for Encoding {
    type Err = Error;

    /// Reads `none`, `zstd:level=19:window=27:long`, `zstd:optimal=2:window=24`,
    /// `lzma:level=9:extreme:dict=26:binary=x86`,
    /// `lzma2:level=6:dict=26:lc=3:lp=0:pb=2:binary=auto`, `lz4`, `lz4hc:level=9`,
    /// `brotli:quality=11:lgwin=24`, `flac:level=8:exhaustive`, `ricepp:block_size=128`; every
    /// option may be left out. mkdwarfs' names `null`, `wlog` and `dict_size` are taken too.
    fn from_str(text: &str) -> Result<Self> {
        let mut options = Options::new(text)?;
        let encoding = match options.name() {
            "none" | "null" => Self::None,
            "zstd" if options.has("optimal") => Self::ZstdOptimal {
                effort: options
                    .flag_or_number("optimal", ZSTD_OPTIMAL)?
                    .unwrap_or(zstd_options::DEFAULT_EFFORT),
                window: options.number(&["window", "wlog"], ZSTD_OPTIMAL_WINDOW)?,
            },
            "zstd" => Self::Zstd {
                level: options.level(levels::ZSTD, 22)?,
                window: options.number(&["window", "wlog"], ZSTD_WINDOW)?,
                long: options.flag("long")?,
            },
            "lzma" => Self::Lzma {
                level: options.level(levels::LZMA, 9)?,
                extreme: options.flag("extreme")?,
                dict: options.number(&["dict", "dict_size"], LZMA_DICT)?,
                binary: options.choice("binary", &Bcj::NAMES)?,
            },
            "lzma2" => Self::Lzma2 {
                level: options.level(LZMA2_LEVEL, 6)?,
                dict: options.number(&["dict", "dict_size"], LZMA2_DICT)?,
                lc: options.number(&["lc"], LZMA2_BITS)?.unwrap_or(LZMA2_LC),
                lp: options.number(&["lp"], LZMA2_BITS)?.unwrap_or(LZMA2_LP),
                pb: options.number(&["pb"], LZMA2_BITS)?.unwrap_or(LZMA2_PB),
                binary: options.choice("binary", &Binary::NAMES)?,
            },
            "lz4" => Self::Lz4 {
                level: options.level(levels::LZ4, 0)?,
            },
            "lz4hc" => Self::Lz4Hc {
                level: options.level(levels::LZ4HC_WITH_DEFAULT, 9)?,
            },
            "brotli" => Self::Brotli {
                quality: options.number(&["quality"], BROTLI_QUALITY)?.unwrap_or(11),
                lgwin: options.number(&["lgwin"], BROTLI_WINDOW)?.unwrap_or(22),
            },
            "flac" => Self::Flac {
                level: options.level(FLAC_LEVEL, 8)?,
                exhaustive: options.flag("exhaustive")?,
            },
            "ricepp" => Self::Ricepp {
                block_size: options.number(&["block_size"], RICEPP_BLOCK)?,
            },
            name => {
                return Err(Error::invalid(format!(
                    "compression `{text}`: unknown name `{name}` (allowed: none, zstd, lzma, lzma2, \
                     lz4, lz4hc, brotli, flac, ricepp)"
                )));
            }
        };
        options.finish()?;
        encoding.check()?;
        Ok(encoding)
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::None => f.write_str("none"),
            Self::Zstd {
                level,
                window,
                long,
            } => {
                write!(f, "zstd:level={level}")?;
                if let Some(window) = window {
                    write!(f, ":window={window}")?;
                }
                f.write_str(if long { ":long" } else { "" })
            }
            Self::ZstdOptimal { effort, window } => {
                write!(f, "zstd:optimal={effort}")?;
                match window {
                    Some(window) => write!(f, ":window={window}"),
                    None => Ok(()),
                }
            }
            Self::Lzma {
                level,
                extreme,
                dict,
                binary,
            } => {
                write!(
                    f,
                    "lzma:level={level}{}",
                    if extreme { ":extreme" } else { "" }
                )?;
                if let Some(dict) = dict {
                    write!(f, ":dict={dict}")?;
                }
                match binary {
                    Some(bcj) => write!(f, ":binary={bcj}"),
                    None => Ok(()),
                }
            }
            Self::Lzma2 {
                level,
                dict,
                lc,
                lp,
                pb,
                binary,
            } => {
                write!(f, "lzma2:level={level}")?;
                if let Some(dict) = dict {
                    write!(f, ":dict={dict}")?;
                }
                for (key, bits, usual) in [
                    ("lc", lc, LZMA2_LC),
                    ("lp", lp, LZMA2_LP),
                    ("pb", pb, LZMA2_PB),
                ] {
                    if bits != usual {
                        write!(f, ":{key}={bits}")?;
                    }
                }
                match binary {
                    Some(binary) => write!(f, ":binary={binary}"),
                    None => Ok(()),
                }
            }
            Self::Lz4 { level: 0 } => f.write_str("lz4"),
            Self::Lz4 { level } => write!(f, "lz4:level={level}"),
            Self::Lz4Hc { level } => write!(f, "lz4hc:level={level}"),
            Self::Brotli { quality, lgwin } => write!(f, "brotli:quality={quality}:lgwin={lgwin}"),
            Self::Flac { level, exhaustive } => {
                write!(f, "flac:level={level}")?;
                f.write_str(if exhaustive { ":exhaustive" } else { "" })
            }
            Self::Ricepp { block_size: None } => f.write_str("ricepp"),
            Self::Ricepp {
                block_size: Some(size),
            } => write!(f, "ricepp:block_size={size}"),
        }
    }
}
