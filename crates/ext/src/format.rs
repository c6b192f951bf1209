//! ext2, ext3 and ext4 as a format of the library.

use std::io::Write;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_block::cache::BlockCache;
use sinterfs_format::{
    Bid, CheckOptions, CheckReport, Format, Handle, InfoRows, InfoValue, ReadOptions,
    uncompressed_blocks,
};
use sinterfs_model::{Error, Image, Ino, Loss, Observer, Result, StoredBlock};

use crate::read::{Ext, is_image};

/// ext2, ext3 and ext4.
#[derive(Debug)]
pub struct ExtFormat;

impl Format for ExtFormat {
    fn name(&self) -> &'static str {
        "ext"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["ext2", "ext3", "ext4"]
    }

    fn bid(&self, source: &Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Bid> {
        Ok(Bid::if_certain(is_image(
            &**source,
            options.start_offset(),
        )?))
    }

    fn open(&self, source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Box<dyn Handle>> {
        let concrete = Arc::new(Ext::open(source, options)?);
        let image: Arc<dyn Image> = Arc::clone(&concrete) as _;
        Ok(Box::new(ExtHandle { image, concrete }))
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

/// An opened file system.
struct ExtHandle {
    image: Arc<dyn Image>,
    concrete: Arc<Ext>,
}

impl Handle for ExtHandle {
    fn image(&self) -> &Arc<dyn Image> {
        &self.image
    }

    fn details(&self) -> Result<InfoRows> {
        let (info, head) = (self.image.info(), self.concrete.head());
        let mut details: InfoRows = vec![
            ("format".to_owned(), InfoValue::from("ext")),
            ("version".to_owned(), info.version.as_str().into()),
            ("offset in file".to_owned(), self.concrete.offset().into()),
            ("image bytes".to_owned(), info.totals.stored.into()),
            ("inodes".to_owned(), info.totals.inodes.into()),
            ("block size".to_owned(), info.totals.block_size.into()),
            ("compression".to_owned(), "none".into()),
            ("UUID".to_owned(), uuid(head.uuid).into()),
        ];
        let label = String::from_utf8_lossy(head.label()).into_owned();
        if !label.is_empty() {
            details.push(("label".to_owned(), label.into()));
        }
        Ok(details)
    }

    fn unrepresented(&self) -> Result<Vec<Loss>> {
        let losses = self.concrete.losses()?;
        Ok(Loss::counted([
            ("inode flags (chattr)", losses.flags),
            ("times of birth", losses.births),
            ("numbers of projects", losses.projects),
        ]))
    }

    fn dump(&self, out: &mut dyn Write) -> Result<()> {
        writeln!(out, "{:#?}", self.concrete.head())
            .map_err(|error| Error::io("cannot write the dump", error))
    }

    fn offset(&self) -> u64 {
        self.concrete.offset()
    }

    fn cache(&self) -> &Arc<BlockCache> {
        self.concrete.cache()
    }

    fn decoded_bytes(&self) -> u64 {
        self.image.info().totals.stored
    }

    fn stored_blocks(&self, of: Option<Ino>, visit: &mut dyn FnMut(StoredBlock<'_>)) -> Result<()> {
        uncompressed_blocks(&*self.image, of, visit)
    }
}

/// Shows a UUID in its usual form.
fn uuid(bytes: [u8; 16]) -> String {
    let mut shown = String::new();
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            shown.push('-');
        }
        shown += &format!("{byte:02x}");
    }
    shown
}
