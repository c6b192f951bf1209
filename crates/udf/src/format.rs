//! UDF as a format of the library, and the choice between the two trees of a disc that has an ISO
//! 9660 tree, too.
//!
//! **Invariant:** of a disc with both trees, the UDF tree is read if its root can be read, unless
//! the ISO 9660 tree has Rock Ridge and everything that the UDF tree has. The option `image`
//! chooses either. Where ISO 9660 is read because the UDF tree is damaged, there is a warning.

mod bridge;

use std::io::Write;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_block::cache::BlockCache;
use sinterfs_format::{
    Bid, CheckOptions, CheckReport, Format, Handle, InfoRows, InfoValue, ReadOptions,
    uncompressed_blocks,
};
use sinterfs_iso9660::format::{ISO9660, OtherTree, refuse_others};
use sinterfs_iso9660::read::{Iso9660, is_image as is_iso9660};
use sinterfs_model::{Error, Image, Ino, Kind, Loss, Observer, Result, Setting, StoredBlock};

use crate::read::{Probe, Udf, probe};

/// The name of this tree of a disc.
const UDF: &str = "udf";

/// UDF.
#[derive(Debug)]
pub struct UdfFormat;

impl Format for UdfFormat {
    fn name(&self) -> &'static str {
        UDF
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["udf"]
    }

    fn bid(&self, source: &Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Bid> {
        let is_bridge = || is_iso9660(&**source, options.start_offset());
        Ok(Bid::if_certain(match of(source, options)? {
            Probe::Absent => false,
            Probe::Sound => match options.image.as_deref() {
                Some(ISO9660) => !is_bridge()?,
                Some(_) => true,
                None => !is_bridge()? || !other_has_everything(source, options)?,
            },
            Probe::Damaged(_) => options.image.as_deref() == Some(UDF) || !is_bridge()?,
        }))
    }

    fn reader_options(&self) -> &'static [Setting] {
        &[Setting("image")]
    }

    fn open(&self, source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Box<dyn Handle>> {
        let has_iso9660 = is_iso9660(&*source, options.start_offset())?;
        let known = [UDF, ISO9660];
        let known = if has_iso9660 { &known[..] } else { &[UDF] };
        refuse_others(options, known)?;
        let concrete = Arc::new(Udf::open(Arc::clone(&source), options)?);
        let other = if has_iso9660 {
            open_other(source, options)?
        } else {
            None
        };
        let compared = other.as_ref().filter(|_| options.image.is_none());
        let differences = compared.map(|iso9660| bridge::differences(iso9660, &concrete));
        let boot_images = other.as_ref().map(Iso9660::boot_catalog);
        let boot_images = boot_images.flatten().and_then(Result::ok);
        let image: Arc<dyn Image> = Arc::clone(&concrete) as _;
        Ok(Box::new(UdfHandle {
            image,
            concrete,
            has_iso9660,
            // what cannot be read of the other tree is not missed in this one
            differences: differences.and_then(Result::ok).unwrap_or_default(),
            boot_images: boot_images.map_or(0, |catalog| catalog.entries.len() as u64),
        }))
    }

    fn check(
        &self,
        source: Arc<dyn ReadAt>,
        options: &ReadOptions,
        _: CheckOptions,
        observer: &dyn Observer,
    ) -> Result<CheckReport> {
        refuse_others(options, &[UDF])?;
        let is_bridge = is_iso9660(&*source, options.start_offset())?;
        let checked = crate::check::check(source, options, observer)?;
        let mut report = CheckReport::from(checked);
        if is_bridge {
            let option = Setting("image");
            let note = format!(
                "the UDF tree of the disc was checked ({option} iso9660 checks its other tree)"
            );
            report.notes.push(note);
        }
        Ok(report)
    }
}

/// Looks for the tree of UDF on a disc with an ISO 9660 tree.
///
/// # Errors
/// `Io` for a source that cannot be read.
pub fn other_tree(source: &Arc<dyn ReadAt>, options: &ReadOptions) -> Result<OtherTree> {
    Ok(match of(source, options)? {
        Probe::Absent => OtherTree::Absent,
        Probe::Sound => OtherTree::Sound,
        Probe::Damaged(error) => OtherTree::Damaged(error),
    })
}

/// Looks for a file system of UDF.
fn of(source: &Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Probe> {
    probe(source, options)
}

/// Returns whether the ISO 9660 tree of a disc is the better one.
fn other_has_everything(source: &Arc<dyn ReadAt>, options: &ReadOptions) -> Result<bool> {
    let Some(iso9660) = open_other(Arc::clone(source), options)? else {
        return Ok(false);
    };
    let compared = Udf::open(Arc::clone(source), options)
        .and_then(|udf| bridge::has_everything(&iso9660, &udf));
    match compared {
        Err(error) if error.io_source().is_some() => Err(error),
        // damage is reported when the tree is read
        compared => Ok(compared.unwrap_or(false)),
    }
}

/// Opens the ISO 9660 tree of a disc; `None` if it is damaged.
fn open_other(source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Option<Iso9660>> {
    let options = ReadOptions {
        offset: options.offset,
        limits: options.limits,
        cache_bytes: 0,
        ..ReadOptions::default()
    };
    match Iso9660::open(source, &options) {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if error.io_source().is_some() => Err(error),
        Err(_) => Ok(None),
    }
}

/// An opened UDF file system.
struct UdfHandle {
    image: Arc<dyn Image>,
    concrete: Arc<Udf>,
    has_iso9660: bool,
    /// What only the other tree has.
    differences: Vec<String>,
    boot_images: u64,
}

impl Handle for UdfHandle {
    fn image(&self) -> &Arc<dyn Image> {
        &self.image
    }

    fn details(&self) -> Result<InfoRows> {
        let (info, image) = (self.image.info(), &self.concrete);
        let mut details: InfoRows = vec![
            ("format".to_owned(), InfoValue::from("UDF")),
            ("version".to_owned(), info.version.as_str().into()),
            ("offset in file".to_owned(), image.offset().into()),
            ("image bytes".to_owned(), info.totals.stored.into()),
            ("inodes".to_owned(), info.totals.inodes.into()),
            ("block size".to_owned(), info.totals.block_size.into()),
            ("compression".to_owned(), "none".into()),
            ("label".to_owned(), image.label().into()),
            ("volume set".to_owned(), image.volume_set().into()),
        ];
        if self.has_iso9660 {
            let others = vec![InfoValue::from("ISO 9660")];
            details.push(("other trees".to_owned(), InfoValue::List(others)));
        }
        Ok(details)
    }

    fn unrepresented(&self) -> Result<Vec<Loss>> {
        let losses = self.concrete.losses();
        Ok(Loss::counted([
            ("attributes hidden or system", losses.attributes),
            ("times of birth", losses.births),
            ("extended attributes of UDF", losses.extended),
            ("named streams of more than 64 KiB", losses.streams),
            (
                "ISO 9660 trees beside the UDF tree",
                self.has_iso9660.into(),
            ),
            ("boot images of El Torito", self.boot_images),
        ]))
    }

    fn damage(&self) -> Vec<Error> {
        self.concrete.damage().collect()
    }

    fn warnings(&self) -> Vec<Error> {
        let all = self.concrete.damage().chain(self.concrete.lost_streams());
        let others = self.differences.iter();
        let others = others
            .map(|what| Error::new(Kind::Unsupported, what.clone()).about([Setting("image")]));
        all.chain(others).collect()
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
