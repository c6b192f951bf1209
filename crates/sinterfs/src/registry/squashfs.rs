//! The row of SquashFS: our options to its own.

use std::sync::Arc;

use block::{ReadAt, Sink};
use model::{Error, ImageWriter, Observer, Result, Tails};
use squashfs::write::{Parts, SquashfsWriter, WriteOptions};

use super::{Asked, Bid, CreateOptions, Format, Handle};
use crate::check::{CheckReport, Depth};
use crate::levels::{self, Level};
use crate::open::OpenOptions;

/// SquashFS 4.0.
#[derive(Debug)]
pub struct SquashfsFormat;

impl Format for SquashfsFormat {
    fn name(&self) -> &'static str {
        "squashfs"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["squashfs", "sqfs", "sfs", "snap"]
    }

    fn bid(&self, _: &dyn ReadAt, _: &OpenOptions) -> Result<Bid> {
        Ok(Bid::No)
    }

    fn open(&self, _: Arc<dyn ReadAt>, _: &OpenOptions) -> Result<Box<dyn Handle>> {
        Err(not_read())
    }

    fn check(
        &self,
        _: Arc<dyn ReadAt>,
        _: &OpenOptions,
        _: Depth,
        _: &dyn Observer,
    ) -> Result<CheckReport> {
        Err(not_read())
    }

    fn level(&self, level: u8) -> &'static Level {
        levels::of(&levels::SQUASHFS, level)
    }

    fn knows(&self, option: Asked) -> bool {
        matches!(
            option,
            Asked::Tails
                | Asked::NoCompress
                | Asked::NoSparse
                | Asked::NoXattrs
                | Asked::NoExports
                | Asked::NoPad
        )
    }

    fn patches(&self) -> bool {
        true
    }

    fn create(&self, out: Box<dyn Sink>, options: &CreateOptions) -> Result<Box<dyn ImageWriter>> {
        Ok(Box::new(SquashfsWriter::new(out, write_options(options)?)?))
    }
}

fn not_read() -> Error {
    Error::unsupported("SquashFS images are written, not read")
}

fn write_options(options: &CreateOptions) -> Result<WriteOptions> {
    let per_file = &options.per_file;
    let raw = per_file
        .raw
        .as_deref()
        .map(str::parse::<Parts>)
        .transpose()?;
    Ok(WriteOptions {
        // one that is too large is refused as such
        block_size: u32::try_from(options.block_size).unwrap_or(u32::MAX),
        compression: options.compression.parse()?,
        raw: raw.unwrap_or_default(),
        tails: per_file.tails.unwrap_or(Tails::Small),
        holes: !per_file.no_holes,
        export: !per_file.no_export,
        xattrs: !per_file.no_xattrs,
        pad: !per_file.no_padding,
        made: options.create_timestamp,
        threads: options.threads,
        duplicates: options.duplicates,
    })
}
