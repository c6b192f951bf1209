//! New ISO 9660 images: levels, and the format's options to the options of the writer.

use sinterfs_block::Sink;
use sinterfs_format::{
    Blob, CreateOptions, Level, PipelineFormat,
    level::{self, per_file},
};
use sinterfs_model::{ImageWriter, Order, Result};

use crate::write::{IsoOptions, IsoWriter, WriteOptions, ZisofsCompression};

impl PipelineFormat for IsoOptions {
    fn level(&self, level: u8) -> Result<&'static Level> {
        level::at(&LEVELS, level)
    }

    fn cuts_blocks(&self, compression: &str) -> bool {
        !matches!(compression.parse(), Ok(ZisofsCompression::Plain))
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
            xattrs: options.xattrs,
            made: options.create_timestamp,
            own: self.clone(),
        };
        Ok(Box::new(IsoWriter::new(out, options)?))
    }
}

/// The levels of ISO 9660 (docs/formats/iso9660.md, "Writing"): only the highest ones compress, as
/// nothing but Linux reads files that are compressed.
const LEVELS: [Level; 10] = [
    per_file("none", 17, Order::Path),
    per_file("none", 17, Order::Path),
    per_file("none", 17, Order::Path),
    per_file("none", 17, Order::Path),
    per_file("none", 17, Order::Path),
    per_file("none", 17, Order::Path),
    per_file("none", 17, Order::Path),
    per_file("none", 17, Order::Path),
    per_file("zlib:level=9", 17, Order::Path),
    per_file("zlib:level=12", 17, Order::Path),
];
