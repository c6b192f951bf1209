//! romfs as a format of the library.

use std::io::Write;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_block::cache::BlockCache;
use sinterfs_format::{
    Bid, CheckOptions, CheckReport, Format, Handle, InfoRows, InfoValue, ReadOptions,
    uncompressed_blocks,
};
use sinterfs_model::{Image, Ino, Observer, Result, StoredBlock};

use crate::read::{Romfs, is_image};

/// romfs.
#[derive(Debug)]
pub struct RomfsFormat;

impl Format for RomfsFormat {
    fn name(&self) -> &'static str {
        "romfs"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["romfs"]
    }

    fn bid(&self, source: &Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Bid> {
        Ok(Bid::if_certain(is_image(
            &**source,
            options.start_offset(),
        )?))
    }

    fn open(&self, source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Box<dyn Handle>> {
        let concrete = Arc::new(Romfs::open(source, options)?);
        let image: Arc<dyn Image> = Arc::clone(&concrete) as _;
        Ok(Box::new(RomfsHandle { image, concrete }))
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

/// An opened romfs image.
struct RomfsHandle {
    image: Arc<dyn Image>,
    concrete: Arc<Romfs>,
}

impl Handle for RomfsHandle {
    fn image(&self) -> &Arc<dyn Image> {
        &self.image
    }

    fn details(&self) -> Result<InfoRows> {
        let (info, image) = (self.image.info(), &self.concrete);
        let volume = String::from_utf8_lossy(image.volume()).into_owned();
        Ok(vec![
            ("format".to_owned(), InfoValue::from("romfs")),
            ("version".to_owned(), info.version.as_str().into()),
            ("offset in file".to_owned(), image.offset().into()),
            ("image bytes".to_owned(), info.totals.stored.into()),
            ("inodes".to_owned(), info.totals.inodes.into()),
            ("compression".to_owned(), "none".into()),
            ("label".to_owned(), volume.into()),
        ])
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
        uncompressed_blocks(&*self.image, of, visit)
    }
}
