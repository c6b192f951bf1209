//! New CRAMFS images: levels, and our options to the writer's own.

use std::path::Path;

use sinterfs_block::Sink;
use sinterfs_format::{
    Blob, CreateOptions, Level, PipelineFormat, Purpose, VolumeOptions,
    level::{self, per_file},
};
use sinterfs_model::{Categorizers, Error, ImageWriter, Order, Result, Setting};

use crate::layout::{ByteOrder, FILE_LIMIT};
use crate::write::{CramfsWriter, WriteOptions, ZlibCompression};

/// Makes CRAMFS images.
pub(super) struct CramfsBuilder;

impl PipelineFormat for CramfsBuilder {
    fn level(&self, level: u8, _: Purpose, _: &VolumeOptions) -> Result<&'static Level> {
        level::at(&LEVELS, level)
    }

    fn categorizers(&self) -> Categorizers {
        Categorizers::NONE
    }

    fn knows(&self, option: Setting) -> bool {
        matches!(
            option,
            Setting::Duplicates
                | Setting::Holes
                | Setting::Padding
                | Setting::Xattrs
                | Setting::Label
                | Setting::Extended
        )
    }

    fn patches(&self) -> bool {
        false
    }

    fn create(
        &self,
        out: Box<dyn Sink>,
        _: Option<Blob>,
        options: &CreateOptions,
    ) -> Result<Box<dyn ImageWriter>> {
        Ok(Box::new(CramfsWriter::new(out, write_options(options)?)?))
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

fn write_options(options: &CreateOptions) -> Result<WriteOptions> {
    let volume = &options.volume;
    let compression: ZlibCompression = options.compression.parse()?;
    let mut own = WriteOptions {
        // one that is too large is refused as such
        block_size: u32::try_from(options.block_size).unwrap_or(u32::MAX),
        compression,
        holes: !options.per_file.no_holes,
        pad: !options.per_file.no_padding,
        ..WriteOptions::default()
    };
    if let Some(label) = &volume.label {
        label.as_bytes().clone_into(&mut own.name);
    }
    let words = volume.extended.iter().flat_map(|text| text.split(','));
    words
        .into_iter()
        .try_for_each(|word| extend(&mut own, word))?;
    Ok(own)
}

/// Applies one of the words of further features.
fn extend(options: &mut WriteOptions, word: &str) -> Result<()> {
    match word.split_once('=').unwrap_or((word, "")) {
        ("big-endian", "") => options.order = ByteOrder::Big,
        ("little-endian", "") => options.order = ByteOrder::Little,
        ("front-padding", "") => options.front_padding = true,
        ("edition", number) => {
            let parsed = number.parse();
            options.edition = parsed.map_err(|_| {
                let what = format!("edition `{number}`: must be a number below 2^32");
                Error::invalid(what)
            })?;
        }
        ("boot", path) => options.boot = boot_code(Path::new(path))?,
        _ => {
            return Err(Error::invalid(format!(
                "`{word}` is not a feature of CRAMFS images (known are big-endian, little-endian, \
                 front-padding, edition=N, boot=FILE)"
            )));
        }
    }
    Ok(())
}

fn boot_code(path: &Path) -> Result<Vec<u8>> {
    let io = |error| Error::io("cannot read the boot code", error).path(path);
    let len = path.metadata().map_err(io)?.len();
    if len >= FILE_LIMIT {
        return Err(Error::limit("boot code of 16 MiB or more").path(path));
    }
    std::fs::read(path).map_err(io)
}
