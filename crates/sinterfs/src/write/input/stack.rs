//! Several sources on their way into one.
//!
//! Enters the files of paths, one after the other; leaves a part for each source, and for a layout
//! or an archive of an image one for each of its layers. **Invariant:** parts are in the order of
//! the paths, layers lowest first.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinterfs_model::{Error, Result, Setting, Source};
use sinterfs_platform::names;
use sinterfs_source::merge::{MergeInput, WhiteoutMarks};
use sinterfs_source::{Archive, Directory, Exclude, Manifest, directory};

use super::images::Images;
use super::kinds::{Layering, MergePart, Whiteouts};
use super::noticing::NoticingArchive;
use super::request::{Request, remote_config};
use crate::containers::docker_archive::{DockerArchive, Layer};
use crate::containers::layer_digests;
use crate::containers::named::{self, Named, Transport};
use crate::containers::oci;
use crate::kept_warnings::KeptWarnings;
use crate::open::detect::What;
use crate::open::open_cached;
use crate::open_options::shared_cache;
use crate::place::stores::RemoteContainer;
use crate::place::{self, TRANSPORT};

/// Sources so far.
pub(super) struct Stack<'a> {
    request: &'a Request<'a>,
    layers: Option<&'a Layering>,
    pub(super) images: Images,
    pub(super) sources: Vec<MergeInput>,
    pub(super) archives: Vec<Arc<Archive>>,
    /// Archives that are packed as they are.
    pub(super) whole_archives: Vec<NoticingArchive>,
    pub(super) manifests: Vec<Arc<Manifest>>,
    /// The configurations of container images.
    pub(super) configs: Vec<Vec<u8>>,
    /// Whether one is an OCI layout.
    has_layout: bool,
    /// Whether one is an archive of an image.
    has_saved: bool,
}

impl<'a> Stack<'a> {
    pub(super) fn new(
        request: &'a Request<'a>,
        layers: Option<&'a Layering>,
        cache_bytes: u64,
    ) -> Self {
        Self {
            request,
            layers,
            images: Images::new(shared_cache(cache_bytes)),
            sources: Vec::new(),
            archives: Vec::new(),
            whole_archives: Vec::new(),
            manifests: Vec::new(),
            configs: Vec::new(),
            has_layout: false,
            has_saved: false,
        }
    }

    /// Adds the tree of a path.
    pub(super) fn add(&mut self, part: &MergePart) -> Result<()> {
        let options = self.request.open;
        if !part.picks.is_empty() {
            let source = Box::new(self.picked(part)?);
            self.push(part, source, &part.path, WhiteoutMarks::default());
            return Ok(());
        }
        if let Some(layers) = self.layers
            && let Some(found) =
                TRANSPORT
                    .stores()
                    .container(&part.path, layers.platform.as_deref(), options)?
        {
            return self.remote(part, found);
        }
        if let Some(named) = Named::of(&part.path) {
            let layers = self.layers.ok_or_else(|| {
                let what = "an image of layers is merged by `build` only";
                Error::unsupported(what).path(&part.path)
            })?;
            return self.named(part, &named, layers);
        }
        let what = What::of(&part.path, options)?;
        self.has_layout |= what == What::Layout;
        let source: Box<dyn Source> = match (what, self.layers) {
            (What::Layout, Some(layers)) => return self.layout(part, &part.path, layers, None),
            (What::Directory | What::Layout, _) => Box::new(self.directory(part)?),
            (What::Registry, _) => {
                let what = "an ordinary image of layers is merged by `build` only";
                return Err(Error::unsupported(what).path(place::shown(&part.path)));
            }
            (What::Archive, layers) => {
                let archive = self.request.archive(&part.path, &Exclude::default())?;
                if let Some(layers) = layers.filter(|layers| layers.unpack)
                    && let Some(saved) = self.saved_image(&archive, &part.path)?
                {
                    let platform = layers.platform.as_deref();
                    let found = saved.layers(platform, None, None, self.request.observer)?;
                    return self.saved(part, found);
                }
                let archive = NoticingArchive::new(archive);
                self.whole_archives.push(archive.clone());
                Box::new(archive)
            }
            (What::Manifest, _) => {
                let everything = Exclude::default();
                let manifest =
                    self.request
                        .manifest(&part.path, &everything, &self.images.damage)?;
                self.manifests.push(Arc::clone(&manifest));
                Box::new(manifest)
            }
            (What::Image, _) => {
                let opened = open_cached(&part.path, options, &self.images.cache)?;
                Box::new(self.images.add(&opened, &part.path)?)
            }
        };
        let marks = self.marks(what);
        self.push(part, source, &part.path, marks);
        Ok(())
    }

    fn push(
        &mut self,
        part: &MergePart,
        source: Box<dyn Source>,
        path: &Path,
        marks: WhiteoutMarks,
    ) {
        self.sources.push(MergeInput {
            source,
            at: part.at.clone(),
            picks: part.picks.clone(),
            name: place::shown(path).display().to_string(),
            marks,
        });
    }

    fn marks(&self, what: What) -> WhiteoutMarks {
        let whiteouts = self
            .layers
            .map_or(Whiteouts::None, |layers| layers.whiteouts);
        whiteouts.marks(what)
    }

    fn directory(&self, part: &MergePart) -> Result<Directory> {
        // rules apply to the common tree; directories that they exclude may stay unread if all
        // roots are one, but no archive's, which may hide what is below it
        let exclude = match self.layers {
            Some(_) => self.request.directory.exclude.clone(),
            None => Exclude::default(),
        };
        let options = directory::Options {
            exclude,
            keep_excluded_dirs: true,
            // marks of layers are attributes
            no_xattrs: false,
            ..self.request.directory.clone()
        };
        Directory::open(&part.path, options)
    }

    /// Opens a directory of which only some names are taken; fails if one does not exist.
    fn picked(&self, part: &MergePart) -> Result<Directory> {
        for (name, _) in &part.picks {
            let path = part.path.join(names::path(name));
            let found = path.symlink_metadata();
            found.map_err(|error| Error::io("cannot read the source", error).path(path))?;
        }
        let names = part.picks.iter().map(|(name, _)| (&**name, true));
        let options = directory::Options {
            exclude: Exclude::default().with_only(names)?,
            ..self.request.directory.clone()
        };
        Directory::open(&part.path, options)
    }

    /// Adds the layers of an image in a registry.
    fn remote(&mut self, part: &MergePart, found: RemoteContainer) -> Result<()> {
        self.has_layout = true;
        let config = found.config.as_ref().map(remote_config).transpose()?;
        let config = config.flatten();
        let decoded = layer_digests::named(config.as_deref(), found.layers.len());
        let decoded = decoded.map_err(|error| error.path(place::shown(&part.path)))?;
        self.configs.extend(config);
        let mut decoded = decoded.into_iter().flatten();
        let mut known = HashMap::new();
        for layer in found.layers {
            let (path, decoded) = (layer.path.clone(), decoded.next());
            let again = known.get(&(layer.digest.clone(), decoded.clone())).cloned();
            let archive = match again {
                Some(archive) => archive,
                None => {
                    let digest = layer.digest.clone();
                    let archive = self.request.remote_layer(layer, decoded.as_deref())?;
                    known.insert((digest, decoded), Arc::clone(&archive));
                    self.archives.push(Arc::clone(&archive));
                    archive
                }
            };
            self.push(part, Box::new(archive), &path, self.marks(What::Layout));
        }
        Ok(())
    }

    /// Adds layers that are files of an image, lowest first; one that comes again is opened once.
    fn stored<L>(
        &mut self,
        part: &MergePart,
        layers: Vec<(PathBuf, L)>,
        open: impl Fn(&Request<'_>, L) -> Result<Arc<Archive>>,
    ) -> Result<()> {
        let mut known: HashMap<PathBuf, Arc<Archive>> = HashMap::new();
        for (path, layer) in layers {
            self.request.observer.check_cancelled()?;
            let archive = match known.get(&path) {
                Some(archive) => Arc::clone(archive),
                None => {
                    let archive = open(self.request, layer)?;
                    known.insert(path.clone(), Arc::clone(&archive));
                    self.archives.push(Arc::clone(&archive));
                    archive
                }
            };
            self.push(part, Box::new(archive), &path, self.marks(What::Layout));
        }
        Ok(())
    }

    /// Adds the layers of an image that is named as skopeo names it.
    fn named(&mut self, part: &MergePart, named: &Named, layers: &Layering) -> Result<()> {
        let (path, image) = (&named.path, named.image.as_deref());
        if matches!(named.form, Transport::Oci | Transport::Dir) {
            return self.layout(part, path, layers, image);
        }
        let archive = self.request.archive(path, &Exclude::default())?;
        let saved = self.saved_image(&archive, path)?.ok_or_else(|| {
            let what = "the archive holds no container image";
            Error::invalid(what).path(path)
        })?;
        let platform = layers.platform.as_deref();
        let found = saved.layers(platform, Some(named.form), image, self.request.observer)?;
        self.saved(part, found)
    }

    /// Adds the layers of a layout, or of a directory with one image.
    fn layout(
        &mut self,
        part: &MergePart,
        dir: &Path,
        layers: &Layering,
        tag: Option<&str>,
    ) -> Result<()> {
        self.has_layout = true;
        // its layers are unpacked, asked or not
        self.has_saved = true;
        let blobs = named::layout(dir).ok_or_else(|| {
            let what = "the directory holds no container image: neither an OCI layout (oci:), nor \
                        the files of one image (dir:)";
            Error::invalid(what).path(dir)
        })?;
        let platform = layers.platform.as_deref();
        let found = oci::image(&*blobs, platform, tag, self.request.observer)?;
        self.configs.extend(found.config);
        let layers = found
            .layers
            .iter()
            .map(|name| (blobs.shown(name), blobs.shown(name)));
        self.stored(part, layers.collect(), |request, path| {
            request.archive(&path, &Exclude::default())
        })
    }

    /// Looks for a container image in an archive. What is left out of an archive with an image is
    /// reported with the images; one without is scanned again.
    fn saved_image(
        &mut self,
        archive: &Arc<Archive>,
        path: &Path,
    ) -> Result<Option<DockerArchive>> {
        let kept = KeptWarnings::instead_of(self.request.observer);
        let saved = DockerArchive::of(archive, path, &kept)?;
        if saved.is_some() {
            let warnings = kept.into_warnings();
            self.images.left_out += warnings.len() as u64;
            self.images.warnings.extend(warnings);
        }
        Ok(saved)
    }

    /// Adds the layers of an archive of an image.
    fn saved(
        &mut self,
        part: &MergePart,
        (found, config): (Vec<Layer>, Option<Vec<u8>>),
    ) -> Result<()> {
        self.has_saved = true;
        // it has looked for the platform itself
        self.has_layout = true;
        self.configs.extend(config);
        let layers = found.into_iter().map(|layer| (layer.path.clone(), layer));
        self.stored(part, layers.collect(), |request, layer| {
            request.layer(layer)
        })
    }

    /// Fails if something was asked of sources that are not there.
    pub(super) fn check(&self) -> Result<()> {
        let Some(layers) = self.layers else {
            return Ok(());
        };
        if layers.platform.is_some() && !self.has_layout {
            let option = Setting::Platform;
            let what =
                format!("{option} chooses among the images of an OCI layout, and no source is one");
            return Err(Error::invalid(what).about([option]));
        }
        if layers.unpack && !self.has_saved {
            let option = Setting::UnpackLayers;
            let what = format!(
                "{option} unpacks container images (OCI layouts, and archives with manifest.json \
                 or a layout), and no source is one"
            );
            return Err(Error::invalid(what).about([option]));
        }
        Ok(())
    }
}
