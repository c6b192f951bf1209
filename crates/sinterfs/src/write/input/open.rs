//! An input, opened: one source for the pipeline, and what else is known of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_model::{Error, Kind, Loss, Observer, Result, Source};
use sinterfs_pipeline::Scratch;
use sinterfs_pipeline::source::merge::{Conflicts, MergeOptions};
use sinterfs_pipeline::source::{
    Archive, Directory, EditedSource, Edits, Exclude, ImageSource, Manifest, Merge, archive,
    directory, manifest,
};

use super::docker_archive::Layer;
use super::images::{Images, Watching, open_cached, shared_cache};
use super::stack::Stack;
use super::{Input, Layering, ManifestOptions, MergePart};
use crate::open::Opened;
use crate::registry::FormerRuns;
use crate::registry::composefs::dump;

/// An input, opened.
pub(crate) struct OpenInput {
    tree: Tree,
    images: Images,
    /// The archives among it.
    archives: Vec<Arc<Archive>>,
    /// The lists among it.
    manifests: Vec<Arc<Manifest>>,
    edits: Edits,
}

enum Tree {
    Directory(Directory),
    Archive(Arc<Archive>),
    Manifest(Arc<Manifest>),
    Image(ImageSource),
    Merge(Merge),
}

/// What opening an input depends on.
pub(crate) struct Request<'a> {
    pub(crate) input: &'a Input,
    /// For directories; what is left out holds for archives, too.
    pub(crate) directory: directory::Options,
    /// Where content is that lists name.
    pub(crate) manifest: ManifestOptions,
    /// The store of objects of a dump.
    pub(crate) objects: Option<PathBuf>,
    /// What becomes of the tree.
    pub(crate) edits: Edits,
    /// Where archives are unpacked.
    pub(crate) scratch: Scratch,
    pub(crate) threads: usize,
    pub(crate) strict: bool,
}

impl Request<'_> {
    pub(super) fn archive(&self, path: &Path, exclude: &Exclude) -> Result<Arc<Archive>> {
        let options = archive::Options {
            exclude: exclude.clone(),
            scratch: self.scratch.clone(),
        };
        let archive = match path.as_os_str() == "-" {
            true => Archive::stdin(options),
            false => Archive::open(path, options),
        };
        archive.map(Arc::new)
    }

    /// Takes a layer that is within an archive.
    pub(super) fn layer(&self, layer: Layer) -> Result<Arc<Archive>> {
        let options = archive::Options {
            exclude: Exclude::default(),
            scratch: self.scratch.clone(),
        };
        Archive::of_stream(layer.stream, layer.path, options).map(Arc::new)
    }

    pub(super) fn manifest(
        &self,
        path: &Path,
        exclude: &Exclude,
        images: &Images,
    ) -> Result<Arc<Manifest>> {
        let options = manifest::Options {
            exclude: exclude.clone(),
            root: self.manifest.root.clone(),
            allow_outside: self.manifest.anywhere,
        };
        Manifest::open(path, &options, Arc::clone(&images.damage)).map(Arc::new)
    }
}

impl OpenInput {
    /// Opens all that is named.
    pub(crate) fn open(request: &Request<'_>) -> Result<Self> {
        let opened = Self::unedited(request)?;
        if opened.manifests.is_empty() && request.manifest != ManifestOptions::default() {
            let what = "--manifest-root and --manifest-anywhere are about lists of files (mtree), and no \
                        source is one";
            return Err(Error::invalid(what));
        }
        Ok(Self {
            edits: request.edits.clone(),
            ..opened
        })
    }

    fn unedited(request: &Request<'_>) -> Result<Self> {
        match request.input {
            Input::Directory(path) => {
                let options = request.directory.clone();
                Ok(Self::of(Tree::Directory(Directory::open(path, options)?)))
            }
            Input::Archive(path) => {
                let archive = request.archive(path, &request.directory.exclude)?;
                let mut input = Self::of(Tree::Archive(Arc::clone(&archive)));
                input.archives.push(archive);
                Ok(input)
            }
            Input::Image { path, options } => {
                let cache = shared_cache(options.cache_bytes);
                let opened = open_cached(path, options, &cache)?;
                let mut input = Self::of_image(&opened, path, &cache, request.threads)?;
                input.images.opened = Some((opened, path.clone()));
                Ok(input)
            }
            Input::Manifest(path) => {
                let images = Images::new(shared_cache(0));
                let manifest = request.manifest(path, &request.directory.exclude, &images)?;
                let mut input = Self::of(Tree::Manifest(Arc::clone(&manifest)));
                input.images = images;
                input.manifests.push(manifest);
                Ok(input)
            }
            Input::Dump(path) => {
                let mut images = Images::new(shared_cache(0));
                let image = dump::image(path, request.objects.as_deref())?;
                let mut input = Self::of(Tree::Image(images.add_image(image, path)));
                input.images = images;
                Ok(input)
            }
            Input::Merge {
                parts,
                layers,
                cache_bytes,
            } => Self::merge(parts, layers.as_ref(), *cache_bytes, request),
        }
    }

    /// Takes a tree without images.
    fn of(tree: Tree) -> Self {
        Self {
            tree,
            images: Images::new(shared_cache(0)),
            archives: Vec::new(),
            manifests: Vec::new(),
            edits: Edits::default(),
        }
    }

    /// Takes an image that is open.
    pub(crate) fn of_image(
        opened: &Opened,
        path: &Path,
        cache: &Arc<BlockCache>,
        threads: usize,
    ) -> Result<Self> {
        let mut images = Images::new(Arc::clone(cache));
        let tree = Tree::Image(images.add(opened, path)?);
        images.make_room(threads);
        Ok(Self {
            tree,
            images,
            archives: Vec::new(),
            manifests: Vec::new(),
            edits: Edits::default(),
        })
    }

    fn merge(
        parts: &[MergePart],
        layers: Option<&Layering>,
        cache_bytes: u64,
        request: &Request<'_>,
    ) -> Result<Self> {
        let mut stack = Stack::new(request, layers, cache_bytes);
        for part in parts {
            stack.add(part)?;
        }
        stack.check()?;
        stack.images.make_room(request.threads);
        let how = MergeOptions {
            strict: request.strict,
            layers: layers.is_some(),
            exclude: request.directory.exclude.clone(),
        };
        Ok(Self {
            tree: Tree::Merge(Merge::new(stack.sources, how)?),
            images: stack.images,
            archives: stack.archives,
            manifests: stack.manifests,
            edits: Edits::default(),
        })
    }

    /// Returns the runs that made the image, if it is one.
    pub(crate) fn former_runs(&self) -> Result<FormerRuns> {
        match &self.images.opened {
            Some((opened, path)) => {
                let runs = opened.handle().former_runs();
                runs.map_err(|error| error.path(path))
            }
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

    /// Keeps decoded blocks in a scratch file, too, if not all fit into memory.
    pub(crate) fn spill(&self, scratch: &Scratch) -> Result<()> {
        self.images.spill(scratch)
    }

    /// Returns the bytes of memory that decoded blocks of the input may take.
    pub(crate) fn cache_bytes(&self) -> u64 {
        self.images.cache_bytes()
    }

    /// Adds what images and archives hold and nobody is shown to what a writer lost.
    pub(crate) fn add_untold(&self, losses: &mut Vec<Loss>) {
        let of_archives = self.archives.iter().flat_map(|archive| archive.losses());
        let of_manifests = self.manifests.iter().flat_map(|manifest| manifest.losses());
        let of_images = self.images.untold.iter().cloned();
        for loss in of_images.chain(of_archives).chain(of_manifests) {
            match losses.iter_mut().find(|known| known.what == loss.what) {
                Some(known) => known.count = known.count.saturating_add(loss.count),
                None => losses.push(loss),
            }
        }
    }

    /// Returns what was hidden by later trees.
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
        let watching = Watching {
            inner: observer,
            damage: &self.images.damage,
        };
        let done = match self.edits.is_empty() {
            true => work(self.source(), &watching),
            false => work(&EditedSource::new(self.source(), &self.edits), &watching),
        };
        match self.images.damage.take() {
            Some(error) => Err(error),
            None => done,
        }
    }
}
