//! What a build reads: a directory, an image, or several of both as one.
//!
//! Enters paths; leaves a source for the pipeline, and what only images tell: the unit of their
//! times, damage. **Invariant:** images share one cache of decoded blocks, of the size that was asked
//! for, but never smaller than two of the largest blocks for each thread; what does not fit lies in a
//! scratch file, so that no block is decoded more than once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::build::Scratch;
use ::build::source::image::Damage;
use ::build::source::merge::{Conflicts, Part};
use ::build::source::{Directory, ImageSource, Merge, directory};
use block::cache::BlockCache;
use model::{Error, ImageInfo, Kind, Loss, Observer, Result, Source, Stage, Tally};

use crate::open::{self, OpenOptions, Opened};
use crate::registry::FormerRuns;

/// What is packed.
#[derive(Debug, Clone)]
pub enum Input {
    /// The tree below a directory.
    Directory(PathBuf),
    /// The files of a composefs-dump(5); `-` is standard input.
    Dump(PathBuf),
    /// The tree in an image.
    Image {
        /// The image file.
        path: PathBuf,
        /// How it is opened.
        options: OpenOptions,
    },
    /// The trees of several directories and images, later ones on top of earlier ones.
    Merge {
        /// Where each comes from and where it goes.
        parts: Vec<MergePart>,
        /// Bytes that decoded blocks of all images may take.
        cache_bytes: u64,
    },
}

impl Input {
    /// Tells whether images are read.
    pub(crate) fn has_images(&self) -> bool {
        match self {
            Self::Directory(_) | Self::Dump(_) => false,
            Self::Image { .. } => true,
            Self::Merge { parts, .. } => parts.iter().any(|part| !part.path.is_dir()),
        }
    }
}

/// One of several trees.
#[derive(Debug, Clone)]
pub struct MergePart {
    /// A directory or an image file.
    pub path: PathBuf,
    /// Where its root goes: names with slashes between them, none for the common root.
    pub at: Vec<u8>,
}

/// An input, opened.
pub(crate) enum OpenInput {
    Directory(Directory),
    Images(Box<Images>),
}

/// Images among the input.
pub(crate) struct Images {
    source: Tree,
    damage: Arc<Damage>,
    /// What is known of each.
    infos: Vec<ImageInfo>,
    /// What they hold that is lost on the way.
    untold: Vec<Loss>,
    /// Their decoded blocks.
    cache: Arc<BlockCache>,
    /// Bytes that all decoded blocks may take.
    decoded_bytes: u64,
    /// The image, if it is one and nobody else has it.
    opened: Option<(Opened, PathBuf)>,
}

enum Tree {
    Image(ImageSource),
    Merge(Merge),
}

/// What opening an input depends on.
pub(crate) struct Request<'a> {
    pub(crate) input: &'a Input,
    /// For directories.
    pub(crate) directory: directory::Options,
    pub(crate) threads: usize,
    pub(crate) strict: bool,
}

impl OpenInput {
    /// Opens all that is named.
    pub(crate) fn open(request: Request<'_>) -> Result<Self> {
        match request.input {
            Input::Directory(path) => {
                Ok(Self::Directory(Directory::open(path, request.directory)?))
            }
            Input::Image { path, options } => {
                let cache = shared_cache(options.cache_bytes);
                let opened = open_cached(path, options, &cache)?;
                let mut input = Self::of_image(&opened, path, &cache, request.threads)?;
                if let Self::Images(images) = &mut input {
                    images.opened = Some((opened, path.clone()));
                }
                Ok(input)
            }
            Input::Dump(_) => Err(Error::invalid("only composefs images are made of dumps")),
            Input::Merge { parts, cache_bytes } => Self::merge(parts, *cache_bytes, &request),
        }
    }

    /// Takes an image that is open.
    pub(crate) fn of_image(
        opened: &Opened,
        path: &Path,
        cache: &Arc<BlockCache>,
        threads: usize,
    ) -> Result<Self> {
        let damage = Arc::new(Damage::default());
        let infos = vec![opened.image().info().clone()];
        let source = ImageSource::new(Arc::clone(opened.image()), path, Arc::clone(&damage));
        Ok(Self::Images(Box::new(Images {
            source: Tree::Image(source),
            damage,
            cache: enlarged(cache, &infos, threads),
            decoded_bytes: opened.handle().decoded_bytes(),
            untold: opened.handle().untold()?,
            opened: None,
            infos,
        })))
    }

    fn merge(parts: &[MergePart], cache_bytes: u64, request: &Request<'_>) -> Result<Self> {
        let cache = shared_cache(cache_bytes);
        let damage = Arc::new(Damage::default());
        let (mut sources, mut infos, mut untold) = (Vec::new(), Vec::new(), Vec::new());
        let mut decoded_bytes = 0_u64;
        for part in parts {
            let source: Box<dyn Source> = if part.path.is_dir() {
                let options = request.directory.clone();
                Box::new(Directory::open(&part.path, options)?)
            } else {
                let opened = open_cached(&part.path, &OpenOptions::default(), &cache)?;
                infos.push(opened.image().info().clone());
                untold.extend(opened.handle().untold()?);
                decoded_bytes = decoded_bytes.saturating_add(opened.handle().decoded_bytes());
                let image = Arc::clone(opened.image());
                Box::new(ImageSource::new(image, &part.path, Arc::clone(&damage)))
            };
            sources.push(Part {
                source,
                at: part.at.clone(),
                name: part.path.display().to_string(),
            });
        }
        Ok(Self::Images(Box::new(Images {
            source: Tree::Merge(Merge::new(sources, request.strict)?),
            damage,
            cache: enlarged(&cache, &infos, request.threads),
            decoded_bytes,
            untold,
            opened: None,
            infos,
        })))
    }

    /// Tells the runs that made the image, if it is one.
    pub(crate) fn former_runs(&self) -> Result<FormerRuns> {
        match self.opened() {
            Some((opened, path)) => {
                let runs = opened.handle().former_runs();
                runs.map_err(|error| error.path(path))
            }
            None => Ok(FormerRuns::default()),
        }
    }

    /// Adds the path of the image to an error that only its damage explains.
    pub(crate) fn located(&self, error: Error) -> Error {
        match self.opened() {
            Some((_, path)) if error.kind() == Kind::Corrupt => error.path(path),
            _ => error,
        }
    }

    fn opened(&self) -> Option<&(Opened, PathBuf)> {
        match self {
            Self::Images(images) => images.opened.as_ref(),
            Self::Directory(_) => None,
        }
    }

    /// Gives the source for the pipeline.
    pub(crate) fn source(&self) -> &dyn Source {
        match self {
            Self::Directory(source) => source,
            Self::Images(images) => match &images.source {
                Tree::Image(source) => source,
                Tree::Merge(source) => source,
            },
        }
    }

    /// Gives the one image that is the input.
    pub(crate) fn image(&self) -> Option<&ImageSource> {
        match self {
            Self::Images(images) => match &images.source {
                Tree::Image(source) => Some(source),
                Tree::Merge(_) => None,
            },
            Self::Directory(_) => None,
        }
    }

    /// Tells the coarsest unit of times in nanoseconds that loses nothing of the images', and
    /// whether an image has all times; `None` if there is no image.
    pub(crate) fn times(&self) -> Option<(u64, bool)> {
        let Self::Images(images) = self else {
            return None;
        };
        let units = images.infos.iter().map(|info| info.capability.time_unit);
        let unit = units.reduce(greatest_common_divisor)?;
        let all = images.infos.iter().any(|info| info.capability.all_times);
        Some((unit, all))
    }

    /// Keeps decoded blocks in a scratch file, too, if not all fit into memory: files are read twice,
    /// and the second time in another order than that of the blocks.
    pub(crate) fn spill(&self, scratch: &Scratch) -> Result<()> {
        if let Self::Images(images) = self
            && images.decoded_bytes > images.cache.capacity()
        {
            images.cache.spill_to(scratch.file()?);
        }
        Ok(())
    }

    /// Tells the bytes of memory that decoded blocks of the input may take.
    pub(crate) fn cache_bytes(&self) -> u64 {
        match self {
            Self::Directory(_) => 0,
            Self::Images(images) => images.cache.capacity(),
        }
    }

    /// Adds what images hold and nobody is shown to what a writer lost.
    pub(crate) fn add_untold(&self, losses: &mut Vec<Loss>) {
        let Self::Images(images) = self else { return };
        for loss in &images.untold {
            match losses.iter_mut().find(|known| known.what == loss.what) {
                Some(known) => known.count = known.count.saturating_add(loss.count),
                None => losses.push(loss.clone()),
            }
        }
    }

    /// Tells what was hidden by later trees.
    pub(crate) fn conflicts(&self) -> Conflicts {
        match self {
            Self::Images(images) => match &images.source {
                Tree::Merge(merge) => merge.conflicts(),
                Tree::Image(_) => Conflicts::default(),
            },
            Self::Directory(_) => Conflicts::default(),
        }
    }

    /// Tells the damage that was found while images were read.
    fn damage(&self) -> Option<&Damage> {
        match self {
            Self::Directory(_) => None,
            Self::Images(images) => Some(&images.damage),
        }
    }

    /// Does work that reads the source; damage to an image ends it and is its error.
    pub(crate) fn read<T>(
        &self,
        observer: &dyn Observer,
        work: impl FnOnce(&dyn Source, &dyn Observer) -> Result<T>,
    ) -> Result<T> {
        let Some(damage) = self.damage() else {
            return work(self.source(), observer);
        };
        let watching = Watching {
            inner: observer,
            damage,
        };
        let done = work(self.source(), &watching);
        match damage.take() {
            Some(error) => Err(error),
            None => done,
        }
    }
}

/// An observer that asks to stop as soon as an image is found damaged.
struct Watching<'a> {
    inner: &'a dyn Observer,
    damage: &'a Damage,
}

impl Observer for Watching<'_> {
    fn expect(&self, stage: Stage, total: Tally) {
        self.inner.expect(stage, total);
    }

    fn advance(&self, stage: Stage, done: Tally) {
        self.inner.advance(stage, done);
    }

    fn warn(&self, warning: &Error) {
        // damage is told once, as the error that it is
        if !self.damage.is_found() {
            self.inner.warn(warning);
        }
    }

    fn cancelled(&self) -> bool {
        self.damage.is_found() || self.inner.cancelled()
    }
}

/// Makes a cache for images that are still to be opened.
pub(crate) fn shared_cache(bytes: u64) -> Arc<BlockCache> {
    // a block in the middle of what images have: what matters is that large ones are kept, too
    Arc::new(BlockCache::new(bytes, 16 << 20))
}

pub(crate) fn open_cached(
    path: &Path,
    options: &OpenOptions,
    cache: &Arc<BlockCache>,
) -> Result<Opened> {
    let options = OpenOptions {
        cache: Some(Arc::clone(cache)),
        ..options.clone()
    };
    open::open(path, &options)
}

/// Makes room for two of the largest blocks for each thread.
pub(crate) fn enlarged(
    cache: &Arc<BlockCache>,
    infos: &[ImageInfo],
    threads: usize,
) -> Arc<BlockCache> {
    let largest = infos.iter().map(|info| info.totals.block_size).max();
    let needed = largest
        .unwrap_or(0)
        .saturating_mul(2 * threads.max(1) as u64);
    if cache.capacity() < needed {
        cache.set_capacity(needed);
    }
    Arc::clone(cache)
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
