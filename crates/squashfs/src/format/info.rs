//! Information about a SquashFS image as rows.

use sinterfs_format::{InfoRows, InfoValue};
use sinterfs_model::Result;

use crate::layout::Flags;
use crate::read::{CompressorOptions, FieldOrder, Squashfs};

pub(super) fn details(image: &Squashfs) -> Result<InfoRows> {
    let (info, superblock) = (image.image_info(), image.superblock());
    let (ids, groups) = image.ids();
    let compressor = superblock.compressor.name().unwrap_or("unknown");
    let mut details: InfoRows = vec![
        ("format".to_owned(), InfoValue::from("SquashFS")),
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
    let mut add = |name: &str, value: InfoValue| details.push((name.to_owned(), value));
    if superblock.order == FieldOrder::Big {
        add("byte order", "big-endian".into());
    }
    if let Some(options) = image.compressor_options()? {
        add("compressor options", compressor_options(options));
    }
    let flags = [
        (Flags::NO_FRAGMENTS, "no fragments"),
        (Flags::ALWAYS_FRAGMENTS, "always fragments"),
        (Flags::DUPLICATES, "duplicates"),
        (Flags::NO_XATTRS, "no xattrs"),
    ];
    let flags = flags.iter().filter(|(flag, _)| superblock.flags.has(*flag));
    let flags: Vec<_> = flags.map(|(_, name)| InfoValue::from(*name)).collect();
    if !flags.is_empty() {
        add("flags", InfoValue::List(flags));
    }
    let raw = [
        (Flags::RAW_INODES, "inodes"),
        (Flags::RAW_DATA, "data"),
        (Flags::RAW_FRAGMENTS, "fragments"),
        (Flags::RAW_XATTRS, "xattrs"),
        (Flags::RAW_IDS, "ids"),
    ];
    let raw = raw.iter().filter(|(flag, _)| superblock.flags.has(*flag));
    let raw: Vec<_> = raw.map(|(_, what)| InfoValue::from(*what)).collect();
    if !raw.is_empty() {
        add("not compressed", InfoValue::List(raw));
    }
    Ok(details)
}

fn compressor_options(options: CompressorOptions) -> InfoValue {
    let number = |name: &str, value: u32| (name.to_owned(), InfoValue::from(u64::from(value)));
    InfoValue::Map(match options {
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
