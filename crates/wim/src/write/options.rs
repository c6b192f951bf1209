//! Options of the writer.
//!
//! In: the caller's choices. Out: the same, checked once.

use std::collections::BTreeSet;

use sinterfs_format::{OptionRow, OptionTable};
use sinterfs_model::{Error, Result};

use super::compression::WimCompression;

/// The options of WIM images that not all formats have.
#[derive(Debug, Clone, Default)]
pub struct WimOptions {
    /// The name of the image in the file; empty for none.
    pub label: String,
}

impl OptionTable for WimOptions {
    const ROWS: &'static [OptionRow<Self>] = &[("label", |own, text| {
        text.text()?.clone_into(&mut own.label);
        Ok(())
    })];
}

/// Options for writing an image.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// The compression.
    pub compression: WimCompression,
    /// The chunk size in bytes: a power of two within the limits of the codec.
    pub chunk_size: u32,
    /// The time of creation in seconds since 1970; `None` means the latest of the tree.
    pub created: Option<u64>,
    /// The full names of extended attributes that are stored as named streams: those that were
    /// streams in the image that is read.
    pub streams: BTreeSet<Vec<u8>>,
    /// The options of this format.
    pub own: WimOptions,
}

impl WriteOptions {
    /// Fails with `Invalid` for unsupported values.
    pub(super) fn check(&self) -> Result<()> {
        let size = self.chunk_size;
        let (least, most) = self.compression.chunk_sizes();
        if size.is_power_of_two() && (least..=most).contains(&size) {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "chunks of {size} bytes: must be a power of two from {least} to {most}"
        )))
    }
}
