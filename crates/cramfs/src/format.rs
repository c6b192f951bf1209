//! CRAMFS as a format of the library.

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

use crate::read::{Cramfs, Stored, is_image};

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

    fn bid(&self, source: &Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Bid> {
        Ok(Bid::if_certain(is_image(
            &**source,
            options.start_offset(),
        )?))
    }

    fn provable(&self) -> Option<&dyn Provable> {
        Some(self)
    }

    fn open(&self, source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Box<dyn Handle>> {
        let concrete = Arc::new(Cramfs::open(source, options)?);
        let image: Arc<dyn Image> = Arc::clone(&concrete) as _;
        Ok(Box::new(CramfsHandle { image, concrete }))
    }

    fn check(
        &self,
        source: Arc<dyn ReadAt>,
        options: &ReadOptions,
        _: CheckOptions,
        observer: &dyn Observer,
    ) -> Result<CheckReport> {
        Ok(crate::check::check(source, options, observer)?.into())
    }

    fn about(&self) -> About {
        About {
            title: "CRAMFS",
            codecs: &[],
            notes: "",
        }
    }
}

impl Provable for CramfsFormat {
    fn head(&self) -> Range<u64> {
        0..76
    }
}

/// An opened CRAMFS image.
struct CramfsHandle {
    image: Arc<dyn Image>,
    concrete: Arc<Cramfs>,
}

impl Handle for CramfsHandle {
    fn image(&self) -> &Arc<dyn Image> {
        &self.image
    }

    fn details(&self) -> Result<InfoRows> {
        Ok(info::details(&self.concrete))
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
