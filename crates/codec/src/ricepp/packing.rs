//! The parameters of a stream of Rice codes, and how a sample is stored in the file.

use sinterfs_model::{Error, Result};

/// The longest block in samples.
pub const MAX_BLOCK: usize = 512;
/// The most interleaved components.
pub const MAX_COMPONENTS: usize = 2;

/// The width of a selector in bits.
pub(super) const SELECTOR_BITS: u32 = 4;
/// The selector of a block of plain samples.
pub(super) const PLAIN: u16 = 15;

/// The parameters of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packing {
    /// Samples of one component in a block, 1 to 512.
    pub block_size: usize,
    /// Interleaved components, 1 or 2.
    pub components: usize,
    /// Low bits of every sample that are zero and left out, 0 to 15.
    pub unused_lsb: u32,
    /// Whether samples are big-endian in the file.
    pub big_endian: bool,
}

impl Packing {
    /// Fails if a parameter is out of range.
    pub(super) fn check(&self) -> Result<()> {
        let fits = (1..=MAX_BLOCK).contains(&self.block_size)
            && (1..=MAX_COMPONENTS).contains(&self.components)
            && self.unused_lsb < 16;
        if fits {
            Ok(())
        } else {
            Err(Error::corrupt(format!("ricepp: impossible {self:?}")))
        }
    }

    /// Returns a value as the file's two bytes.
    pub(super) fn write(&self, value: u16) -> [u8; 2] {
        let shifted = value << self.unused_lsb;
        if self.big_endian {
            shifted.to_be_bytes()
        } else {
            shifted.to_le_bytes()
        }
    }

    /// Returns the value of the file's two bytes.
    pub(super) fn read(&self, bytes: [u8; 2]) -> u16 {
        let shifted = if self.big_endian {
            u16::from_be_bytes(bytes)
        } else {
            u16::from_le_bytes(bytes)
        };
        shifted >> self.unused_lsb
    }
}
