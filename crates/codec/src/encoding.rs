//! How to encode a block: a codec with its options, as text and as a value.
//!
//! In: text like `zstd:level=19:long`, in the spelling of mkdwarfs' `-C` or of a format. Out: an
//! encoder. **Invariant:** equal values are equal texts, and give equal streams.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;

use sinterfs_model::{Category, Error, Result};
use sinterfs_workers::WorkerPermits;

use super::codec::{Encode, Hints};
use super::flac::Flac;
use super::null::Null;
use super::options::{Options, Readers};
use super::ricepp::Ricepp;
use super::table::{Choice, CodecId, GENERAL};

/// A codec with its options.
#[derive(Debug, Clone)]
pub struct Encoding {
    name: &'static str,
    codec: CodecId,
    options: Arc<dyn Encode>,
}

impl Encoding {
    /// Makes an encoding of options that do not come from text.
    fn new(codec: CodecId, options: impl Encode) -> Self {
        Self {
            name: codec.name(),
            codec,
            options: Arc::new(options),
        }
    }

    /// Returns a codec of the general text form with its default options, as [`Dialect::usual`].
    pub fn usual(codec: CodecId) -> Self {
        GENERAL_DIALECT.usual(codec)
    }

    /// Makes an encoding for readers in kernels, with a level if the codec has levels.
    pub fn at_level(codec: CodecId, level: i32) -> Result<Self> {
        let name = codec.name();
        let mut options = Options::new(name, Readers::Kernels)?;
        options.set_level(Some(level));
        let options = codec.codec()?.parse(&mut options)?;
        Ok(Self {
            name,
            codec,
            options,
        })
    }

    /// Returns the codec.
    pub fn codec(&self) -> CodecId {
        self.codec
    }

    /// Returns whether blocks stay as they are.
    pub fn is_none(&self) -> bool {
        self.codec == CodecId::Null
    }

    /// Returns the options if they are of a type.
    pub fn options<T: Encode>(&self) -> Option<&T> {
        let options: &dyn Any = &*self.options;
        options.downcast_ref()
    }

    /// Encodes a block into the codec's own stream, which may be longer than the block.
    /// `Invalid` for a block that is too long for the codec, and for the codecs of audio and
    /// images, which have to know more than the bytes.
    pub fn encode(&self, raw: &[u8]) -> Result<Vec<u8>> {
        self.encode_as(Category::Default, raw, &WorkerPermits::default())
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
        let window = None;
        let hints = Hints {
            category,
            window,
            permits,
        };
        self.options.encode_with(raw, hints)
    }

    /// Encodes a unit for readers that are prepared for distances of `window` bytes; `None` if that
    /// makes it no smaller.
    pub fn encode_unit(&self, raw: &[u8], window: Option<u32>) -> Result<Option<Vec<u8>>> {
        let permits = &WorkerPermits::default();
        self.options
            .encode_smaller(raw, unit_hints(window, permits))
    }

    /// Encodes as much of a unit, which is not empty, as fits in `room` bytes, for readers that are
    /// prepared for distances of `window` bytes; also returns how much that is.
    pub fn fill_unit(
        &self,
        raw: &[u8],
        room: usize,
        window: Option<u32>,
    ) -> Result<(usize, Vec<u8>)> {
        let permits = &WorkerPermits::default();
        self.options.fill(raw, room, unit_hints(window, permits))
    }
}

fn unit_hints(window: Option<u32>, permits: &WorkerPermits) -> Hints<'_> {
    Hints {
        category: Category::Default,
        window,
        permits,
    }
}

impl Deref for Encoding {
    type Target = dyn Encode;

    fn deref(&self) -> &Self::Target {
        &*self.options
    }
}

impl From<Flac> for Encoding {
    fn from(options: Flac) -> Self {
        Self::new(CodecId::Flac, options)
    }
}

impl From<Ricepp> for Encoding {
    fn from(options: Ricepp) -> Self {
        Self::new(CodecId::Ricepp, options)
    }
}

impl Default for Encoding {
    /// The bytes as they are.
    fn default() -> Self {
        Self::new(CodecId::Null, Null)
    }
}

impl PartialEq for Encoding {
    fn eq(&self, other: &Self) -> bool {
        self.codec == other.codec && self.to_string() == other.to_string()
    }
}

impl Eq for Encoding {}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.options.write(f)
    }
}

impl FromStr for Encoding {
    type Err = Error;

    /// Parses `none`, `zstd:level=19:window=27:long`, `zstd:optimal=2:window=24`,
    /// `lzma:level=9:extreme:dict=26:binary=x86`,
    /// `lzma2:level=6:dict=26:lc=3:lp=0:pb=2:binary=auto`, `lz4`, `lz4hc:level=9`,
    /// `brotli:quality=11:lgwin=24`, `flac:level=8:exhaustive`, `ricepp:block_size=128`; every
    /// option may be left out. mkdwarfs' names `null`, `wlog` and `dict_size` are taken too.
    fn from_str(text: &str) -> Result<Self> {
        GENERAL_DIALECT.parse(text)
    }
}

/// The spelling of mkdwarfs' `-C`.
static GENERAL_DIALECT: Dialect = Dialect {
    format: None,
    readers: Readers::Programs,
    choices: GENERAL,
};

/// The codecs of a format, and how it spells them.
#[derive(Debug)]
pub struct Dialect {
    /// The format's name in messages; `None` if the text belongs to no format.
    pub format: Option<&'static str>,
    /// What decodes the streams.
    pub readers: Readers,
    /// The codecs.
    pub choices: &'static [Choice],
}

impl Dialect {
    /// Parses a codec's name and options. `Unsupported` if the build lacks the codec.
    pub fn parse(&self, text: &str) -> Result<Encoding> {
        let mut options = Options::new(text, self.readers)?;
        let name = options.name();
        let mut choices = self.choices.iter();
        let choice = choices.find(|choice| choice.names.contains(&name));
        let choice = choice.ok_or_else(|| self.unknown(text, name))?;
        options.set_level(choice.level);
        let parsed = choice.codec.codec()?.parse(&mut options)?;
        options.finish()?;
        Ok(Encoding {
            options: parsed,
            ..left_out(choice)
        })
    }

    /// Returns a codec of the format with its default options. If the build lacks the codec, the
    /// error comes when a block is encoded.
    pub fn usual(&self, codec: CodecId) -> Encoding {
        let mut choices = self.choices.iter();
        let choice = choices.find(|choice| choice.codec == codec);
        choice.map_or_else(Encoding::default, |choice| {
            let name = choice.names.first().copied().unwrap_or_default();
            self.parse(name).unwrap_or_else(|_| left_out(choice))
        })
    }

    #[cold]
    fn unknown(&self, text: &str, name: &str) -> Error {
        let names = self
            .choices
            .iter()
            .filter_map(|choice| choice.names.first());
        let names: Vec<&str> = names.copied().collect();
        let what = match self.format {
            Some(format) => format!("{format} has no `{name}`"),
            None => format!("unknown name `{name}`"),
        };
        let names = names.join(", ");
        Error::invalid(format!("compression `{text}`: {what} (supported: {names})"))
    }
}

/// Makes an encoding that fails.
fn left_out(choice: &Choice) -> Encoding {
    Encoding {
        name: choice.names.first().copied().unwrap_or_default(),
        codec: choice.codec,
        options: Arc::new(LeftOut(choice.codec)),
    }
}

/// The options of a codec that the build lacks.
#[derive(Debug)]
struct LeftOut(CodecId);

impl Encode for LeftOut {
    fn encode_with(&self, _raw: &[u8], _hints: Hints<'_>) -> Result<Vec<u8>> {
        Err(self.0.left_out())
    }

    fn memory(&self, _len: u32) -> u64 {
        0
    }

    fn window(&self) -> u64 {
        0
    }
}
