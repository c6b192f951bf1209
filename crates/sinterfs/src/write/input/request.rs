//! The options of opening an input, and the opening of archives and lists.

use std::io::{Seek, Write};
use std::path::Path;
use std::sync::Arc;

use sinterfs_block::SequentialReader;
use sinterfs_model::{Error, Observer, Result};
use sinterfs_platform::Scratch;
use sinterfs_source::archive::ImpliedDirectories;
use sinterfs_source::image::Damage;
use sinterfs_source::{Archive, Edits, Exclude, Manifest, archive, directory, manifest};

use super::kinds::{Input, ManifestOptions};
use crate::containers::docker_archive::Layer;
use crate::containers::layer_digests;
use crate::containers::oci;
use crate::open_options::OpenOptions;
use crate::place::stores::RemoteBlob;
use crate::place::{self, copy_hashed};

/// The options of opening an input.
pub(crate) struct Request<'a> {
    pub(crate) input: &'a Input,
    /// Asked whether to stop.
    pub(crate) observer: &'a dyn Observer,
    /// How images of several, and archives on servers, are opened.
    pub(crate) open: &'a OpenOptions,
    /// The options of directories; exclusions apply to archives, too.
    pub(crate) directory: directory::Options,
    /// Where content is that lists name.
    pub(crate) manifest: ManifestOptions,
    /// The directory of an archive that becomes the root.
    pub(crate) archive_root: Option<Vec<u8>>,
    /// Attributes of directories that archives have no member for.
    pub(crate) implied: ImpliedDirectories,
    /// Changes of the tree.
    pub(crate) edits: Edits,
    /// Keeps the configuration of a container image, as an attribute of the root.
    pub(crate) keeps_config: bool,
    /// Where archives are unpacked.
    pub(crate) scratch: Scratch,
    pub(crate) threads: usize,
    pub(crate) strict: bool,
}

impl Request<'_> {
    pub(super) fn archive(&self, path: &Path, exclude: &Exclude) -> Result<Arc<Archive>> {
        let options = archive::Options {
            exclude: exclude.clone(),
            root: self.archive_root.clone(),
            implied: self.implied,
            scratch: self.scratch.clone(),
        };
        let archive = if path.as_os_str() == "-" {
            Archive::stdin(options)
        } else if place::is_url(path) {
            let source = place::source(path, self.open)?;
            let stream = Box::new(SequentialReader::new(source));
            Archive::of_stream(stream, place::shown(path), options)
        } else {
            Archive::open(path, options)
        };
        archive.map(Arc::new)
    }

    /// Takes a layer that is within an archive.
    pub(super) fn layer(&self, layer: Layer) -> Result<Arc<Archive>> {
        let options = archive::Options {
            exclude: Exclude::default(),
            root: None,
            implied: self.implied,
            scratch: self.scratch.clone(),
        };
        Archive::of_stream(layer.stream, layer.path, options).map(Arc::new)
    }

    /// Takes a layer of an image in a registry: copied to a scratch file, and compared with its
    /// digest, and decoded with that of the configuration, before anything of it is used.
    pub(super) fn remote_layer(
        &self,
        layer: RemoteBlob,
        decoded: Option<&str>,
    ) -> Result<Arc<Archive>> {
        let mut file = self.scratch.file()?;
        copy_compared(&layer, &file)?;
        let failed = |error| Error::io("cannot read a scratch file", error);
        if let Some(decoded) = decoded {
            file.rewind().map_err(failed)?;
            let stored = file.try_clone().map_err(failed)?;
            let compared =
                layer_digests::compare(stored, decoded, Some(&layer.digest), self.observer);
            compared.map_err(|error| error.path(&layer.path))?;
        }
        file.rewind().map_err(failed)?;
        let options = archive::Options {
            exclude: Exclude::default(),
            root: None,
            implied: self.implied,
            scratch: self.scratch.clone(),
        };
        Archive::of_file(file, layer.path, options).map(Arc::new)
    }

    pub(super) fn manifest(
        &self,
        path: &Path,
        exclude: &Exclude,
        damage: &Arc<Damage>,
    ) -> Result<Arc<Manifest>> {
        let options = manifest::Options {
            exclude: exclude.clone(),
            root: self.manifest.root.clone(),
            allow_outside: self.manifest.anywhere,
        };
        Manifest::open(path, &options, Arc::clone(damage)).map(Arc::new)
    }
}

/// Reads the configuration of an image in a registry. `Corrupt` for other bytes than the manifest
/// names; `None` for one that is too long to be read.
pub(super) fn remote_config(config: &RemoteBlob) -> Result<Option<Vec<u8>>> {
    if config.source.len() > oci::LONGEST {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    copy_compared(config, &mut bytes)?;
    Ok(Some(bytes))
}

/// Copies a blob of a registry; fails with `Corrupt` if it has another digest.
fn copy_compared(blob: &RemoteBlob, to: impl Write) -> Result<()> {
    let located = |error: Error| error.path(&blob.path);
    let (found, _) = copy_hashed(Arc::clone(&blob.source), to).map_err(located)?;
    if found != blob.digest {
        let what = format!("the bytes have the digest {found}");
        return Err(located(Error::corrupt(what)));
    }
    Ok(())
}
