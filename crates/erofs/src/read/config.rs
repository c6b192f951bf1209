//! The algorithms of an image and their configurations, after the superblock.
//!
//! In: the image. Out: which algorithms it uses, and the parameters of their decoders.
//!
//! **Invariant:** what a decoder would allocate is within the format's bounds.

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Result};
use zerocopy::FromBytes;

use crate::layout::compressed::{DeflateConfig, LZMA_DICT_MAX, Lz4Config, LzmaConfig, ZstdConfig};
use crate::layout::{self, Algorithm, SUPERBLOCK_OFFSET, incompat};

/// The parameters of the algorithms of an image.
#[derive(Debug, Clone, Default)]
pub struct Configs {
    /// A bit for each algorithm that files may use.
    pub available: u16,
    /// The dictionary of LZMA in bytes.
    pub lzma_dict: u32,
    /// The window of Zstandard as a power of two.
    pub zstd_window_log: u8,
    /// The window of DEFLATE as a power of two.
    pub deflate_window_bits: u8,
    /// The longest distance of LZ4 in bytes.
    pub lz4_distance: u16,
}

impl Configs {
    /// Reads the configurations. Fails with `Unsupported` for unknown algorithms.
    pub(super) fn read(source: &dyn ReadAt, raw: &layout::Superblock) -> Result<Self> {
        let mut configs = Self {
            available: 1,
            lz4_distance: u16::MAX,
            ..Self::default()
        };
        if raw.feature_incompat.get() & incompat::COMPR_CFGS == 0 {
            if raw.algorithms.get() > 0 {
                configs.lz4_distance = raw.algorithms.get();
            }
            return Ok(configs);
        }
        configs.available = raw.algorithms.get();
        let unknown = configs.available >> Algorithm::ALL.len();
        if unknown != 0 {
            let bits = configs.available;
            return Err(Error::unsupported(format!(
                "the image needs algorithms that are not known: {bits:#x}"
            )));
        }
        let mut at = layout::Superblock::BASE as u64
            + u64::from(raw.extensions) * layout::Superblock::EXTENSION as u64;
        at += SUPERBLOCK_OFFSET;
        for algorithm in Algorithm::ALL {
            if configs.has(algorithm) {
                let mut len = [0; 2];
                source.read_at(at, &mut len)?;
                let len = u64::from(u16::from_le_bytes(len));
                let bytes = source.read(at + 2, len)?;
                configs.take(algorithm, &bytes)?;
                at = (at + 2 + len).next_multiple_of(4);
            }
        }
        Ok(configs)
    }

    /// Returns whether files may use an algorithm.
    pub fn has(&self, algorithm: Algorithm) -> bool {
        self.available >> algorithm.number() & 1 != 0
    }

    fn take(&mut self, algorithm: Algorithm, bytes: &[u8]) -> Result<()> {
        let name = algorithm.name();
        let short = || Error::corrupt(format!("the configuration of {name} is too short"));
        let format = match algorithm {
            Algorithm::Lz4 => {
                let (config, _) = Lz4Config::ref_from_prefix(bytes).map_err(|_| short())?;
                if config.max_distance.get() > 0 {
                    self.lz4_distance = config.max_distance.get();
                }
                0
            }
            Algorithm::MicroLzma => {
                let (config, _) = LzmaConfig::ref_from_prefix(bytes).map_err(|_| short())?;
                self.lzma_dict = config.dict_size.get();
                config.format.get()
            }
            Algorithm::Deflate => {
                let (config, _) = DeflateConfig::ref_from_prefix(bytes).map_err(|_| short())?;
                self.deflate_window_bits = config.window_bits;
                0
            }
            Algorithm::Zstd => {
                let (config, _) = ZstdConfig::ref_from_prefix(bytes).map_err(|_| short())?;
                self.zstd_window_log = config.window_log.saturating_add(10);
                u16::from(config.format)
            }
        };
        if format != 0 {
            return Err(Error::unsupported(format!("format {format} of {name}")));
        }
        if self.lzma_dict > LZMA_DICT_MAX {
            let bytes = self.lzma_dict;
            return Err(Error::unsupported(format!(
                "lzma: dictionary of {bytes} bytes"
            )));
        }
        Ok(())
    }
}
