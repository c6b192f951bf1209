//! Options of the writer.
//!
//! In: the caller's choices. Out: the same, checked once.

use sinterfs_model::{Error, Result};

use super::compression::ZlibCompression;
use crate::layout::{BLOCK_SIZE, BLOCK_SIZE_MAX, ByteOrder, FILE_LIMIT};

/// Options for writing an image.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// The byte order of the machine for which the image is made.
    pub order: ByteOrder,
    /// The block size in bytes, which Linux expects to be the page size: a power of two from 4 KiB
    /// to 1 MiB.
    pub block_size: u32,
    /// The compression.
    pub compression: ZlibCompression,
    /// Whether blocks of zeros are holes.
    pub holes: bool,
    /// Whether there are 512 bytes before the superblock, for boot code.
    pub front_padding: bool,
    /// Whether the image is padded to a multiple of its block size, which block devices need.
    pub pad: bool,
    /// The name of the volume, at most 16 bytes.
    pub name: Vec<u8>,
    /// A number that the superblock records.
    pub edition: u32,
    /// The bytes after the superblock, for boot code.
    pub boot: Vec<u8>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            order: ByteOrder::Little,
            block_size: BLOCK_SIZE,
            compression: ZlibCompression::Zlib(9),
            holes: true,
            front_padding: false,
            pad: true,
            name: b"Compressed".to_vec(),
            edition: 0,
            boot: Vec::new(),
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
        if self.name.len() > 16 || self.name.contains(&0) {
            let name = String::from_utf8_lossy(&self.name);
            return Err(Error::invalid(format!(
                "the name {name:?}: must have at most 16 bytes"
            )));
        }
        if self.boot.len() as u64 >= FILE_LIMIT {
            return Err(Error::invalid("boot code of 16 MiB or more"));
        }
        Ok(())
    }
}
