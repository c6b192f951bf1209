//! New CRAMFS images: levels, and the format's options to the options of the writer.

use sinterfs_block::Sink;
use sinterfs_format::{
    Blob, Capabilities, CreateOptions, Level, PipelineFormat,
    level::{self, per_file},
};
use sinterfs_model::{ImageWriter, Order, Result};

use crate::write::{CramfsOptions, CramfsWriter, WriteOptions};

impl PipelineFormat for CramfsOptions {
    fn level(&self, level: u8) -> Result<&'static Level> {
        level::at(&LEVELS, level)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            creation_time: false,
            patches: false,
            ..Capabilities::USUAL
        }
    }

    fn create(
        &self,
        out: Box<dyn Sink>,
        _: Option<Blob>,
        options: &CreateOptions,
    ) -> Result<Box<dyn ImageWriter>> {
        let options = WriteOptions {
            // one that is too large is refused as such
            block_size: u32::try_from(options.block_size).unwrap_or(u32::MAX),
            compression: options.compression.parse()?,
            own: self.clone(),
        };
        Ok(Box::new(CramfsWriter::new(out, options)?))
    }
}

/// The levels of CRAMFS (docs/formats/cramfs.md, "Writing"); 0 compresses nothing.
const LEVELS: [Level; 10] = [
    per_file("none", 12, Order::Path),
    per_file("zlib:level=1", 12, Order::Path),
    per_file("zlib:level=2", 12, Order::Path),
    per_file("zlib:level=4", 12, Order::Path),
    per_file("zlib:level=6", 12, Order::Path),
    per_file("zlib:level=7", 12, Order::Path),
    per_file("zlib:level=8", 12, Order::Path),
    per_file("zlib:level=9", 12, Order::Path),
    per_file("zlib:level=11", 12, Order::Path),
    per_file("zlib:level=12", 12, Order::Path),
];
