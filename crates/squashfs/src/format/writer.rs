//! New SquashFS images: levels, and our options to the writer's own.

use sinterfs_block::Sink;
use sinterfs_format::{
    Blob, CreateOptions, Level, PipelineFormat, Purpose, VolumeOptions,
    level::{self, CODE_AND_TEXT, per_file},
};
use sinterfs_model::{Categorizers, ImageWriter, Order, Result, Setting, TailPlacement};

use crate::write::{SquashfsWriter, UncompressedParts, WriteOptions};

/// Makes SquashFS images.
pub(super) struct SquashfsBuilder;

impl PipelineFormat for SquashfsBuilder {
    fn level(&self, level: u8, _: Purpose, _: &VolumeOptions) -> Result<&'static Level> {
        level::at(&LEVELS, level)
    }

    fn categorizers(&self) -> Categorizers {
        CODE_AND_TEXT
    }

    fn knows(&self, option: Setting) -> bool {
        matches!(
            option,
            Setting::ActionLayout
                | Setting::ActionUncompressed
                | Setting::Duplicates
                | Setting::CreateTimestamp
                | Setting::Tails
                | Setting::Uncompressed
                | Setting::Holes
                | Setting::Xattrs
                | Setting::Exports
                | Setting::Padding
        )
    }

    fn patches(&self) -> bool {
        true
    }

    fn create(
        &self,
        out: Box<dyn Sink>,
        _: Option<Blob>,
        options: &CreateOptions,
    ) -> Result<Box<dyn ImageWriter>> {
        Ok(Box::new(SquashfsWriter::new(out, write_options(options)?)?))
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

fn write_options(options: &CreateOptions) -> Result<WriteOptions> {
    let per_file = &options.per_file;
    let raw = per_file
        .raw
        .as_deref()
        .map(str::parse::<UncompressedParts>)
        .transpose()?;
    Ok(WriteOptions {
        // one that is too large is refused as such
        block_size: u32::try_from(options.block_size).unwrap_or(u32::MAX),
        compression: options.compression.parse()?,
        raw: raw.unwrap_or_default(),
        tails: per_file.tails.unwrap_or(TailPlacement::Small),
        holes: !per_file.no_holes,
        export: !per_file.no_export,
        xattrs: !per_file.no_xattrs,
        pad: !per_file.no_padding,
        made: options.create_timestamp,
        threads: options.threads,
        duplicates: options.duplicates,
    })
}
