//! ISO 9660 as a format of the library.

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
use sinterfs_model::{Error, Image, Ino, Kind, Loss, Observer, Result, Setting, StoredBlock};

use crate::read::{Iso9660, is_image};

/// ISO 9660 with Rock Ridge, Joliet and zisofs.
#[derive(Debug)]
pub struct Iso9660Format {
    /// Looks for the tree of UDF on the same disc.
    pub udf: fn(&Arc<dyn ReadAt>, &ReadOptions) -> Result<OtherTree>,
}

/// The tree of UDF that a disc may have besides its ISO 9660 tree.
#[derive(Debug)]
pub enum OtherTree {
    /// There is none.
    Absent,
    /// It can be read.
    Sound,
    /// It cannot be read.
    Damaged(Error),
}

/// The name of this tree of a disc.
pub const ISO9660: &str = "iso9660";

/// Fails if an image is named that a disc does not have.
///
/// # Errors
/// `NotFound`, with the names of the trees.
pub fn refuse_others(options: &ReadOptions, known: &[&str]) -> Result<()> {
    match options.image.as_deref() {
        Some(name) if !known.contains(&name) => {
            let what = format!(
                "no tree {name:?} here; the trees are {}",
                known.join(" and ")
            );
            Err(Error::not_found(what).about([Setting("image")]))
        }
        _ => Ok(()),
    }
}

impl Format for Iso9660Format {
    fn name(&self) -> &'static str {
        ISO9660
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["iso"]
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

    fn reader_options(&self) -> &'static [Setting] {
        &[Setting("image")]
    }

    fn open(&self, source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Box<dyn Handle>> {
        refuse_others(options, &[ISO9660])?;
        let udf = (self.udf)(&source, options)?;
        let concrete = Arc::new(Iso9660::open(source, options)?);
        let image: Arc<dyn Image> = Arc::clone(&concrete) as _;
        Ok(Box::new(Iso9660Handle {
            image,
            concrete,
            udf,
            is_named: options.image.is_some(),
        }))
    }

    fn check(
        &self,
        source: Arc<dyn ReadAt>,
        options: &ReadOptions,
        _: CheckOptions,
        observer: &dyn Observer,
    ) -> Result<CheckReport> {
        refuse_others(options, &[ISO9660])?;
        let udf = (self.udf)(&source, options)?;
        let checked = crate::check::check(source, options, observer)?;
        let mut report = CheckReport::from(checked);
        let damage = not_read(&udf).filter(|_| options.image.is_none());
        report
            .problems
            .extend(damage.map(|error| error.to_string()));
        Ok(report)
    }

    fn about(&self) -> About {
        About {
            title: "ISO 9660",
            codecs: &["none", "zlib[:level=1..12] (zisofs)"],
            notes: "Rock Ridge and Joliet. `-E` takes boot=FILE, efi-boot=FILE, partitions and \
                    more: docs/formats/iso9660.md.",
        }
    }
}

impl Provable for Iso9660Format {
    fn head(&self) -> Range<u64> {
        32_768..34_816
    }
}

/// An opened ISO 9660 image.
struct Iso9660Handle {
    image: Arc<dyn Image>,
    concrete: Arc<Iso9660>,
    /// The other tree of the disc.
    udf: OtherTree,
    /// Whether this tree was asked for.
    is_named: bool,
}

/// Returns the error about a tree of UDF in whose place this one is read.
fn not_read(udf: &OtherTree) -> Option<Error> {
    let OtherTree::Damaged(error) = udf else {
        return None;
    };
    let option = Setting("image");
    let what = format!(
        "the UDF tree of the disc cannot be read, and its ISO 9660 tree, which may have fewer \
         files, is read in its place ({option} iso9660 for no message): {error}"
    );
    Some(Error::new(error.kind(), what).about([option]))
}

impl Handle for Iso9660Handle {
    fn image(&self) -> &Arc<dyn Image> {
        &self.image
    }

    fn details(&self) -> Result<InfoRows> {
        let has_udf = !matches!(self.udf, OtherTree::Absent);
        Ok(info::details(&self.concrete, has_udf))
    }

    fn warnings(&self) -> Vec<Error> {
        let damage = not_read(&self.udf).filter(|_| !self.is_named);
        damage.into_iter().collect()
    }

    fn dump(&self, out: &mut dyn Write) -> Result<()> {
        crate::dump::dump(&self.concrete, out)
    }

    fn offset(&self) -> u64 {
        self.concrete.offset()
    }

    fn unrepresented(&self) -> Result<Vec<Loss>> {
        let boot_images = match self.concrete.boot_catalog() {
            Some(Ok(catalog)) => catalog.entries.len() as u64,
            // a damaged one is lost as well, which must not be in the way of the files
            Some(Err(error)) if error.kind() == Kind::Corrupt => 1,
            Some(Err(error)) => return Err(error),
            None => 0,
        };
        Ok(Loss::counted([
            (
                "UDF trees beside the ISO 9660 tree",
                u64::from(!matches!(self.udf, OtherTree::Absent)),
            ),
            ("associated files", self.concrete.associated_files()),
            ("boot images of El Torito", boot_images),
            ("times of birth", self.concrete.births()),
            (
                "times of backup, expiration or effect",
                self.concrete.more_times(),
            ),
        ]))
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
        self.concrete
            .stored_blocks(file, &mut |block, stored, codec| {
                visit(StoredBlock {
                    block,
                    stored: stored.len,
                    codec,
                    category: "",
                });
            })
    }
}
