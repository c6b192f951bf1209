//! The row of DwarFS: our options to its own.

#[cfg(all(feature = "remote", feature = "write"))]
pub(super) mod equal;
mod handle;
mod info;
#[cfg(feature = "write")]
mod levels;
mod locate;
#[cfg(feature = "write")]
mod reuse;
#[cfg(feature = "write")]
mod writer;

#[cfg(feature = "write")]
use std::ops::Range;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_dwarfs::read::Dwarfs;
#[cfg(feature = "write")]
use sinterfs_dwarfs::read::MendedSection;
use sinterfs_model::{Observer, Result};

#[cfg(feature = "write")]
use crate::about::About;
use crate::format::Format;
#[cfg(feature = "write")]
use crate::handle::MendedPart;
use crate::handle::{Bid, Handle, OwnDigests};
use crate::info::InfoRows;
use crate::open_options::OpenOptions;
use crate::verify::report::{CheckOptions, CheckReport};
#[cfg(feature = "write")]
use crate::write::format_writer::FormatWriter;
use handle::Opened;
use locate::{own_options, starts_with_magic};

/// DwarFS 2.x.
#[derive(Debug)]
pub struct DwarfsFormat;

impl Format for DwarfsFormat {
    fn name(&self) -> &'static str {
        "dwarfs"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["dwarfs", "dff", "dwfs"]
    }

    fn bid(&self, source: &Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Bid> {
        if starts_with_magic(&**source, options.start_offset())? {
            return Ok(Bid::Certain);
        }
        let behind = match options.offset {
            Some(_) => None,
            None => sinterfs_dwarfs::read::locate(&**source)?,
        };
        Ok(behind.map_or(Bid::No, Bid::Behind))
    }

    fn is_found_behind_header(&self) -> bool {
        true
    }

    fn digest(
        &self,
        source: &Arc<dyn ReadAt>,
        options: &OpenOptions,
    ) -> Result<Option<OwnDigests>> {
        let options = own_options(&**source, options)?;
        let found = sinterfs_dwarfs::read::digest(Arc::clone(source), &options)?;
        Ok(found.map(|found| OwnDigests {
            start: found.start,
            digests: found.digests,
            signature: found.signature,
        }))
    }

    fn open(&self, source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Box<dyn Handle>> {
        let options = own_options(&*source, options)?;
        let image = Arc::new(Dwarfs::open(source, &options)?);
        Ok(Box::new(Opened::new(image)))
    }

    fn check(
        &self,
        source: Arc<dyn ReadAt>,
        options: &OpenOptions,
        depth: CheckOptions,
        observer: &dyn Observer,
    ) -> Result<CheckReport> {
        let options = own_options(&*source, options)?;
        let CheckOptions { deep, threads } = depth;
        let report = sinterfs_dwarfs::check::check(source, &options, deep, threads, observer)?;
        Ok(CheckReport {
            sections: Some(report.sections),
            blocks: report.blocks,
            after: report.after,
            ..report.findings.into()
        })
    }

    fn survey(&self, source: &Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Option<InfoRows>> {
        let options = own_options(&**source, options)?;
        let survey = sinterfs_dwarfs::read::survey(Arc::clone(source), &options)?;
        info::of_survey(survey).map(Some)
    }

    #[cfg(feature = "write")]
    fn intact_parts(
        &self,
        source: &Arc<dyn ReadAt>,
        options: &OpenOptions,
    ) -> Result<Vec<Range<u64>>> {
        let options = own_options(&**source, options)?;
        sinterfs_dwarfs::check::intact_sections(Arc::clone(source), &options)
    }

    #[cfg(feature = "write")]
    fn mend(
        &self,
        source: &Arc<dyn ReadAt>,
        options: &OpenOptions,
    ) -> Result<Option<Vec<MendedPart>>> {
        let options = own_options(&**source, options)?;
        let mended = sinterfs_dwarfs::read::mend(Arc::clone(source), &options)?;
        let part = |section: MendedSection| MendedPart {
            what: section.kind.to_string(),
            offset: section.offset,
            bytes: section.bytes,
        };
        Ok(mended.map(|sections| sections.into_iter().map(part).collect()))
    }

    #[cfg(feature = "write")]
    fn about(&self) -> About {
        About {
            title: "DwarFS",
            codecs: &[
                "none",
                "zstd:level=1..22[:window=LOG][:long]",
                "zstd:optimal[=1..3][:window=LOG]",
                "lzma:level=0..9[:extreme][:dict=LOG][:binary=x86|arm|arm64|...]",
                "lzma2:level=1..9[:dict=LOG][:lc=N][:lp=N][:pb=N][:binary=auto|x86|arm|arm64|...]",
                "lz4[:level=N]",
                "lz4hc:level=1..12",
                "brotli:quality=0..11[:lgwin=LOG]",
                "flac:level=0..8[:exhaustive] (audio)",
                "ricepp[:block_size=1..512] (images)",
            ],
            notes: "lzma is liblzma; lzma2 is an encoder of our own, which is faster and nearly as \
                    strong; its blocks of 64m at levels 8 and 9 read slowly. \
                    zstd:level is libzstd; zstd:optimal is an encoder of our own, as strong as \
                    level 22 in less than half the time.",
        }
    }

    #[cfg(feature = "write")]
    fn writer(&self) -> Option<&dyn FormatWriter> {
        Some(&writer::DwarfsBuilder)
    }
}
