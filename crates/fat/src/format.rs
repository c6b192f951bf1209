//! FAT as a format of the library.

use std::io::Write;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_block::cache::BlockCache;
use sinterfs_format::{
    Bid, CheckOptions, CheckReport, Format, Handle, InfoRows, InfoValue, ReadOptions,
    uncompressed_blocks,
};
use sinterfs_model::{Image, Ino, Loss, Observer, Result, StoredBlock};

use crate::read::{Fat, is_image};

/// FAT.
#[derive(Debug)]
pub struct FatFormat;

impl Format for FatFormat {
    fn name(&self) -> &'static str {
        "fat"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["fat", "vfat"]
    }

    fn is_for_boot(&self) -> bool {
        true
    }

    fn bid(&self, source: &Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Bid> {
        Ok(Bid::if_certain(is_image(
            &**source,
            options.start_offset(),
        )?))
    }

    fn open(&self, source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Box<dyn Handle>> {
        let concrete = Arc::new(Fat::open(source, options)?);
        let image: Arc<dyn Image> = Arc::clone(&concrete) as _;
        Ok(Box::new(FatHandle { image, concrete }))
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

/// An opened FAT file system.
struct FatHandle {
    image: Arc<dyn Image>,
    concrete: Arc<Fat>,
}

impl Handle for FatHandle {
    fn image(&self) -> &Arc<dyn Image> {
        &self.image
    }

    fn details(&self) -> Result<InfoRows> {
        let (info, image) = (self.image.info(), &self.concrete);
        Ok(vec![
            ("format".to_owned(), InfoValue::from("FAT")),
            ("version".to_owned(), info.version.as_str().into()),
            ("offset in file".to_owned(), image.offset().into()),
            ("image bytes".to_owned(), info.totals.stored.into()),
            ("inodes".to_owned(), info.totals.inodes.into()),
            ("block size".to_owned(), info.totals.block_size.into()),
            ("compression".to_owned(), "none".into()),
            ("label".to_owned(), image.label().into()),
            (
                "serial".to_owned(),
                format!("{:08X}", image.serial()).into(),
            ),
        ])
    }

    fn unrepresented(&self) -> Result<Vec<Loss>> {
        let losses = self.concrete.losses();
        Ok(Loss::counted([
            ("attributes of Windows", losses.attributes),
            ("times of birth", losses.births),
            ("dates of access", losses.accesses),
        ]))
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
