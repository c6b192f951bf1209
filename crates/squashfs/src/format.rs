//! SquashFS as a format of the library.

mod info;
#[cfg(feature = "write")]
mod writer;

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_block::cache::BlockCache;
use sinterfs_format::{
    About, Bid, CheckOptions, CheckReport, Format, Handle, InfoRows, Provable, ReadOptions,
};
use sinterfs_model::{Image, Ino, Observer, Result, StoredBlock};

use crate::read::{Squashfs, locate, starts_with_magic};

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

    fn bid(&self, source: &Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Bid> {
        if starts_with_magic(&**source, options.start_offset())? {
            return Ok(Bid::Certain);
        }
        let behind = match options.offset {
            Some(_) => None,
            None => locate(source)?,
        };
        Ok(behind.map_or(Bid::No, Bid::Behind))
    }

    fn is_found_behind_header(&self) -> bool {
        true
    }

    fn provable(&self) -> Option<&dyn Provable> {
        Some(self)
    }

    fn open(&self, source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Box<dyn Handle>> {
        let concrete = Arc::new(Squashfs::open(source, options)?);
        let image: Arc<dyn Image> = Arc::clone(&concrete) as _;
        Ok(Box::new(SquashfsHandle { image, concrete }))
    }

    fn check(
        &self,
        source: Arc<dyn ReadAt>,
        options: &ReadOptions,
        depth: CheckOptions,
        observer: &dyn Observer,
    ) -> Result<CheckReport> {
        let report = crate::check::check(source, options, depth.deep, observer)?;
        let mut checked = CheckReport::from(report.findings);
        checked.inodes = Some(report.inodes);
        checked.blocks = report.fragments;
        Ok(checked)
    }

    fn about(&self) -> About {
        About {
            title: "SquashFS",
            codecs: &[
                "gzip[:level=1..12]",
                "lzo",
                "lz4[:level=N]",
                "lz4hc[:level=1..12]",
                "xz[:level=0..9][:extreme][:dict=SIZE][:bcj=x86,arm,...]",
                "zstd[:level=N]",
                "lzma[:level=0..9][:dict=SIZE] (which no kernel reads)",
            ],
            notes: "The whole image has one codec. Blocks have 4k to 1m. \
                    docs/other-names-options.md lists the equivalents of the options of \
                    mksquashfs.",
        }
    }
}

impl Provable for SquashfsFormat {
    fn head(&self) -> Range<u64> {
        0..96
    }
}

/// An opened SquashFS image.
struct SquashfsHandle {
    image: Arc<dyn Image>,
    concrete: Arc<Squashfs>,
}

impl Handle for SquashfsHandle {
    fn image(&self) -> &Arc<dyn Image> {
        &self.image
    }

    fn details(&self) -> Result<InfoRows> {
        info::details(&self.concrete)
    }

    fn dump(&self, out: &mut dyn Write) -> Result<()> {
        crate::dump::dump(&self.concrete, out)
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
