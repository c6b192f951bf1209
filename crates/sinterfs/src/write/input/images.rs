//! The images of an input, and their shared cache of decoded blocks.
//!
//! **Invariant:** images share one cache of decoded blocks, of the requested size, but never
//! smaller than two of the largest blocks for each thread; blocks that do not fit are in a scratch
//! file, so that no block is decoded more than once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_model::{Error, ImageInfo, Loss, Observer, Result, Stage, Tally};
use sinterfs_platform::Scratch;
use sinterfs_source::ImageSource;
use sinterfs_source::image::Damage;

use crate::image::Image;
use crate::place;

/// Images among the input.
pub(super) struct Images {
    pub(super) damage: Arc<Damage>,
    /// Information about each.
    infos: Vec<ImageInfo>,
    /// Attributes of theirs that are lost.
    pub(super) unrepresented: Vec<Loss>,
    /// Attributes that are named streams, and the number of streams.
    pub(super) streams: (BTreeSet<Vec<u8>>, u64),
    /// Damage of theirs that costs nothing of what is read, and what is not read of them.
    pub(super) warnings: Vec<Error>,
    /// How many of the warnings are about what is not read.
    pub(super) left_out: u64,
    /// Their decoded blocks.
    pub(super) cache: Arc<BlockCache>,
    /// Bytes that all decoded blocks may take.
    decoded_bytes: u64,
    /// The image, if there is exactly one.
    pub(super) opened: Option<(Image, PathBuf)>,
}

impl Images {
    /// Starts without any.
    pub(super) fn new(cache: Arc<BlockCache>) -> Self {
        Self {
            damage: Arc::new(Damage::default()),
            infos: Vec::new(),
            unrepresented: Vec::new(),
            streams: (BTreeSet::new(), 0),
            warnings: Vec::new(),
            left_out: 0,
            cache,
            decoded_bytes: 0,
            opened: None,
        }
    }

    /// Adds an image that is open, as a source.
    pub(super) fn add(&mut self, opened: &Image, path: &Path) -> Result<ImageSource> {
        let (image, handle) = (opened.raw(), opened.handle());
        self.infos.push(image.info().clone());
        self.unrepresented.extend(handle.unrepresented()?);
        let (names, count) = handle.streams_as_attributes();
        self.streams.0.extend(names);
        self.streams.1 = self.streams.1.saturating_add(count);
        let (warnings, harmless) = (handle.warnings(), handle.damage().len());
        self.left_out += warnings.len().saturating_sub(harmless) as u64;
        let damage = warnings.into_iter();
        let damage = damage.map(|error| error.path(place::shown(path)));
        self.warnings.extend(damage);
        self.decoded_bytes = self.decoded_bytes.saturating_add(handle.decoded_bytes());
        let damage = Arc::clone(&self.damage);
        Ok(ImageSource::new(Arc::clone(image), path, damage))
    }

    /// Adds an image without further information of its format.
    pub(super) fn add_image(
        &mut self,
        image: Arc<dyn sinterfs_model::Image>,
        path: &Path,
    ) -> ImageSource {
        self.infos.push(image.info().clone());
        ImageSource::new(image, path, Arc::clone(&self.damage))
    }

    /// Grows the cache to two of the largest blocks for each thread.
    pub(super) fn make_room(&self, threads: usize) {
        let largest = self.infos.iter().map(|info| info.totals.block_size).max();
        let largest = largest.unwrap_or(0);
        let needed = largest.saturating_mul(2 * threads.max(1) as u64);
        if self.cache.capacity() < needed {
            self.cache.set_capacity(needed);
        }
    }

    /// Returns the coarsest unit of times in nanoseconds that loses nothing of the images', and
    /// whether an image has all times; `None` if there is no image.
    pub(super) fn times(&self) -> Option<(u64, bool)> {
        let units = self.infos.iter().map(|info| info.capability.time_unit);
        let unit = units.reduce(greatest_common_divisor)?;
        let all = self.infos.iter().any(|info| info.capability.all_times);
        Some((unit, all))
    }

    /// Keeps decoded blocks in a scratch file, too, if not all fit into memory: files are read
    /// twice, and the second time in another order than that of the blocks.
    pub(super) fn spill(&self, scratch: &Scratch) -> Result<()> {
        if self.decoded_bytes > self.cache.capacity() {
            self.cache.spill_to(scratch.file()?);
        }
        Ok(())
    }

    /// Returns the bytes of memory that decoded blocks may take.
    pub(super) fn cache_bytes(&self) -> u64 {
        if self.infos.is_empty() {
            0
        } else {
            self.cache.capacity()
        }
    }
}

/// An observer that asks to stop as soon as an image is found damaged.
pub(super) struct StopOnDamage<'a> {
    pub(super) inner: &'a dyn Observer,
    pub(super) damage: &'a Damage,
}

impl Observer for StopOnDamage<'_> {
    fn expect(&self, stage: Stage, total: Tally) {
        self.inner.expect(stage, total);
    }

    fn advance(&self, stage: Stage, done: Tally) {
        self.inner.advance(stage, done);
    }

    fn warn(&self, warning: &Error) {
        // damage is reported once, as an error
        if !self.damage.is_found() {
            self.inner.warn(warning);
        }
    }

    fn cancelled(&self) -> bool {
        self.damage.is_found() || self.inner.cancelled()
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
