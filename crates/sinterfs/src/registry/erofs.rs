//! The row of EROFS: our options to its own. The images of composefs are opened here, too.

mod devices;
#[cfg(feature = "write")]
mod index;
mod info;
#[cfg(all(feature = "mount", target_os = "linux"))]
mod kernel_backing;
#[cfg(feature = "write")]
mod levels;
pub(crate) mod object_directory;
#[cfg(feature = "write")]
mod writer;

use std::io::Write;
#[cfg(feature = "write")]
use std::ops::Range;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_block::cache::BlockCache;
use sinterfs_erofs::composefs::Composefs;
use sinterfs_erofs::read::{Algorithm, Erofs};
use sinterfs_model::{Error, Image, Ino, Observer, Result, Setting};
use sinterfs_ops::StoredBlock;

#[cfg(feature = "write")]
use crate::about::About;
use crate::format::Format;
use crate::handle::{Bid, Handle};
use crate::info::InfoRows;
#[cfg(all(feature = "mount", target_os = "linux"))]
use crate::mount::kernel_backing::KernelBacking;
use crate::open_options::OpenOptions;
use crate::verify::report::{CheckOptions, CheckReport};
#[cfg(feature = "write")]
use crate::write::format_writer::FormatWriter;
use object_directory::ObjectDirectory;

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

    fn bid(&self, source: &Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Bid> {
        let offset = options.start_offset();
        let is_image = sinterfs_erofs::read::is_image(&**source, offset)?;
        Ok(Bid::if_certain(is_image))
    }

    fn reader_options(&self) -> &'static [Setting] {
        &[Setting::Devices, Setting::Objects]
    }

    fn open(&self, source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Box<dyn Handle>> {
        let concrete = Arc::new(open(source, options)?);
        let image: Arc<dyn Image> = match options.objects.clone() {
            None => Arc::clone(&concrete) as _,
            Some(dir) => {
                let (image, store) = (Arc::clone(&concrete), ObjectDirectory::at(&dir)?);
                let view = Composefs::new(image, Arc::new(store), options.verify_objects);
                Arc::new(match options.trust {
                    // devices that the image names are as trusted as the image; no others are
                    Some(_) => view.all_named(),
                    None => view,
                })
            }
        };
        Ok(Box::new(Opened { image, concrete }))
    }

    fn check(
        &self,
        source: Arc<dyn ReadAt>,
        options: &OpenOptions,
        _: CheckOptions,
        observer: &dyn Observer,
    ) -> Result<CheckReport> {
        // a check goes on where a superblock can be understood
        let salvaging = OpenOptions {
            salvage: true,
            ..options.clone()
        };
        let image = match open(source, &salvaging) {
            Ok(image) => image,
            Err(error) if error.kind() == sinterfs_model::Kind::Corrupt => {
                return Ok(CheckReport {
                    problems: vec![error.to_string()],
                    ..CheckReport::default()
                });
            }
            Err(error) => return Err(error),
        };
        let mut report = CheckReport::from(sinterfs_erofs::check::check(&image, observer)?);
        let damage = image.damage().map(|error| error.to_string());
        report.problems.splice(0..0, damage);
        Ok(report)
    }

    #[cfg(feature = "write")]
    fn intact_parts(
        &self,
        source: &Arc<dyn ReadAt>,
        options: &OpenOptions,
    ) -> Result<Vec<Range<u64>>> {
        sinterfs_erofs::read::checked_part(source, options.start_offset())
    }

    #[cfg(all(feature = "mount", target_os = "linux"))]
    fn kernel_backing(
        &self,
        image: Arc<dyn Image>,
        options: &sinterfs_mount::MountOptions,
    ) -> Option<Result<KernelBacking>> {
        Some(kernel_backing::kernel_backing(image, options))
    }

    #[cfg(feature = "write")]
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

    #[cfg(feature = "write")]
    fn writer(&self) -> Option<&dyn FormatWriter> {
        Some(&writer::ErofsBuilder)
    }
}

/// Opens an image with the devices that are given, or else are beside it under the names that it
/// calls them.
fn open(source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Erofs> {
    let mut own = sinterfs_erofs::read::OpenOptions {
        offset: options.start_offset(),
        devices: Vec::new(),
        limits: options.limits,
        cache_bytes: options.cache_bytes,
        cache: options.cache.clone(),
        salvage: options.salvage,
    };
    if options.trust.is_some() {
        // no digest covers content on other devices
        let others = sinterfs_erofs::read::needed_devices(&source, own.offset)?;
        if !others.is_empty() || !options.devices.is_empty() {
            return Err(Error::unsupported(
                "the image has content on other devices, which its digest does not cover",
            ));
        }
        return Erofs::open(source, &own);
    }
    own.devices = devices::open(&source, options)?;
    Erofs::open(source, &own)
}

/// An opened EROFS image.
struct Opened {
    image: Arc<dyn Image>,
    concrete: Arc<Erofs>,
}

impl Handle for Opened {
    fn image(&self) -> &Arc<dyn Image> {
        &self.image
    }

    fn details(&self) -> Result<InfoRows> {
        Ok(info::details(&self.concrete))
    }

    fn inode_details(&self, ino: Ino) -> Result<Option<InfoRows>> {
        info::inode(&self.concrete, ino).map(Some)
    }

    fn dump(&self, out: &mut dyn Write) -> Result<()> {
        sinterfs_erofs::dump::dump(&self.concrete, out)
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
