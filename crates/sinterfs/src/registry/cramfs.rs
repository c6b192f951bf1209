//! The row of CRAMFS: our options to its own.

mod info;
#[cfg(feature = "write")]
mod writer;

use std::io::Write;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_block::cache::BlockCache;
use sinterfs_cramfs::read::{Cramfs, Stored, is_image};
use sinterfs_model::{Image, Ino, Observer, Result};
use sinterfs_ops::StoredBlock;

#[cfg(feature = "write")]
use crate::about::About;
use crate::format::Format;
use crate::handle::{Bid, Handle};
use crate::info::InfoRows;
use crate::open_options::OpenOptions;
use crate::verify::report::{CheckOptions, CheckReport};
#[cfg(feature = "write")]
use crate::write::format_writer::FormatWriter;

/// CRAMFS of both byte orders.
#[derive(Debug)]
pub struct CramfsFormat;

impl Format for CramfsFormat {
    fn name(&self) -> &'static str {
        "cramfs"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["cramfs"]
    }

    fn bid(&self, source: &Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Bid> {
        Ok(Bid::if_certain(is_image(
            &**source,
            options.start_offset(),
        )?))
    }

    #[cfg(feature = "write")]
    fn head(&self) -> std::ops::Range<u64> {
        0..76
    }

    fn open(&self, source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Box<dyn Handle>> {
        let concrete = Arc::new(Cramfs::open(source, &own_options(options))?);
        let image: Arc<dyn Image> = Arc::clone(&concrete) as _;
        Ok(Box::new(Opened { image, concrete }))
    }

    fn check(
        &self,
        source: Arc<dyn ReadAt>,
        options: &OpenOptions,
        _: CheckOptions,
        observer: &dyn Observer,
    ) -> Result<CheckReport> {
        Ok(sinterfs_cramfs::check::check(source, &own_options(options), observer)?.into())
    }

    #[cfg(feature = "write")]
    fn about(&self) -> About {
        About {
            title: "CRAMFS",
            codecs: &[],
            notes: "",
        }
    }

    #[cfg(feature = "write")]
    fn writer(&self) -> Option<&dyn FormatWriter> {
        Some(&writer::CramfsBuilder)
    }
}

fn own_options(options: &OpenOptions) -> sinterfs_cramfs::read::OpenOptions {
    sinterfs_cramfs::read::OpenOptions {
        offset: options.start_offset(),
        limits: options.limits,
        cache_bytes: options.cache_bytes,
        cache: options.cache.clone(),
    }
}

/// An opened CRAMFS image.
struct Opened {
    image: Arc<dyn Image>,
    concrete: Arc<Cramfs>,
}

impl Handle for Opened {
    fn image(&self) -> &Arc<dyn Image> {
        &self.image
    }

    fn details(&self) -> Result<InfoRows> {
        Ok(info::details(&self.concrete))
    }

    fn dump(&self, out: &mut dyn Write) -> Result<()> {
        sinterfs_cramfs::dump::dump(&self.concrete, out)
    }

    fn offset(&self) -> u64 {
        self.concrete.offset()
    }

    fn cache(&self) -> &Arc<BlockCache> {
        self.concrete.cache()
    }

    fn decoded_bytes(&self) -> u64 {
        self.image.info().totals.bytes.unwrap_or(u64::MAX)
    }

    fn stored_blocks(&self, of: Option<Ino>, visit: &mut dyn FnMut(StoredBlock<'_>)) -> Result<()> {
        let Some(file) = of else {
            return Ok(());
        };
        self.concrete.stored_blocks(file, &mut |block| {
            let codec = match block.stored {
                Stored::Hole => return,
                Stored::Raw => "none",
                Stored::Zlib => "zlib",
            };
            visit(StoredBlock {
                block: block.position,
                stored: block.len.into(),
                codec,
                category: "",
            });
        })
    }
}
