//! The settings of levels 0 to 9.
//!
//! There are as many levels as upstream's mkdwarfs has. Each format has its own table.

use sinterfs_model::{Categorizers, Error, Order, ReadCost, Result};

/// The default level.
pub const DEFAULT: u8 = 7;

/// The settings of one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// The compression of blocks, in the format's words.
    pub compression: &'static str,
    /// The compression of metadata, where that can be another than that of blocks.
    pub metadata_compression: &'static str,
    /// Bytes of a block, as a power of two.
    pub block_bits: u8,
    /// The order of files.
    pub order: Order,
    /// What reads may cost.
    pub read_cost: ReadCost,
    /// The codecs of some kinds of content.
    pub special: SpecialCodecs,
}

/// The codecs of kinds of content in formats with solid blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpecialCodecs {
    /// The level of FLAC for audio; without one, audio and images are encoded as all content is.
    pub flac: Option<u32>,
    /// The compression of content that looks incompressible.
    pub incompressible: &'static str,
    /// The compression of content that is needed first, unless it is that of blocks.
    pub hot: Option<&'static str>,
}

impl SpecialCodecs {
    /// The same codec for all content.
    pub const NONE: Self = Self {
        flac: None,
        incompressible: "none",
        hot: None,
    };
}

/// Returns a level of a format that plans no blocks across files: tails and solid resources, where
/// a format has them, are its writer's matter.
pub const fn per_file(compression: &'static str, block_bits: u8, order: Order) -> Level {
    Level {
        compression,
        metadata_compression: "none",
        block_bits,
        order,
        read_cost: ReadCost::Free,
        special: SpecialCodecs::NONE,
    }
}

/// Returns a level of a format. `Invalid` for a number above 9.
pub fn at(levels: &'static [Level; 10], level: u8) -> Result<&'static Level> {
    let found = levels.get(usize::from(level));
    found.ok_or_else(|| Error::invalid(format!("level {level}: must be 0 to 9")))
}

/// The kinds of content that are distinguished where a block has one file or a fragment. What looks
/// incompressible is tried all the same: a SquashFS image of a desktop is 1.5 % smaller with zstd
/// 3.
pub const CODE_AND_TEXT: Categorizers = Categorizers {
    code: true,
    text: true,
    ..Categorizers::NONE
};
