//! Archives with a container image, as `docker save`, podman and skopeo write them.
//!
//! Enters a tar with `manifest.json` (docker-archive), or with an OCI layout (oci-archive); leaves
//! the layers, lowest first, each as an archive of its own. Facts: moby's image-spec-v1.2.md, what
//! Docker 28 and skopeo 1.9 write. **Invariant:** a layer has the digest that the image's
//! configuration or manifest says; names are looked up in the archive's own tree, so that nothing
//! of the system is read, whatever they are.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use sinterfs_block::checksum::sha256;
use sinterfs_block::verity::hex;
use sinterfs_model::{
    Content, Error, FileContent, NodeId, Observer, Result, Setting, Source, Tree,
};
use sinterfs_source::Archive;

use super::layer_digests;
use super::named::Transport;
use super::oci::{self, Blobs, FoundImage};

/// The file that names images and their layers.
const MANIFEST: &str = "manifest.json";

/// How many symlinks may lead to each other: older versions have some to layers of other images.
const DEEPEST: usize = 8;

/// An archive whose members are looked up by name.
pub(crate) struct DockerArchive {
    archive: Arc<Archive>,
    tree: Tree,
    path: PathBuf,
}

/// A layer within an archive.
pub(crate) struct Layer {
    pub(crate) stream: Box<dyn Read + Send>,
    /// For messages.
    pub(crate) path: PathBuf,
}

impl DockerArchive {
    /// Looks into an archive; `None` if it holds no image.
    pub(crate) fn of(
        archive: &Arc<Archive>,
        path: &Path,
        observer: &dyn Observer,
    ) -> Result<Option<Self>> {
        let tree = archive.scan(observer)?;
        let saved = Self {
            archive: Arc::clone(archive),
            tree,
            path: path.to_owned(),
        };
        let has = |name| saved.find(name).is_some();
        let is_one = has(MANIFEST) || has(oci::MARK) && has(oci::INDEX);
        Ok(is_one.then_some(saved))
    }

    /// Returns the layers and the configuration of the image, or of that for a platform or with a
    /// name; the form is detected unless it is given.
    pub(crate) fn layers(
        &self,
        platform: Option<&str>,
        form: Option<Transport>,
        image: Option<&str>,
        observer: &dyn Observer,
    ) -> Result<(Vec<Layer>, Option<Vec<u8>>)> {
        // newer versions of Docker write both; only the layout knows platforms
        let by_layout = match form {
            Some(form) => form == Transport::OciArchive,
            None => self.find(MANIFEST).is_none() || platform.is_some(),
        };
        let has_layout = self.find(oci::INDEX).is_some();
        let found = if by_layout && has_layout {
            oci::image(self, platform, image, observer)?
        } else if form == Some(Transport::OciArchive) {
            let what = "the archive has no OCI layout; use docker-archive: for archives of Docker";
            return Err(Error::invalid(what).path(&self.path));
        } else if platform.is_some() {
            let option = Setting::Platform;
            let what = format!(
                "{option} chooses among the images of an OCI layout, and the archive has none"
            );
            return Err(Error::invalid(what).about([option]).path(&self.path));
        } else {
            self.of_manifest(image, observer)?
        };
        let layer = |name: &String| {
            let (stream, _) = self.open(name)?;
            Ok(Layer {
                stream,
                path: self.shown(name),
            })
        };
        let layers = found.layers.iter().map(layer).collect::<Result<_>>()?;
        Ok((layers, found.config))
    }

    /// Finds the layers that the manifest names, and compares them with the configuration's
    /// digests.
    fn of_manifest(&self, name: Option<&str>, observer: &dyn Observer) -> Result<FoundImage> {
        let located = |error: Error| error.path(self.shown(MANIFEST));
        let images = oci::parsed(self, MANIFEST, &oci::whole(self, MANIFEST)?)?;
        let image = chosen(&images, name).map_err(located)?;
        let wrong = || {
            located(Error::corrupt(
                "an image without a configuration and layers",
            ))
        };
        let config = image
            .get("Config")
            .and_then(Value::as_str)
            .ok_or_else(wrong)?;
        let bytes = oci::whole(self, config)?;
        // it is named by its digest, in one form or the other
        let stem = Path::new(config).file_stem().and_then(|stem| stem.to_str());
        let named = stem.filter(|stem| stem.len() == 64);
        let found = hex(&sha256(&bytes));
        if named.is_some_and(|named| named != found) {
            let what = format!("the configuration has the SHA-256 {found}");
            return Err(Error::corrupt(what).path(self.shown(config)));
        }
        let digests = oci::parsed(self, config, &bytes)?;
        let digests = digests
            .pointer("/rootfs/diff_ids")
            .and_then(Value::as_array);
        let layers = image
            .get("Layers")
            .and_then(Value::as_array)
            .ok_or_else(wrong)?;
        layer_digests::bounded(layers.len()).map_err(located)?;
        let digests = digests.filter(|digests| digests.len() == layers.len());
        let digests = digests.ok_or_else(|| {
            let what = "a configuration that does not name each layer's digest";
            Error::corrupt(what).path(self.shown(config))
        })?;
        let mut compared = HashMap::new();
        let mut names = Vec::new();
        for (layer, digest) in layers.iter().zip(digests) {
            let (Some(name), Some(digest)) = (layer.as_str(), digest.as_str()) else {
                return Err(wrong());
            };
            // an empty layer may come many times
            if compared.insert(name, digest) != Some(digest) {
                let (stream, _) = self.open(name)?;
                let compared = layer_digests::compare(stream, digest, None, observer);
                compared.map_err(|error| error.path(self.shown(name)))?;
            }
            names.push(name.to_owned());
        }
        Ok(FoundImage {
            layers: names,
            config: Some(bytes),
        })
    }

    /// Finds a file by its name; symlinks are followed within the archive.
    fn find(&self, name: &str) -> Option<NodeId> {
        find(&self.tree, name)
    }
}

/// Returns whether the files of an archive are beyond doubt a container image: many things have a
/// `manifest.json`.
pub(crate) fn holds_image(tree: &Tree) -> bool {
    let has = |name| find(tree, name).is_some();
    let children = tree.children(NodeId::ROOT);
    let blobs = children.iter().any(|link| {
        let name = tree.bytes(link.name);
        name == b"blobs" || name == b"repositories" || named_by_digest(name)
    });
    has(MANIFEST) && blobs || has(oci::MARK) && has(oci::INDEX)
}

/// Returns whether a name is that of a configuration or of a layer: 64 digits, and an extension.
fn named_by_digest(name: &[u8]) -> bool {
    let stem = name.split(|&byte| byte == b'.').next().unwrap_or(name);
    stem.len() == 64 && stem.iter().all(u8::is_ascii_hexdigit)
}

/// Finds a file by its name; symlinks are followed within the archive.
fn find(tree: &Tree, name: &str) -> Option<NodeId> {
    let mut name = name.as_bytes().to_vec();
    for _ in 0..DEEPEST {
        let node = walk(tree, &name)?;
        match tree.node(node).content {
            Content::File { .. } => return Some(node),
            Content::Symlink(target) => {
                let dir = name.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
                let target = tree.bytes(target);
                name = [name.get(..dir).unwrap_or_default(), b"/", target].concat();
            }
            _ => return None,
        }
    }
    None
}

/// Goes down from the root, through directories alone.
fn walk(tree: &Tree, name: &[u8]) -> Option<NodeId> {
    let mut path = vec![NodeId::ROOT];
    for part in name.split(|&byte| byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                path.pop();
            }
            part => {
                let links = tree.children(*path.last()?);
                let at = links.binary_search_by(|link| tree.bytes(link.name).cmp(part));
                path.push(links.get(at.ok()?)?.node);
            }
        }
    }
    path.last().copied()
}

/// Chooses the image of a manifest with a name, or at a position (`@0` is the first one), or the
/// only one.
fn chosen<'a>(images: &'a Value, name: Option<&str>) -> Result<&'a Value> {
    let wrong = || Error::corrupt("no list of images");
    let images = images.as_array().ok_or_else(wrong)?;
    let tags = |image: &'a Value| {
        let tags = image.get("RepoTags").and_then(Value::as_array);
        tags.into_iter().flatten().filter_map(Value::as_str)
    };
    let all = || images.iter().flat_map(tags).collect::<Vec<_>>().join(", ");
    let missing = |name| Error::not_found(format!("no image {name}; there are: {}", all()));
    match (name, &**images) {
        (_, []) => Err(Error::not_found("the archive holds no image")),
        (None, [one]) => Ok(one),
        (None, _) => Err(Error::invalid(format!(
            "several images: {}; choose one by docker-archive:FILE:NAME",
            all()
        ))),
        (Some(name), _) => {
            let found = match name.strip_prefix('@') {
                Some(number) => number.parse().ok().and_then(|at: usize| images.get(at)),
                None => images
                    .iter()
                    .find(|image| tags(image).any(|tag| plain(tag) == plain(name))),
            };
            found.ok_or_else(|| missing(name))
        }
    }
}

/// Returns a name without what Docker leaves out of names: its own registry and the tag `latest`.
fn plain(name: &str) -> &str {
    let name = name.strip_prefix("docker.io/").unwrap_or(name);
    let name = name.strip_prefix("library/").unwrap_or(name);
    name.strip_suffix(":latest").unwrap_or(name)
}

impl Blobs for DockerArchive {
    fn open(&self, name: &str) -> Result<(Box<dyn Read + Send>, u64)> {
        let missing = || Error::corrupt("the archive does not hold it").path(self.shown(name));
        let file = self.find(name).ok_or_else(missing)?;
        let content = self.archive.open(&self.tree, file)?;
        let len = content.len()?;
        Ok((
            Box::new(Within {
                content,
                position: 0,
            }),
            len,
        ))
    }

    fn shown(&self, name: &str) -> PathBuf {
        self.path.join(name.trim_start_matches('/'))
    }
}

/// A file of an archive from front to back.
struct Within {
    content: Box<dyn FileContent>,
    position: u64,
}

impl Read for Within {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let read = self.content.read_at(self.position, buf);
        let count = read.map_err(std::io::Error::other)?;
        self.position = self.position.saturating_add(count as u64);
        Ok(count)
    }
}
