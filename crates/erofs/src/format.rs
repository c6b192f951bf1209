//! EROFS as a format of the library. The images of composefs are opened here, too.

mod devices;
mod info;
#[cfg(feature = "write")]
mod levels;
mod object_directory;
#[cfg(feature = "write")]
mod writer;

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_block::cache::BlockCache;
use sinterfs_format::{
    About, Bid, CheckOptions, CheckReport, Format, Handle, InfoRows, InodeFacts, Provable,
    ReadOptions,
};
use sinterfs_model::{Error, Image, Ino, Observer, Result, Setting, StoredBlock};

use crate::composefs::Composefs;
use crate::read::{Algorithm, Erofs};
pub use object_directory::ObjectDirectory;

/// EROFS, composefs' images among them.
#[derive(Debug)]
pub struct ErofsFormat;

impl Format for ErofsFormat {
    fn name(&self) -> &'static str {
        "erofs"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["erofs"]
    }

    fn bid(&self, source: &Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Bid> {
        let offset = options.start_offset();
        let is_image = crate::read::is_image(&**source, offset)?;
        Ok(Bid::if_certain(is_image))
    }

    fn reader_options(&self) -> &'static [Setting] {
        &[Setting("devices"), Setting("objects")]
    }

    fn open(&self, source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Box<dyn Handle>> {
        let concrete = Arc::new(open(source, options)?);
        let image: Arc<dyn Image> = match options.objects.clone() {
            None => Arc::clone(&concrete) as _,
            Some(dir) => {
                let (image, store) = (Arc::clone(&concrete), ObjectDirectory::at(&dir)?);
                let view = Composefs::new(image, Arc::new(store), options.verify_objects);
                // devices that the image names are as trusted as the image; no others are
                let view = if options.is_proven {
                    view.all_named()
                } else {
                    view
                };
                Arc::new(view)
            }
        };
        Ok(Box::new(ErofsHandle { image, concrete }))
    }

    fn check(
        &self,
        source: Arc<dyn ReadAt>,
        options: &ReadOptions,
        _: CheckOptions,
        observer: &dyn Observer,
    ) -> Result<CheckReport> {
        // a check goes on where a superblock can be understood
        let salvaging = ReadOptions {
            salvage: true,
            ..options.clone()
        };
        let image = match open(source, &salvaging) {
            Ok(image) => image,
            Err(error) if error.kind() == sinterfs_model::Kind::Corrupt => {
                let mut report = CheckReport::default();
                report.problems.push(error.to_string());
                return Ok(report);
            }
            Err(error) => return Err(error),
        };
        let mut report = CheckReport::from(crate::check::check(&image, observer)?);
        let damage = image.damage().map(|error| error.to_string());
        report.problems.splice(0..0, damage);
        Ok(report)
    }

    fn provable(&self) -> Option<&dyn Provable> {
        Some(self)
    }

    fn about(&self) -> About {
        About {
            title: "EROFS",
            codecs: &[
                "none",
                "lz4[:level=N]",
                "lz4hc[:level=1..12]",
                "lzma[:level=1..9]",
                "deflate[:level=1..12]",
                "zstd[:level=N]",
            ],
            notes: "The block size is the decoded size of a compressed unit, 4k to 1m. Images need \
                    Linux 6.15 or newer; a target kernel restricts them to what older kernels \
                    support: lz4 and lz4hc in clusters of 4k from 5.4, of the block size from \
                    5.15, lzma and fragments from 6.1, deflate from 6.6, zstd from 6.10. Levels \
                    choose among these.",
        }
    }
}

impl Provable for ErofsFormat {
    fn intact_parts(
        &self,
        source: &Arc<dyn ReadAt>,
        options: &ReadOptions,
    ) -> Result<Vec<Range<u64>>> {
        crate::read::checked_part(source, options.start_offset())
    }
}

/// Opens an image with the devices that are given, or else are beside it under the names that it
/// calls them.
fn open(source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Erofs> {
    if options.is_proven {
        // no digest covers content on other devices
        let others = crate::read::needed_devices(&source, options.start_offset())?;
        if !others.is_empty() || !options.devices.is_empty() {
            return Err(Error::unsupported(
                "the image has content on other devices, which its digest does not cover",
            ));
        }
        return Erofs::open(source, options);
    }
    let devices = devices::open(&source, options)?;
    Erofs::open_with(source, &devices, options)
}

/// An opened EROFS image.
struct ErofsHandle {
    image: Arc<dyn Image>,
    concrete: Arc<Erofs>,
}

impl Handle for ErofsHandle {
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

    fn damage(&self) -> Vec<Error> {
        self.concrete.damage().into_iter().collect()
    }

    fn cache(&self) -> &Arc<BlockCache> {
        self.concrete.cache()
    }

    fn decoded_bytes(&self) -> u64 {
        // how much clusters hold is known only when all indexes have been read; LZ4's most
        let stored = self.image.info().totals.stored;
        stored.saturating_mul(255)
    }

    fn inode_facts(&self) -> Option<&dyn InodeFacts> {
        Some(self)
    }

    fn stored_blocks(&self, of: Option<Ino>, visit: &mut dyn FnMut(StoredBlock<'_>)) -> Result<()> {
        let Some(file) = of else {
            return Ok(());
        };
        self.concrete.stored_runs(file, &mut |run| {
            visit(StoredBlock {
                block: run.block,
                stored: run.stored,
                codec: run.algorithm.map_or("none", Algorithm::name),
                category: "",
            });
        })
    }
}

impl InodeFacts for ErofsHandle {
    fn inode_details(&self, ino: Ino) -> Result<InfoRows> {
        info::inode(&self.concrete, ino)
    }
}
