//! An opened input: one source for the pipeline, and information about it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_format::FormerRuns;
use sinterfs_model::{Error, Kind, Loss, Observer, Result, Source, TreeStats};
use sinterfs_platform::Scratch;
use sinterfs_source::merge::Conflicts;
use sinterfs_source::{Archive, Directory, EditedSource, Edits, ImageSource, Manifest, Merge};

use super::images::{Images, StopOnDamage};
use super::noticing::NoticingArchive;
use crate::image::Image;
use crate::write::base::former_runs;

/// An input, opened.
pub(crate) struct OpenInput {
    pub(super) tree: Tree,
    pub(super) images: Images,
    /// The archives among it.
    pub(super) archives: Vec<Arc<Archive>>,
    /// Those that are packed as they are.
    pub(super) whole_archives: Vec<NoticingArchive>,
    /// The lists of files among it.
    pub(super) manifests: Vec<Arc<Manifest>>,
    pub(super) edits: Edits,
    /// The configuration of the one container image that it is.
    pub(super) config: Option<Vec<u8>>,
}

/// The source.
pub(super) enum Tree {
    Directory(Directory),
    Archive(NoticingArchive),
    Manifest(Arc<Manifest>),
    Image(ImageSource),
    Merge(Merge),
}

impl OpenInput {
    /// Takes a tree, and the images that its content is in.
    pub(super) fn new(tree: Tree, images: Images) -> Self {
        Self {
            tree,
            images,
            archives: Vec::new(),
            whole_archives: Vec::new(),
            manifests: Vec::new(),
            edits: Edits::default(),
            config: None,
        }
    }

    /// Takes an image that is open.
    pub(crate) fn of_image(
        opened: &Image,
        path: &Path,
        cache: &Arc<BlockCache>,
        threads: usize,
    ) -> Result<Self> {
        let mut images = Images::new(Arc::clone(cache));
        let tree = Tree::Image(images.add(opened, path)?);
        images.make_room(threads);
        Ok(Self::new(tree, images))
    }

    /// Returns the runs that made the image, if it is one.
    pub(crate) fn former_runs(&self) -> Result<FormerRuns> {
        match &self.images.opened {
            Some((opened, path)) => former_runs(opened).map_err(|error| error.path(path)),
            None => Ok(FormerRuns::default()),
        }
    }

    /// Adds the path of the image to an error that only its damage explains.
    pub(crate) fn located(&self, error: Error) -> Error {
        match &self.images.opened {
            Some((_, path)) if error.kind() == Kind::Corrupt => error.path(path),
            _ => error,
        }
    }

    /// Returns the source for the pipeline.
    pub(crate) fn source(&self) -> &dyn Source {
        match &self.tree {
            Tree::Directory(source) => source,
            Tree::Archive(source) => source,
            Tree::Manifest(source) => source,
            Tree::Image(source) => source,
            Tree::Merge(source) => source,
        }
    }

    /// Returns the one image that is the input.
    pub(crate) fn image(&self) -> Option<&ImageSource> {
        match &self.tree {
            Tree::Image(source) => Some(source),
            _ => None,
        }
    }

    /// Returns the coarsest unit of times in nanoseconds that loses nothing of the images', and
    /// whether an image has all times; `None` if there is no image.
    pub(crate) fn times(&self) -> Option<(u64, bool)> {
        self.images.times()
    }

    /// Counts the inodes of images with times of access and of inode change, which a format
    /// without them loses.
    pub(crate) fn times_of_access(&self, tree: &TreeStats) -> Option<Loss> {
        let has_all = self.times().is_some_and(|(_, all)| all);
        has_all.then(|| {
            Loss::new(
                "files with times of access and of inode change",
                tree.directories + tree.files + tree.symlinks + tree.specials,
            )
        })
    }

    /// Returns the extended attributes that are named streams in the images.
    pub(crate) fn stream_attributes(&self) -> &BTreeSet<Vec<u8>> {
        &self.images.streams.0
    }

    /// Counts named streams of the images, which a format without such has as attributes.
    pub(crate) fn streams_as_attributes(&self) -> Option<Loss> {
        let count = self.images.streams.1;
        let what = "named streams (as extended attributes, which only Linux restores)";
        (count > 0).then(|| Loss::new(what, count))
    }

    /// Keeps decoded blocks in a scratch file, too, if not all fit into memory.
    pub(crate) fn spill(&self, scratch: &Scratch) -> Result<()> {
        self.images.spill(scratch)
    }

    /// Returns the bytes of memory that decoded blocks of the input may take.
    pub(crate) fn cache_bytes(&self) -> u64 {
        self.images.cache_bytes()
    }

    /// Adds the losses of reading images and archives to those of a writer.
    pub(crate) fn add_unrepresented(&self, losses: &mut Vec<Loss>) {
        let of_archives = self.archives.iter().flat_map(|archive| archive.losses());
        let of_manifests = self.manifests.iter().flat_map(|manifest| manifest.losses());
        let of_images = self.images.unrepresented.iter().cloned();
        let of_whole = self.whole_archives.iter().flat_map(NoticingArchive::losses);
        let of_archives = of_archives.chain(of_whole);
        for loss in of_images.chain(of_archives).chain(of_manifests) {
            match losses.iter_mut().find(|known| known.what == loss.what) {
                Some(known) => known.merge(loss),
                None => losses.push(loss),
            }
        }
    }

    /// Counts what the readers of images leave out of them.
    pub(crate) fn left_out(&self) -> u64 {
        self.images.left_out
    }

    /// Reports damage to images that costs nothing of what is read of them, and what is left out.
    pub(crate) fn warn(&self, observer: &dyn Observer) {
        for warning in &self.images.warnings {
            observer.warn(warning);
        }
    }

    /// Returns the entries that later trees hid.
    pub(crate) fn conflicts(&self) -> Conflicts {
        match &self.tree {
            Tree::Merge(merge) => merge.conflicts(),
            _ => Conflicts::default(),
        }
    }

    /// Does work that reads the source; damage to an image ends it and is its error.
    pub(crate) fn read<T>(
        &self,
        observer: &dyn Observer,
        work: impl FnOnce(&dyn Source, &dyn Observer) -> Result<T>,
    ) -> Result<T> {
        let watching = StopOnDamage {
            inner: observer,
            damage: &self.images.damage,
        };
        let done = if self.edits.is_empty() {
            work(self.source(), &watching)
        } else {
            work(&EditedSource::new(self.source(), &self.edits), &watching)
        };
        match self.images.damage.take() {
            Some(error) => Err(error),
            None => done,
        }
    }
}
