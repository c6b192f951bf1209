//! New WIM images: levels, and the format's options to the options of the writer.

use sinterfs_block::Sink;
use sinterfs_format::{
    Blob, Capabilities, CreateOptions, Level, PipelineFormat,
    level::{self, per_file},
};
use sinterfs_model::{ImageWriter, Order, Result};

use crate::layout::WimCodec;
use crate::write::{WimCompression, WimOptions, WimWriter, WriteOptions};

impl PipelineFormat for WimOptions {
    fn level(&self, level: u8) -> Result<&'static Level> {
        level::at(&LEVELS, level)
    }

    fn with_compression(&self, level: &'static Level, compression: &str) -> &'static Level {
        match compression.parse() {
            Ok(WimCompression {
                codec: Some(codec),
                is_solid: true,
                ..
            }) => match codec {
                WimCodec::Xpress => &SOLID_XPRESS,
                WimCodec::Lzx => &SOLID_LZX,
                WimCodec::Lzms => &SOLID_LZMS,
            },
            _ => level,
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            repeated_files: false,
            named_streams: true,
            ..Capabilities::USUAL
        }
    }

    fn cuts_blocks(&self, compression: &str) -> bool {
        // what is no compression is refused as such
        let parsed = compression.parse::<WimCompression>();
        !parsed.is_ok_and(|parsed| parsed.codec.is_none())
    }

    fn create(
        &self,
        out: Box<dyn Sink>,
        _: Option<Blob>,
        options: &CreateOptions,
    ) -> Result<Box<dyn ImageWriter>> {
        let resolved = WriteOptions {
            compression: options.compression.parse()?,
            // one that is too large is refused as such
            chunk_size: u32::try_from(options.block_size).unwrap_or(u32::MAX),
            created: options.create_timestamp,
            streams: options.streams.clone(),
            own: self.clone(),
        };
        let scratch = options.scratch.clone();
        let open = Box::new(move || (scratch.0)());
        Ok(Box::new(WimWriter::new(out, resolved, open)?))
    }
}

/// The levels of WIM (docs/formats/wim.md, "Writing"). Programs of Windows read LZX with chunks of
/// 32 KiB only. The last level is solid.
const LEVELS: [Level; 10] = [
    per_file("none", 15, Order::Path),
    per_file("xpress:level=2", 15, Order::Path),
    per_file("xpress:level=5", 15, Order::Path),
    per_file("xpress:level=7", 15, Order::Path),
    per_file("lzx:level=2", 15, Order::Path),
    per_file("lzx:level=4", 15, Order::Path),
    per_file("lzx:level=5", 15, Order::Path),
    per_file("lzx:level=6", 15, Order::Path),
    per_file("lzx:level=9", 15, Order::Path),
    SOLID_LZMS,
];

/// The settings of solid resources, whatever the level is: as small as they can be.
const SOLID_LZMS: Level = per_file("lzms:level=9:solid", 26, Order::Similarity);
const SOLID_LZX: Level = per_file("lzx:level=9:solid", 21, Order::Similarity);
const SOLID_XPRESS: Level = per_file("xpress:level=9:solid", 16, Order::Similarity);
