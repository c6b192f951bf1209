//! Options of the writer.
//!
//! In: the caller's choices. Out: the same, checked once. **Invariant:** nothing depends on a clock
//! or the environment, so equal options and input give equal images.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use sinterfs_codec::flac::Flac;
use sinterfs_codec::ricepp::Ricepp;
use sinterfs_codec::{CodecId, Encoding};
use sinterfs_format::{OptionRow, OptionTable, Purpose};
use sinterfs_model::{Category, Error, ReadCost, Result};

use crate::read::HistoryEntry;

/// The options of DwarFS images that not all formats have.
#[derive(Debug, Clone)]
pub struct DwarfsOptions {
    /// The use of the image; `None` means a mount.
    pub purpose: Option<Purpose>,
    /// The compression of blocks by the names of categories; the first match applies. The part of a
    /// name before the slash matches all categories that begin with it.
    pub by_category: Vec<(String, Encoding)>,
    /// The compression of schema, metadata and history; `None` leaves it to the level.
    pub metadata_compression: Option<Encoding>,
    /// An image whose blocks are reused where the new image has the same content.
    pub base: Option<PathBuf>,
    /// How many blocks back repeats are looked for; `None` means all.
    pub lookback: Option<u32>,
    /// The price of reads; `None` leaves it to the purpose and the level.
    pub read_cost: Option<ReadCost>,
    /// The unit of times; `None` means seconds, or the unit of images that are read.
    pub time_resolution: Option<TimeResolution>,
    /// Whether times of access and of inode change are kept; those that images have are always.
    pub keep_all_times: bool,
    /// Which tables of the metadata are packed; `None` means all.
    pub pack_metadata: Option<Packing>,
    /// Whether the image records how it was made.
    pub history: bool,
    /// Whether a section index is written, so that the image opens without following all headers.
    pub section_index: bool,
    /// Whether digests of all bytes are written, in a section that upstream's readers skip. A
    /// signature can cover them.
    pub with_digest: bool,
    /// Whether the metadata is written twice, its copy in a section that upstream's readers skip.
    pub metadata_copy: bool,
}

impl Default for DwarfsOptions {
    fn default() -> Self {
        Self {
            purpose: None,
            by_category: Vec::new(),
            metadata_compression: None,
            base: None,
            lookback: None,
            read_cost: None,
            time_resolution: None,
            keep_all_times: false,
            pack_metadata: None,
            history: true,
            section_index: true,
            with_digest: false,
            metadata_copy: false,
        }
    }
}

impl OptionTable for DwarfsOptions {
    const ROWS: &'static [OptionRow<Self>] = &[
        ("purpose", |own, text| text.some(&mut own.purpose)),
        ("category_compression", |own, text| {
            let rule = text.text()?;
            let parts = rule.split_once("::");
            let (category, codec) = parts
                .ok_or_else(|| Error::invalid(format!("`{rule}`: must be CATEGORY::CODEC")))?;
            own.by_category.push((category.to_owned(), codec.parse()?));
            Ok(())
        }),
        ("metadata_compression", |own, text| {
            text.some(&mut own.metadata_compression)
        }),
        ("base", |own, text| text.file(&mut own.base)),
        ("lookback", |own, text| text.count(&mut own.lookback)),
        ("read_cost", |own, text| text.some(&mut own.read_cost)),
        ("time_resolution", |own, text| {
            text.some(&mut own.time_resolution)
        }),
        ("keep_all_times", |own, text| {
            text.switch(&mut own.keep_all_times)
        }),
        ("pack_metadata", |own, text| {
            text.some(&mut own.pack_metadata)
        }),
        ("history", |own, text| text.switch(&mut own.history)),
        ("section_index", |own, text| {
            text.switch(&mut own.section_index)
        }),
        ("with_digest", |own, text| text.switch(&mut own.with_digest)),
        ("metadata_copy", |own, text| {
            text.switch(&mut own.metadata_copy)
        }),
    ];
}

/// Options for writing an image.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// The block size as a power of two in bytes, 10 to 30.
    pub block_size_bits: u8,
    /// The encoding of content without another rule.
    pub encoding: Encoding,
    /// Encodings by the names of categories; the first match applies. The part of a name before the
    /// slash matches all categories that begin with it.
    pub by_category: Vec<(String, Encoding)>,
    /// The encoding of schema, metadata and history.
    pub metadata_encoding: Encoding,
    /// The unit of times; they are rounded down to it.
    pub time_resolution: TimeResolution,
    /// Whether access and inode change times are kept in addition to modification times.
    pub keep_all_times: bool,
    /// The creation time in seconds since 1970; `None` keeps images reproducible.
    pub create_timestamp: Option<u64>,
    /// The run that makes the image.
    pub history: Option<HistoryInfo>,
    /// Whether extended attributes are written, in a section that upstream's readers skip.
    pub xattrs: bool,
    /// The options that need no settings of a level; the writer ignores the others.
    pub own: DwarfsOptions,
    /// The name and version of the writing program, recorded in metadata and history.
    pub version_string: String,
}

impl Default for WriteOptions {
    /// Blocks of 16 MiB, zstd level 22, codecs of samples for audio and images, times in seconds,
    /// all tables packed.
    fn default() -> Self {
        let zstd = Encoding::usual(CodecId::Zstd);
        Self {
            block_size_bits: 24,
            encoding: zstd.clone(),
            by_category: category_codecs(Some(8), Encoding::default(), None),
            metadata_encoding: zstd,
            time_resolution: TimeResolution::SECOND,
            keep_all_times: false,
            create_timestamp: None,
            history: None,
            xattrs: true,
            own: DwarfsOptions::default(),
            version_string: concat!("sinterfs ", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

impl WriteOptions {
    /// Fails with `Invalid` for unsupported block sizes, unknown categories, and codecs of samples
    /// for other content.
    pub(super) fn check(&self) -> Result<()> {
        let plain = [
            ("all content", &self.encoding),
            ("metadata", &self.metadata_encoding),
        ];
        let named = self
            .by_category
            .iter()
            .map(|(name, encoding)| (name.as_str(), encoding));
        for (name, encoding) in plain.into_iter().chain(named.clone()) {
            let fits = match encoding.codec() {
                CodecId::Flac => name.starts_with("pcmaudio"),
                CodecId::Ricepp => name.starts_with("fits"),
                _ => true,
            };
            if !fits {
                return Err(Error::invalid(format!(
                    "compression `{encoding}` is not for {name}"
                )));
            }
        }
        if let Some((name, _)) = named
            .into_iter()
            .find(|(name, _)| !Category::is_known(name))
        {
            return Err(Error::invalid(format!(
                "no category `{name}`; there are <default>, text, code, code/x86-64 and so on, \
                 pcmaudio/waveform, fits/image, incompressible, hotness"
            )));
        }
        if (10..=30).contains(&self.block_size_bits) {
            return Ok(());
        }
        let bits = self.block_size_bits;
        Err(Error::invalid(format!(
            "block size of 2^{bits} bytes (allowed: 2^10 to 2^30)"
        )))
    }

    /// Returns which tables of the metadata are packed.
    pub(super) fn packing(&self) -> Packing {
        self.own.pack_metadata.unwrap_or_default()
    }

    /// Returns the block size in bytes.
    pub(super) fn block_size(&self) -> u32 {
        1 << self.block_size_bits
    }
}

/// Returns encodings for categories: the given ones for incompressible and hot content and, with a
/// FLAC level, FLAC for audio and Rice codes for images.
pub fn category_codecs(
    flac_level: Option<u32>,
    incompressible: Encoding,
    hot: Option<Encoding>,
) -> Vec<(String, Encoding)> {
    let named = |category: Category, encoding| (category.name().to_owned(), encoding);
    let mut codecs = vec![named(Category::Incompressible, incompressible)];
    codecs.extend(hot.map(|hot| named(Category::Hot, hot)));
    if let Some(level) = flac_level {
        let exhaustive = false;
        let flac = Flac { level, exhaustive };
        codecs.push(("pcmaudio/waveform".to_owned(), flac.into()));
        let ricepp = Ricepp { block_size: None };
        codecs.push(("fits/image".to_owned(), ricepp.into()));
    }
    codecs
}

/// The run that makes an image; informational.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryInfo {
    /// Major, minor and patch version of the program.
    pub version: [u16; 3],
    /// The system, for example `Linux`.
    pub system_id: String,
    /// The compiler, for example `rustc 1.95`.
    pub compiler_id: String,
    /// The command line.
    pub arguments: Vec<String>,
    /// Seconds since 1970; `None` keeps images reproducible.
    pub timestamp: Option<u64>,
    /// Libraries with their versions.
    pub library_versions: Vec<String>,
    /// The runs that made the images read by this one, oldest first.
    pub former: Vec<HistoryEntry>,
}

/// The resolution of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeResolution {
    nanos: u64,
}

/// The nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

impl TimeResolution {
    /// Whole seconds.
    pub const SECOND: Self = Self { nanos: SECOND };
    /// Nanoseconds: no time is rounded.
    pub const NANOSECOND: Self = Self { nanos: 1 };

    /// Makes a resolution in nanoseconds. `Invalid` unless it divides a second or is a multiple of
    /// one.
    pub fn from_nanos(nanos: u64) -> Result<Self> {
        let divides = nanos > 0 && SECOND.is_multiple_of(nanos);
        let multiple =
            nanos.is_multiple_of(SECOND) && (1..=u32::MAX.into()).contains(&(nanos / SECOND));
        if divides || multiple {
            return Ok(Self { nanos });
        }
        Err(Error::invalid(format!(
            "time resolution of {nanos} ns (allowed: divisors of a second, whole seconds)"
        )))
    }

    /// Returns the unit in nanoseconds.
    pub fn nanos(self) -> u64 {
        self.nanos
    }

    /// Returns the unit in seconds, 1 for units below a second.
    pub(super) fn seconds(self) -> u32 {
        u32::try_from(self.nanos / SECOND)
            .unwrap_or(u32::MAX)
            .max(1)
    }

    /// Returns a unit below a second in nanoseconds.
    pub(super) fn subsecond(self) -> Option<u32> {
        u32::try_from(self.nanos)
            .ok()
            .filter(|_| self.nanos < SECOND)
    }
}

/// The units of times by their names, longest first.
const UNITS: [(&str, u64); 8] = [
    ("hour", 3600 * SECOND),
    ("h", 3600 * SECOND),
    ("min", 60 * SECOND),
    ("sec", SECOND),
    ("s", SECOND),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

impl FromStr for TimeResolution {
    type Err = Error;

    /// Parses a number (1 if missing) and ns, us, ms, s, min or h.
    fn from_str(text: &str) -> Result<Self> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = text.strip_prefix(digits);
        let unit = UNITS.iter().find(|(name, _)| unit == Some(name));
        let number = match digits {
            "" => Some(1),
            digits => digits.parse::<u64>().ok(),
        };
        let nanos = unit.and_then(|(_, unit)| number?.checked_mul(*unit));
        let nanos = nanos.filter(|&nanos| nanos > 0).ok_or_else(|| {
            let example = "as in 1ns, 100ms, 1s, 2s, 1min, 1h";
            Error::invalid(format!("`{text}` is not a unit of time ({example})"))
        })?;
        Self::from_nanos(nanos)
    }
}

impl fmt::Display for TimeResolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(SECOND, "s"), (1_000_000, "ms"), (1_000, "us")];
        let unit = units
            .iter()
            .find(|(unit, _)| self.nanos.is_multiple_of(*unit));
        let &(unit, name) = unit.unwrap_or(&(1, "ns"));
        write!(f, "{}{name}", self.nanos / unit)
    }
}

/// Selects the packed tables of the metadata. Readers unpack them when they open the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packing {
    /// Stores the number of chunks of each file instead of its first chunk.
    pub chunk_table: bool,
    /// Stores the number of entries of each directory instead of its first entry.
    pub directories: bool,
    /// Stores the number of files of each shared content instead of the content of each file.
    pub shared_files: bool,
    /// The form of the names.
    pub names: StringPacking,
    /// The form of the symlink targets.
    pub symlinks: StringPacking,
}

/// The stored form of a string table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StringPacking {
    /// A list of strings, as before version 2.3.
    Plain,
    /// One buffer with an index.
    Compact {
        /// Encodes the strings with FSST if that is smaller.
        fsst: bool,
        /// Stores lengths instead of offsets.
        index: bool,
    },
}

impl StringPacking {
    fn pack_strings(&mut self) {
        if let Self::Compact { fsst, .. } = self {
            *fsst = true;
        }
    }

    fn pack_index(&mut self) {
        if let Self::Compact { index, .. } = self {
            *index = true;
        }
    }

    /// The smallest.
    pub const ALL: Self = Self::Compact {
        fsst: true,
        index: true,
    };
}

impl Packing {
    /// Packs nothing: readers open the image with the least time and memory.
    pub const NONE: Self = Self {
        chunk_table: false,
        directories: false,
        shared_files: false,
        names: StringPacking::Plain,
        symlinks: StringPacking::Plain,
    };
}

impl FromStr for Packing {
    type Err = Error;

    /// Parses `all`, `none` (compact string tables, nothing packed), `plain` (lists of strings,
    /// nothing packed), or a comma-separated list of tables.
    fn from_str(text: &str) -> Result<Self> {
        let compact = StringPacking::Compact {
            fsst: false,
            index: false,
        };
        let mut packing = Self {
            names: compact,
            symlinks: compact,
            ..Self::NONE
        };
        match text {
            "all" => return Ok(Self::default()),
            "plain" => return Ok(Self::NONE),
            "none" => return Ok(packing),
            _ => {}
        }
        for word in text.split(',') {
            match word {
                "chunk_table" => packing.chunk_table = true,
                "directories" => packing.directories = true,
                "shared_files" => packing.shared_files = true,
                "names" => packing.names.pack_strings(),
                "names_index" => packing.names.pack_index(),
                "symlinks" => packing.symlinks.pack_strings(),
                "symlinks_index" => packing.symlinks.pack_index(),
                _ => {
                    return Err(Error::invalid(format!(
                        "`{word}` in `{text}` is nothing that can be packed (allowed: all, none, \
                         plain, or some of chunk_table, directories, shared_files, names, \
                         names_index, symlinks, symlinks_index)"
                    )));
                }
            }
        }
        Ok(packing)
    }
}

impl Default for Packing {
    /// Packs all tables, which upstream reads since 0.5.
    fn default() -> Self {
        Self {
            chunk_table: true,
            directories: true,
            shared_files: true,
            names: StringPacking::ALL,
            symlinks: StringPacking::ALL,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolutions_are_divisors_or_multiples_of_a_second() {
        for nanos in [
            1,
            2,
            100,
            1000,
            500_000_000,
            SECOND,
            2 * SECOND,
            3600 * SECOND,
        ] {
            assert_eq!(TimeResolution::from_nanos(nanos).unwrap().nanos(), nanos);
        }
        for nanos in [0, 3, 1_500_000_000, SECOND * (1 << 33)] {
            assert!(TimeResolution::from_nanos(nanos).is_err(), "{nanos}");
        }
    }

    #[test]
    fn units_of_time_are_read_and_shown() {
        for (text, nanos) in [
            ("1ns", 1),
            ("ns", 1),
            ("100ms", 100_000_000),
            ("2s", 2 * SECOND),
            ("1h", 3600 * SECOND),
        ] {
            let parsed: TimeResolution = text.parse().unwrap();
            assert_eq!(parsed.nanos(), nanos);
            assert_eq!(
                parsed.to_string().parse::<TimeResolution>().unwrap(),
                parsed
            );
        }
        for text in ["", "5", "0s", "1parsec", "-1s", "99999999999h", "1.5s"] {
            assert!(text.parse::<TimeResolution>().is_err(), "{text}");
        }
    }

    #[test]
    fn codecs_are_limited_to_their_categories() {
        let check = |name: &str, encoding: &str| {
            let options = WriteOptions {
                by_category: vec![(name.to_owned(), encoding.parse().unwrap())],
                ..WriteOptions::default()
            };
            options.check()
        };
        check("pcmaudio/waveform", "flac:level=3").unwrap();
        check("pcmaudio", "flac:exhaustive").unwrap();
        check("pcmaudio/waveform", "zstd").unwrap();
        check("fits/image", "ricepp:block_size=16").unwrap();
        check("code/x86-64", "lzma").unwrap();
        check("incompressible", "zstd").unwrap();
        for (name, encoding) in [
            ("text", "flac"),
            ("pcmaudio/waveform", "ricepp"),
            ("fits/image", "flac"),
            ("pcmaudio/metadata", "zstd"),
            ("", "zstd"),
        ] {
            assert!(check(name, encoding).is_err(), "{name} {encoding}");
        }
        let flac: Encoding = "flac".parse().unwrap();
        let all = WriteOptions {
            encoding: flac.clone(),
            ..WriteOptions::default()
        };
        let metadata = WriteOptions {
            metadata_encoding: flac,
            ..WriteOptions::default()
        };
        assert!(all.check().is_err() && metadata.check().is_err());
        let own = WriteOptions {
            by_category: category_codecs(Some(2), Encoding::default(), None),
            ..WriteOptions::default()
        };
        own.check().unwrap();
        assert_eq!(category_codecs(None, Encoding::default(), None).len(), 1);
    }

    #[test]
    fn block_sizes_have_bounds() {
        for (bits, valid) in [(9, false), (10, true), (30, true), (31, false)] {
            let options = WriteOptions {
                block_size_bits: bits,
                ..WriteOptions::default()
            };
            assert_eq!(options.check().is_ok(), valid);
        }
    }
}
