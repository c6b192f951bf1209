//! Cromfs as a format of the library.

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_block::cache::BlockCache;
use sinterfs_format::{
    Bid, CheckOptions, CheckReport, Format, Handle, InfoRows, InfoValue, ReadOptions,
};
use sinterfs_model::{ExtentSource, Image, Ino, Observer, Result, StoredBlock};

use crate::layout::Features;
use crate::read::{Cromfs, is_image};

/// Cromfs.
#[derive(Debug)]
pub struct CromfsFormat;

impl Format for CromfsFormat {
    fn name(&self) -> &'static str {
        "cromfs"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["cromfs"]
    }

    fn bid(&self, source: &Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Bid> {
        Ok(Bid::if_certain(is_image(
            &**source,
            options.start_offset(),
        )?))
    }

    fn open(&self, source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Box<dyn Handle>> {
        let concrete = Arc::new(Cromfs::open(source, options)?);
        let image: Arc<dyn Image> = Arc::clone(&concrete) as _;
        Ok(Box::new(CromfsHandle { image, concrete }))
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
}

/// An opened Cromfs image.
struct CromfsHandle {
    image: Arc<dyn Image>,
    concrete: Arc<Cromfs>,
}

impl Handle for CromfsHandle {
    fn image(&self) -> &Arc<dyn Image> {
        &self.image
    }

    fn details(&self) -> Result<InfoRows> {
        let (info, image) = (self.image.info(), &self.concrete);
        let head = image.head();
        let mut details: InfoRows = vec![
            ("format".to_owned(), InfoValue::from("Cromfs")),
            ("version".to_owned(), info.version.as_str().into()),
            ("offset in file".to_owned(), image.offset().into()),
            ("image bytes".to_owned(), info.totals.stored.into()),
            ("inodes".to_owned(), info.totals.inodes.into()),
            ("block size".to_owned(), info.totals.block_size.into()),
            ("fblock size".to_owned(), u64::from(head.fblock_size).into()),
            ("fblocks".to_owned(), image.fblocks().into()),
            ("blocks".to_owned(), image.blocks().into()),
            ("compression".to_owned(), "lzma".into()),
        ];
        let flags = [
            (Features::BITS_24, "24-bit block numbers"),
            (Features::BITS_16, "16-bit block numbers"),
            (Features::PACKED, "packed blocks"),
            (Features::BLOCK_SIZES, "block sizes of inodes"),
        ];
        let set = flags.iter().filter(|(flag, _)| image.features().has(*flag));
        let set: Vec<_> = set.map(|(_, what)| InfoValue::from(*what)).collect();
        if !set.is_empty() {
            details.push(("flags".to_owned(), InfoValue::List(set)));
        }
        Ok(details)
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

    fn blocks_are_offsets(&self) -> bool {
        false
    }

    fn stored_blocks(&self, of: Option<Ino>, visit: &mut dyn FnMut(StoredBlock<'_>)) -> Result<()> {
        let mut show = |block: u64| {
            if let Some(stored) = self.concrete.fblock_stored(block) {
                visit(StoredBlock {
                    block,
                    stored,
                    codec: "lzma",
                    category: "",
                });
            }
        };
        let Some(file) = of else {
            (0..self.concrete.fblocks()).for_each(show);
            return Ok(());
        };
        let mut last = None;
        self.image.extents(file, 0, &mut |extent| {
            if let ExtentSource::Block { block, .. } = extent.source
                && last.replace(block) != Some(block)
            {
                show(block);
            }
            ControlFlow::Continue(())
        })
    }
}
