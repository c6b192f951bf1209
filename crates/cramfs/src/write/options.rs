//! Options of the writer.
//!
//! In: the caller's choices. Out: the same, checked once.

use std::path::Path;

use sinterfs_format::{NamedOptions, OptionRow, OptionTable};
use sinterfs_model::{Error, Result};

use super::compression::ZlibCompression;
use crate::layout::{BLOCK_SIZE, BLOCK_SIZE_MAX, ByteOrder, FILE_LIMIT};

/// The options of CRAMFS images that not all formats have.
#[derive(Debug, Clone)]
pub struct CramfsOptions {
    /// The byte order of the machine for which the image is made.
    pub order: ByteOrder,
    /// Whether blocks of zeros are holes.
    pub holes: bool,
    /// Whether there are 512 bytes before the superblock, for boot code.
    pub front_padding: bool,
    /// Whether the image is padded to a multiple of its block size, which block devices need.
    pub padding: bool,
    /// The name of the volume, at most 16 bytes.
    pub label: Vec<u8>,
    /// A number that the superblock records.
    pub edition: u32,
    /// The bytes after the superblock, for boot code.
    pub boot: Vec<u8>,
}

impl Default for CramfsOptions {
    fn default() -> Self {
        Self {
            order: ByteOrder::Little,
            holes: true,
            front_padding: false,
            padding: true,
            label: b"Compressed".to_vec(),
            edition: 0,
            boot: Vec::new(),
        }
    }
}

impl OptionTable for CramfsOptions {
    const ROWS: &'static [OptionRow<Self>] = &[
        ("byte_order", |own, text| text.parse(&mut own.order)),
        ("holes", |own, text| text.switch(&mut own.holes)),
        ("front_padding", |own, text| {
            text.switch(&mut own.front_padding)
        }),
        ("padding", |own, text| text.switch(&mut own.padding)),
        ("label", |own, text| text.bytes(&mut own.label)),
        ("edition", |own, text| {
            own.edition = text.number()?;
            Ok(())
        }),
        ("boot", |own, text| {
            own.boot = boot_code(&text.path())?;
            Ok(())
        }),
        ("extended", |own, text| {
            let mut words = text.text()?.split(',');
            words.try_for_each(|word| own.extend(word))
        }),
    ];
}

impl CramfsOptions {
    /// Sets an option by its spelling in a list of features.
    fn extend(&mut self, word: &str) -> Result<()> {
        let (name, value) = match word.split_once('=').unwrap_or((word, "")) {
            ("big-endian", "") => ("byte_order", "big"),
            ("little-endian", "") => ("byte_order", "little"),
            ("front-padding", "") => ("front_padding", "true"),
            (name @ ("edition" | "boot"), value) => (name, value),
            _ => {
                return Err(Error::invalid(format!(
                    "`{word}` is not a feature of CRAMFS images (known are big-endian, \
                     little-endian, front-padding, edition=N, boot=FILE)"
                )));
            }
        };
        self.set(name, value.as_ref()).map(|_| ())
    }
}

fn boot_code(path: &Path) -> Result<Vec<u8>> {
    let io = |error| Error::io("cannot read the boot code", error).path(path);
    let len = path.metadata().map_err(io)?.len();
    if len >= FILE_LIMIT {
        return Err(Error::limit("boot code of 16 MiB or more").path(path));
    }
    std::fs::read(path).map_err(io)
}

/// Options for writing an image.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// The block size in bytes, which Linux expects to be the page size: a power of two from 4 KiB
    /// to 1 MiB.
    pub block_size: u32,
    /// The compression.
    pub compression: ZlibCompression,
    /// The options of this format.
    pub own: CramfsOptions,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            block_size: BLOCK_SIZE,
            compression: ZlibCompression::Zlib(9),
            own: CramfsOptions::default(),
        }
    }
}

impl WriteOptions {
    /// Fails with `Invalid` for unsupported values.
    pub(super) fn check(&self) -> Result<()> {
        let size = self.block_size;
        if !size.is_power_of_two() || !(BLOCK_SIZE..=BLOCK_SIZE_MAX).contains(&size) {
            return Err(Error::invalid(format!(
                "block size {size}: must be a power of two from 4 KiB to 1 MiB"
            )));
        }
        if self.own.label.len() > 16 || self.own.label.contains(&0) {
            let name = String::from_utf8_lossy(&self.own.label);
            return Err(Error::invalid(format!(
                "the name {name:?}: must have at most 16 bytes"
            )));
        }
        if self.own.boot.len() as u64 >= FILE_LIMIT {
            return Err(Error::invalid("boot code of 16 MiB or more"));
        }
        Ok(())
    }
}
