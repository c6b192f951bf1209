//! New SquashFS images: levels, and our options to the writer's own.

use sinterfs_block::Sink;
use sinterfs_format::{
    Blob, Capabilities, CreateOptions, Level, PipelineFormat,
    level::{self, CODE_AND_TEXT, per_file},
};
use sinterfs_model::{Categorizers, ImageWriter, Order, Result};

use crate::write::{SquashfsOptions, SquashfsWriter, UncompressedParts, WriteOptions};

impl PipelineFormat for SquashfsOptions {
    fn level(&self, level: u8) -> Result<&'static Level> {
        level::at(&LEVELS, level)
    }

    fn categorizers(&self) -> Categorizers {
        CODE_AND_TEXT
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            uncompressed_files: true,
            placed_tails: true,
            ..Capabilities::USUAL
        }
    }

    fn create(
        &self,
        out: Box<dyn Sink>,
        _: Option<Blob>,
        options: &CreateOptions,
    ) -> Result<Box<dyn ImageWriter>> {
        Ok(Box::new(SquashfsWriter::new(out, self.resolved(options)?)?))
    }
}

impl SquashfsOptions {
    /// Returns the options of the writer.
    fn resolved(&self, options: &CreateOptions) -> Result<WriteOptions> {
        let stores_all = options.level == 0 && !options.is_compression_chosen;
        let of_level = if stores_all {
            UncompressedParts::ALL
        } else {
            UncompressedParts::default()
        };
        Ok(WriteOptions {
            // one that is too large is refused as such
            block_size: u32::try_from(options.block_size).unwrap_or(u32::MAX),
            compression: options.compression.parse()?,
            xattrs: options.xattrs,
            made: options.create_timestamp,
            threads: options.threads,
            duplicates: options.duplicates,
            own: Self {
                uncompressed: self.uncompressed.or(Some(of_level)),
                ..self.clone()
            },
        })
    }
}

/// The levels of SquashFS (docs/formats/squashfs.md, "Levels"); 0 compresses nothing.
const LEVELS: [Level; 10] = [
    per_file("zstd:level=1", 17, Order::None),
    per_file("lz4", 17, Order::Path),
    per_file("zstd:level=1", 17, Order::Path),
    per_file("zstd:level=3", 17, Order::Similarity),
    per_file("zstd:level=6", 17, Order::Similarity),
    per_file("zstd:level=9", 18, Order::Similarity),
    per_file("zstd:level=9", 20, Order::Similarity),
    per_file("zstd:level=17", 20, Order::Similarity),
    per_file("zstd:level=19", 20, Order::Similarity),
    per_file("xz:bcj=x86", 20, Order::Similarity),
];
