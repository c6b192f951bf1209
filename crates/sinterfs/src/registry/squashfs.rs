//! The row of SquashFS: our options to its own, its findings to details that any program can show.

use std::io::Write;
use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_block::{ReadAt, Sink};
use sinterfs_model::{Image, ImageWriter, Ino, Observer, Result, Tails};
use sinterfs_ops::StoredBlock;
use sinterfs_pipeline::Categorizers;
use sinterfs_squashfs::layout::Flags;
use sinterfs_squashfs::read::{
    CompressorOptions, Offset, Order, Squashfs, locate, starts_with_magic,
};
use sinterfs_squashfs::write::{Parts, SquashfsWriter, WriteOptions};

use super::{Asked, Bid, Blob, CODE_AND_TEXT, CreateOptions, Format, Handle, VolumeOptions};
use crate::info::{Details, Value};
use crate::open::OpenOptions;
use crate::verify::check::{CheckReport, Depth};
use crate::write::levels::{self, Level};

/// SquashFS 1.0 to 4.0.
#[derive(Debug)]
pub struct SquashfsFormat;

impl Format for SquashfsFormat {
    fn name(&self) -> &'static str {
        "squashfs"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["squashfs", "sqfs", "sfs", "snap"]
    }

    fn bid(&self, source: &Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Bid> {
        if starts_with_magic(&**source, options.offset.unwrap_or(0))? {
            return Ok(Bid::Certain);
        }
        let behind = match options.offset {
            Some(_) => None,
            None => locate(source)?,
        };
        Ok(behind.map_or(Bid::No, Bid::Behind))
    }

    fn open(&self, source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Box<dyn Handle>> {
        let concrete = Arc::new(Squashfs::open(source, &own_options(options))?);
        let image: Arc<dyn Image> = Arc::clone(&concrete) as _;
        Ok(Box::new(Opened { image, concrete }))
    }

    fn check(
        &self,
        source: Arc<dyn ReadAt>,
        options: &OpenOptions,
        depth: Depth,
        observer: &dyn Observer,
    ) -> Result<CheckReport> {
        let options = own_options(options);
        let report = sinterfs_squashfs::check::check(source, &options, depth.deep, observer)?;
        let (problems, notes) = report.findings.in_words();
        Ok(CheckReport {
            sections: None,
            inodes: Some(report.inodes),
            blocks: report.fragments,
            files: 0,
            root_digest: None,
            signed: None,
            problems,
            notes,
        })
    }

    fn level(&self, level: u8, _: &VolumeOptions) -> Result<&'static Level> {
        Ok(levels::of(&levels::SQUASHFS, level))
    }

    fn categorizers(&self) -> Categorizers {
        CODE_AND_TEXT
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

    fn create(
        &self,
        out: Box<dyn Sink>,
        _: Option<Blob>,
        options: &CreateOptions,
    ) -> Result<Box<dyn ImageWriter>> {
        Ok(Box::new(SquashfsWriter::new(out, write_options(options)?)?))
    }
}

fn own_options(options: &OpenOptions) -> sinterfs_squashfs::read::OpenOptions {
    sinterfs_squashfs::read::OpenOptions {
        offset: options.offset.map_or(Offset::Auto, Offset::At),
        limits: options.limits,
        cache_bytes: options.cache_bytes,
        cache: options.cache.clone(),
    }
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

/// An opened SquashFS image.
struct Opened {
    image: Arc<dyn Image>,
    concrete: Arc<Squashfs>,
}

impl Handle for Opened {
    fn image(&self) -> &Arc<dyn Image> {
        &self.image
    }

    fn details(&self) -> Result<Details> {
        details(&self.concrete)
    }

    fn dump(&self, out: &mut dyn Write) -> Result<()> {
        sinterfs_squashfs::dump::dump(&self.concrete, out)
    }

    fn offset(&self) -> u64 {
        self.concrete.offset()
    }

    fn cache(&self) -> &Arc<BlockCache> {
        self.concrete.cache()
    }

    fn decoded_bytes(&self) -> u64 {
        let superblock = self.concrete.superblock();
        let fragments = u64::from(superblock.fragments);
        let fragments = fragments.saturating_mul(u64::from(superblock.block_size));
        // damage shows when it is read; until then the content is as large as can be
        let content = self.concrete.content_bytes().unwrap_or(u64::MAX);
        content.saturating_add(fragments)
    }

    fn stored_blocks(&self, of: Option<Ino>, visit: &mut dyn FnMut(StoredBlock<'_>)) -> Result<()> {
        let Some(file) = of else {
            return Ok(());
        };
        let compressor = self.concrete.superblock().compressor.name();
        self.concrete.stored_blocks(file, &mut |block| {
            let codec = if block.raw {
                "none"
            } else {
                compressor.unwrap_or("unknown")
            };
            visit(StoredBlock {
                block: block.position,
                stored: u64::from(block.len),
                codec,
                category: if block.fragment {
                    "fragments"
                } else {
                    "whole blocks"
                },
            });
        })
    }
}

fn details(image: &Squashfs) -> Result<Details> {
    let (info, superblock) = (image.image_info(), image.superblock());
    let (ids, groups) = image.ids();
    let compressor = superblock.compressor.name().unwrap_or("unknown");
    let mut details: Details = vec![
        ("format".to_owned(), Value::from("SquashFS")),
        ("version".to_owned(), info.version.as_str().into()),
        ("offset in file".to_owned(), image.offset().into()),
        ("image bytes".to_owned(), info.totals.stored.into()),
        ("inodes".to_owned(), info.totals.inodes.into()),
        ("block size".to_owned(), info.totals.block_size.into()),
        ("compression".to_owned(), compressor.into()),
        (
            "fragments".to_owned(),
            u64::from(superblock.fragments).into(),
        ),
        (
            "owners and groups".to_owned(),
            ((ids.len() + groups.len()) as u64).into(),
        ),
        ("export table".to_owned(), image.has_exports().into()),
        ("xattr lists".to_owned(), image.xattr_lists().into()),
        ("created".to_owned(), u64::from(superblock.made).into()),
    ];
    let mut add = |name: &str, value: Value| details.push((name.to_owned(), value));
    if superblock.order == Order::Big {
        add("byte order", "big-endian".into());
    }
    if let Some(options) = image.compressor_options()? {
        add("compressor options", compressor_options(options));
    }
    let raw = [
        (Flags::RAW_INODES, "inodes"),
        (Flags::RAW_DATA, "data"),
        (Flags::RAW_FRAGMENTS, "fragments"),
        (Flags::RAW_XATTRS, "xattrs"),
        (Flags::RAW_IDS, "ids"),
    ];
    let raw = raw.iter().filter(|(flag, _)| superblock.flags.has(*flag));
    let raw: Vec<_> = raw.map(|(_, what)| Value::from(*what)).collect();
    if !raw.is_empty() {
        add("not compressed", Value::List(raw));
    }
    Ok(details)
}

fn compressor_options(options: CompressorOptions) -> Value {
    let number = |name: &str, value: u32| (name.to_owned(), Value::from(u64::from(value)));
    Value::Map(match options {
        CompressorOptions::Gzip(gzip) => vec![
            number("level", gzip.level.get()),
            number("window log", u32::from(gzip.window.get())),
            number("strategies", u32::from(gzip.strategies.get())),
        ],
        CompressorOptions::Xz(xz) => vec![
            number("dictionary", xz.dictionary.get()),
            number("filters", xz.filters.get()),
        ],
        CompressorOptions::Lzo(lzo) => vec![
            number("algorithm", lzo.algorithm.get()),
            number("level", lzo.level.get()),
        ],
        CompressorOptions::Lz4(lz4) => vec![
            number("version", lz4.version.get()),
            number("flags", lz4.flags.get()),
        ],
        CompressorOptions::Zstd(zstd) => vec![number("level", zstd.level.get())],
    })
}
