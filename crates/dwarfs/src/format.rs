//! DwarFS as a format of the library.

mod equal;
mod handle;
#[cfg(feature = "write")]
mod history;
mod info;
#[cfg(feature = "write")]
mod levels;
mod locate;
#[cfg(feature = "write")]
mod reuse;
#[cfg(feature = "write")]
mod writer;

use std::ops::Range;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_format::{
    About, Bid, CheckOptions, CheckReport, Digested, Format, Handle, InfoRows, Mendable,
    MendedPart, OwnDigests, Provable, ReadOptions, Sectioned, Surveyed,
};
use sinterfs_model::{Observer, Result};

use crate::read::{Dwarfs, MendedSection};
use handle::DwarfsHandle;
use locate::{located, starts_with_magic};

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

    fn bid(&self, source: &Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Bid> {
        if starts_with_magic(&**source, options.start_offset())? {
            return Ok(Bid::Certain);
        }
        let behind = match options.offset {
            Some(_) => None,
            None => crate::read::locate(&**source)?,
        };
        Ok(behind.map_or(Bid::No, Bid::Behind))
    }

    fn is_found_behind_header(&self) -> bool {
        true
    }

    fn open(&self, source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Box<dyn Handle>> {
        let options = located(&*source, options)?;
        let image = Arc::new(Dwarfs::open(source, &options)?);
        Ok(Box::new(DwarfsHandle::new(image)))
    }

    fn check(
        &self,
        source: Arc<dyn ReadAt>,
        options: &ReadOptions,
        depth: CheckOptions,
        observer: &dyn Observer,
    ) -> Result<CheckReport> {
        let options = located(&*source, options)?;
        let CheckOptions { deep, threads } = depth;
        let report = crate::check::check(source, &options, deep, threads, observer)?;
        let mut checked = CheckReport::from(report.findings);
        checked.sections = Some(report.sections);
        checked.blocks = report.blocks;
        checked.after = report.after;
        Ok(checked)
    }

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

    fn digested(&self) -> Option<&dyn Digested> {
        Some(self)
    }

    fn surveyed(&self) -> Option<&dyn Surveyed> {
        Some(self)
    }

    fn provable(&self) -> Option<&dyn Provable> {
        Some(self)
    }

    fn mendable(&self) -> Option<&dyn Mendable> {
        Some(self)
    }

    fn sectioned(&self) -> Option<&dyn Sectioned> {
        Some(self)
    }
}

impl Digested for DwarfsFormat {
    fn digest(
        &self,
        source: &Arc<dyn ReadAt>,
        options: &ReadOptions,
    ) -> Result<Option<OwnDigests>> {
        let options = located(&**source, options)?;
        let found = crate::read::digest(Arc::clone(source), &options)?;
        Ok(found.map(|found| OwnDigests {
            start: found.start,
            digests: found.digests,
            signature: found.signature,
        }))
    }
}

impl Surveyed for DwarfsFormat {
    fn survey(&self, source: &Arc<dyn ReadAt>, options: &ReadOptions) -> Result<InfoRows> {
        let options = located(&**source, options)?;
        info::of_survey(crate::read::survey(Arc::clone(source), &options)?)
    }
}

impl Provable for DwarfsFormat {
    fn intact_parts(
        &self,
        source: &Arc<dyn ReadAt>,
        options: &ReadOptions,
    ) -> Result<Vec<Range<u64>>> {
        let options = located(&**source, options)?;
        crate::check::intact_sections(Arc::clone(source), &options)
    }
}

impl Mendable for DwarfsFormat {
    fn mend(
        &self,
        source: &Arc<dyn ReadAt>,
        options: &ReadOptions,
    ) -> Result<Option<Vec<MendedPart>>> {
        let options = located(&**source, options)?;
        let mended = crate::read::mend(Arc::clone(source), &options)?;
        let part = |section: MendedSection| MendedPart {
            what: section.kind.to_string(),
            offset: section.offset,
            bytes: section.bytes,
        };
        Ok(mended.map(|sections| sections.into_iter().map(part).collect()))
    }
}
