//! The row of FAT: our options to its own.

use std::io::Write;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_block::cache::BlockCache;

use sinterfs_fat::read::{Fat, OpenOptions as FatOptions, is_image};
use sinterfs_model::{Image, Ino, Loss, Observer, Result};
use sinterfs_ops::StoredBlock;

use crate::format::Format;
use crate::handle::{Bid, Handle, uncompressed_blocks};
use crate::info::{InfoRows, InfoValue};
use crate::open_options::OpenOptions;
use crate::verify::report::{CheckOptions, CheckReport};

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

    fn bid(&self, source: &Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Bid> {
        Ok(Bid::if_certain(is_image(
            &**source,
            options.start_offset(),
        )?))
    }

    fn open(&self, source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Box<dyn Handle>> {
        let concrete = Arc::new(Fat::open(source, &own_options(options))?);
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
        Ok(sinterfs_fat::check::check(source, &own_options(options), observer)?.into())
    }
}

fn own_options(options: &OpenOptions) -> FatOptions {
    FatOptions {
        offset: options.start_offset(),
        limits: options.limits,
        cache: options.cache.clone(),
    }
}

/// An opened FAT file system.
struct Opened {
    image: Arc<dyn Image>,
    concrete: Arc<Fat>,
}

impl Handle for Opened {
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
        sinterfs_fat::dump::dump(&self.concrete, out)
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
