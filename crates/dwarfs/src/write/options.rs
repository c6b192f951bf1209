//! What can be chosen when an image is written.
//!
//! In: what the caller sets. Out: the same, checked once. **Invariant:** nothing here asks a
//! clock or the environment, so equal options and input give equal images.

use std::str::FromStr;

use sinterfs_block::codec::Encoding;
use sinterfs_model::{Category, Error, Result};

use crate::read::HistoryEntry;

/// Chooses how an image is written.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// The block size as a power of two in bytes, 10 to 30.
    pub block_size_bits: u8,
    /// How content is encoded that nothing else is said of.
    pub encoding: Encoding,
    /// How content of the categories of these names is encoded; the first that names one counts. What
    /// stands before the slash of a name is a name of all that begin so.
    pub by_category: Vec<(String, Encoding)>,
    /// How schema, metadata and history are encoded.
    pub metadata_encoding: Encoding,
    /// The unit of times; they are rounded down to it.
    pub time_resolution: TimeResolution,
    /// Whether times of access and of inode changes are kept besides those of content changes.
    pub keep_all_times: bool,
    /// When the image was made, in seconds since 1970; none keeps images reproducible.
    pub create_timestamp: Option<u64>,
    /// How the image was made.
    pub history: Option<HistoryInfo>,
    /// Whether the image ends with a table of its sections, so that it opens without a walk.
    pub section_index: bool,
    /// Whether the image has digests of all its bytes, in a section that upstream's readers skip.
    pub digest: bool,
    /// Whether extended attributes are written, in a section that upstream's readers skip.
    pub xattrs: bool,
    /// Which tables of the metadata are packed.
    pub packing: Packing,
    /// The name and version of the program that writes; metadata and history tell it.
    pub version_string: String,
}

impl Default for WriteOptions {
    /// 16 MiB blocks of zstd 22, audio and images by codecs of their own, times in seconds,
    /// everything packed.
    fn default() -> Self {
        let zstd = Encoding::Zstd {
            level: 22,
            window: None,
            long: false,
        };
        Self {
            block_size_bits: 24,
            encoding: zstd,
            by_category: category_codecs(Some(8), Encoding::None, None),
            metadata_encoding: zstd,
            time_resolution: TimeResolution::SECOND,
            keep_all_times: false,
            create_timestamp: None,
            history: None,
            section_index: true,
            digest: false,
            xattrs: true,
            packing: Packing::default(),
            version_string: concat!("sinterfs ", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

impl WriteOptions {
    /// Fails with `Invalid` for a block size that the format does not have, for names that no
    /// category has, and for codecs of samples where there are none.
    pub(super) fn check(&self) -> Result<()> {
        let plain = [
            ("all content", self.encoding),
            ("metadata", self.metadata_encoding),
        ];
        let named = self
            .by_category
            .iter()
            .map(|(name, encoding)| (name.as_str(), *encoding));
        for (name, encoding) in plain.into_iter().chain(named.clone()) {
            let fits = match encoding {
                Encoding::Flac { .. } => name.starts_with("pcmaudio"),
                Encoding::Ricepp { .. } => name.starts_with("fits"),
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
                 pcmaudio/waveform, fits/image, incompressible, hot"
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

    /// Returns the block size in bytes.
    pub(super) fn block_size(&self) -> u32 {
        1 << self.block_size_bits
    }
}

/// Names the categories that have a codec of their own: audio with FLAC of a level and images with
/// Rice codes, both if there is a level, what is incompressible, and what is needed first if it has one.
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
        let flac = Encoding::Flac { level, exhaustive };
        codecs.push(("pcmaudio/waveform".to_owned(), flac));
        let ricepp = Encoding::Ricepp { block_size: None };
        codecs.push(("fits/image".to_owned(), ricepp));
    }
    codecs
}

/// Says how an image was made; informational.
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
    /// Seconds since 1970; none keeps images reproducible.
    pub timestamp: Option<u64>,
    /// Libraries with their versions.
    pub library_versions: Vec<String>,
    /// The runs that made what this one read, oldest first.
    pub former: Vec<HistoryEntry>,
}

/// The unit of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeResolution {
    nanos: u64,
}

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

impl TimeResolution {
    /// Whole seconds.
    pub const SECOND: Self = Self { nanos: SECOND };
    /// Nanoseconds: every time survives.
    pub const NANOSECOND: Self = Self { nanos: 1 };

    /// Makes a resolution of so many nanoseconds: a divisor of a second or a multiple of one.
    /// `Invalid` for anything else.
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

    /// Returns the seconds of a unit, 1 for units below a second.
    pub(super) fn seconds(self) -> u32 {
        u32::try_from(self.nanos / SECOND)
            .unwrap_or(u32::MAX)
            .max(1)
    }

    /// Returns the nanoseconds of a unit below a second.
    pub(super) fn subsecond(self) -> Option<u32> {
        u32::try_from(self.nanos)
            .ok()
            .filter(|_| self.nanos < SECOND)
    }
}

/// Chooses which tables of the metadata are packed. A reader unpacks them when it opens the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packing {
    /// Stores how many chunks a file has instead of where they start.
    pub chunk_table: bool,
    /// Stores how many entries a directory has instead of where it lies.
    pub directories: bool,
    /// Stores how many files share content instead of which.
    pub shared_files: bool,
    /// How names are stored.
    pub names: StringPacking,
    /// How the targets of symlinks are stored.
    pub symlinks: StringPacking,
}

/// Chooses how a table of strings is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StringPacking {
    /// As a list of strings, as before version 2.3.
    Plain,
    /// As one buffer.
    Compact {
        /// Encodes the strings with FSST where that is smaller.
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
    /// Packs nothing: readers need the least time and memory to open the image.
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

    /// Reads `all`, `none` (compact tables of strings, nothing packed), `plain` (lists of strings,
    /// nothing packed), or the names of what is packed with commas between them.
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
    /// Packs everything, which upstream reads since 0.5.
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
    fn codecs_are_for_what_they_know() {
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
        let flac = "flac".parse().unwrap();
        let all = WriteOptions {
            encoding: flac,
            ..WriteOptions::default()
        };
        let metadata = WriteOptions {
            metadata_encoding: flac,
            ..WriteOptions::default()
        };
        assert!(all.check().is_err() && metadata.check().is_err());
        let own = WriteOptions {
            by_category: category_codecs(Some(2), Encoding::None, None),
            ..WriteOptions::default()
        };
        own.check().unwrap();
        assert_eq!(category_codecs(None, Encoding::None, None).len(), 1);
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
