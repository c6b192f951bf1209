//! The header: the version, the block size and the number of blocks.
//!
//! In: a source. Out: `CloopHeader`.
//!
//! **Invariant:** the block size is a multiple of 512 and at most 64 MiB; the table of offsets is
//! within the file. Format: `docs/formats/cloop.md`, "Layout".

use sinterfs_block::{ReadAt, Window};
use sinterfs_model::{Error, Limits, Result};

/// The first bytes of every image: a shell script that names its version.
const PREAMBLE: &[u8] = b"#!/bin/sh\n#V";

/// The rest of the first words of the only version that is read.
const VERSION_2: &[u8] = b"2.0 Format\n";

/// The length of the script in bytes.
pub(crate) const SCRIPT_LEN: u64 = 128;

/// The length of the header in bytes, with the script.
pub(crate) const HEADER_LEN: u64 = SCRIPT_LEN + 8;

/// The largest block size in bytes.
pub(crate) const BLOCK_SIZE_MAX: u32 = 64 << 20;

/// The decoded header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CloopHeader {
    /// Bytes of a decoded block.
    pub block_size: u32,
    /// The number of blocks.
    pub blocks: u32,
}

impl CloopHeader {
    /// Reads the header at the start of a window. `Invalid` if there is no image, `Unsupported` for
    /// another version, `Corrupt` if it is inconsistent, `Limit` if the image exceeds `limits`.
    pub(crate) fn read(window: &Window, limits: &Limits) -> Result<Self> {
        if !is_image(window, 0)? {
            return Err(Error::invalid("no cloop image"));
        }
        let mut version = [0; VERSION_2.len()];
        window.read_at(PREAMBLE.len() as u64, &mut version)?;
        if version != VERSION_2 {
            let shown = String::from_utf8_lossy(&version).into_owned();
            let what = format!("a cloop image of version {shown:?}; 2.0 is read");
            return Err(Error::unsupported(what));
        }
        let mut words = [0; 8];
        window.read_at(SCRIPT_LEN, &mut words)?;
        let [a, b, c, d, e, f, g, h] = words;
        let header = Self {
            block_size: u32::from_be_bytes([a, b, c, d]),
            blocks: u32::from_be_bytes([e, f, g, h]),
        };
        header.check(window.len(), limits)
    }

    fn check(self, len: u64, limits: &Limits) -> Result<Self> {
        let size = self.block_size;
        if size == 0 || !size.is_multiple_of(512) || size > BLOCK_SIZE_MAX {
            let what = format!("block size {size}: must be a multiple of 512, at most 64 MiB");
            return Err(Error::corrupt(what));
        }
        if u64::from(size) > limits.block {
            let what = format!("blocks of {size} bytes, where {} are allowed", limits.block);
            return Err(Error::limit(what));
        }
        if HEADER_LEN + self.table_len() > len {
            let blocks = self.blocks;
            return Err(Error::corrupt(format!(
                "the table of {blocks} blocks is cut off"
            )));
        }
        if self.table_len() > limits.metadata {
            let what = format!("{} blocks are more than metadata may hold", self.blocks);
            return Err(Error::limit(what));
        }
        Ok(self)
    }

    /// Returns the length of the table of offsets in bytes.
    pub(crate) fn table_len(self) -> u64 {
        (u64::from(self.blocks) + 1) * 8
    }

    /// Returns the length of the device in bytes.
    pub fn device_len(self) -> u64 {
        u64::from(self.blocks) * u64::from(self.block_size)
    }
}

/// Returns whether there is an image of any version at an offset.
pub fn is_image(source: &dyn ReadAt, offset: u64) -> Result<bool> {
    if offset
        .checked_add(HEADER_LEN)
        .is_none_or(|end| end > source.len())
    {
        return Ok(false);
    }
    let mut preamble = [0; PREAMBLE.len() + VERSION_2.len()];
    source.read_at(offset, &mut preamble)?;
    // other scripts start alike
    Ok(preamble.starts_with(PREAMBLE) && preamble.windows(6).any(|word| word == b"Format"))
}
