//! Writing an image as an archive or a list, to a file or a stream.
//!
//! Enters an image file, or an archive; leaves an output that is whole or not there, if it is a
//! file.
//! **Invariant:** no block is decoded twice: if the order of names needs more of them at a time
//! than fit into the cache, the ranges needed later are in a scratch file.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_model::{Image, ImageInfo, Observer, Result};
use sinterfs_ops::{Archive, ArchiveOptions, ArchiveReport, PartOptions, PartialImage};
use sinterfs_platform::Scratch;
use sinterfs_source::XattrFilter;

use crate::open::open_tree;
use crate::open_options::{OpenOptions, shared_cache};
use crate::ops::filtered_image::FilteredImage;
use crate::output::Output;
use crate::output::destination::Destination;

/// Everything that can be asked of an archive.
#[derive(Debug, Clone)]
pub struct ArchiveRequest {
    /// The image file.
    pub image: PathBuf,
    /// How it is opened.
    pub open: OpenOptions,
    /// The selection and its form; how far to decode ahead follows from the size of the cache.
    pub options: ArchiveOptions,
    /// Which extended attributes stay.
    pub xattrs: XattrFilter,
    /// Which part of the image is taken; `None` for all of it.
    pub part: Option<PartOptions>,
    /// Where the archive goes.
    pub destination: Destination,
}

/// Writes an archive of an image. Damage without which the rest can be read is reported to the
/// observer.
pub fn archive(request: &ArchiveRequest, observer: &dyn Observer) -> Result<ArchiveReport> {
    let cache = shared_cache(request.open.cache_bytes);
    let options = OpenOptions {
        cache: Some(Arc::clone(&cache)),
        ..request.open.clone()
    };
    let opened = open_tree(&request.image, &options)?;
    for warning in opened.warnings() {
        observer.warn(&warning.path(&request.image));
    }
    let image = opened.raw();
    let options = divided(&cache, image.info(), &request.options);
    let image = FilteredImage::new(&**image, &request.xattrs);
    let part = request.part.as_ref();
    let part = part
        .map(|part| PartialImage::new(&image, part))
        .transpose()?;
    let image = part.as_ref().map_or(&image as &dyn Image, |part| part);
    let mut archive = Archive::plan(image, &options, observer)?;
    if archive.later_bytes() > 0 {
        archive.keep_in(Scratch::new(request.destination.scratch_dir()).file()?);
    }
    let output = Output::open(&request.destination, &request.open, None)?;
    let report = archive.write(&mut output.writer())?;
    output.commit()?;
    Ok(report)
}

/// Divides the cache among blocks that are decoded, decoded ahead, and kept for further use; makes
/// room for three of the first for each thread and two more.
fn divided(cache: &BlockCache, info: &ImageInfo, options: &ArchiveOptions) -> ArchiveOptions {
    /// So much is worth to be ahead even where blocks are small.
    const LEAST: u64 = 16 << 20;
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get),
        threads => threads,
    };
    let blocks = |count: u64| info.totals.block_size.saturating_mul(count);
    let threads = threads as u64;
    // with its stored bytes and its decoder's window, a block can take twice its size
    let working = blocks(threads.saturating_mul(2));
    let least = blocks(threads.saturating_mul(3).saturating_add(2));
    cache.set_capacity(cache.capacity().max(least));
    let room = cache.capacity().saturating_sub(working);
    let ahead = working.max(LEAST).min(room / 2).max(working / 2);
    ArchiveOptions {
        ahead,
        held: room.saturating_sub(ahead),
        ..options.clone()
    }
}
