//! Image layouts of OCI, as skopeo and buildah make them: the layers of an image, lowest first, and
//! its configuration.
//!
//! Enters a directory with `oci-layout` and `index.json`; leaves the names of the layers' archives.
//! Spec: OCI image-spec 1.1, "Image Layout", "Image Index", "Image Manifest", "Descriptors".
//! **Invariant:** a document or a layer that is named by a digest has that digest, a decoded layer
//! the one that the configuration names, and digests are paths of
//! plain characters below `blobs`, and so are layers, which are archives like others: what they
//! hold is judged when they are read.

use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sinterfs_block::checksum::{sha256_of, sha512_of};
use sinterfs_model::{Error, Observer, Result, Setting};

use super::layer_digests;

/// The most bytes of an index or a manifest.
pub(crate) const LONGEST: u64 = 16 << 20;

/// The file that says that a directory is a layout.
pub(crate) const MARK: &str = "oci-layout";

/// The index file of a layout.
pub(crate) const INDEX: &str = "index.json";

/// The types of configurations: of OCI, and of Docker, which has the same fields.
const CONFIGS: [&str; 2] = [
    "application/vnd.oci.image.config.v1+json",
    "application/vnd.docker.container.image.v1+json",
];

/// How many indexes may be within each other.
const DEEPEST: usize = 4;

/// The files of a layout, by paths from its root.
pub(crate) trait Blobs {
    /// Opens a file; returns it and its length.
    fn open(&self, name: &str) -> Result<(Box<dyn Read + Send>, u64)>;

    /// Returns a file for messages.
    fn shown(&self, name: &str) -> PathBuf;
}

/// The files of a directory.
pub(crate) struct Below<'a>(pub(crate) &'a Path);

impl Blobs for Below<'_> {
    fn open(&self, name: &str) -> Result<(Box<dyn Read + Send>, u64)> {
        opened(&self.0.join(name))
    }

    fn shown(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

/// Opens a file; returns it and its length.
pub(crate) fn opened(path: &Path) -> Result<(Box<dyn Read + Send>, u64)> {
    let failed = |error| Error::io("cannot read", error).path(path);
    let file = std::fs::File::open(path).map_err(failed)?;
    let len = file.metadata().map_err(failed)?.len();
    Ok((Box::new(file), len))
}

/// Returns whether a directory is a layout.
pub(crate) fn is_layout(dir: &Path) -> bool {
    dir.join(MARK).is_file() && dir.join(INDEX).is_file()
}

/// What a manifest names.
pub(crate) struct FoundImage {
    /// The names of the layers, lowest first.
    pub(crate) layers: Vec<String>,
    /// The configuration, if it has one of a known type.
    pub(crate) config: Option<Vec<u8>>,
}

/// Finds the only image in a layout, or that with a tag or for a platform
/// (`os/architecture[/variant]`).
pub(crate) fn image(
    blobs: &dyn Blobs,
    platform: Option<&str>,
    tag: Option<&str>,
    observer: &dyn Observer,
) -> Result<FoundImage> {
    let mut document = read(blobs, INDEX, None)?;
    let mut name = INDEX.to_owned();
    let mut is_named = false;
    if let Some(tag) = tag.filter(|_| document.get("layers").is_some()) {
        let what = format!("there are no tags, and so no {tag}");
        return Err(Error::not_found(what).path(blobs.shown(INDEX)));
    }
    for _ in 0..DEEPEST {
        let located = |error: Error| error.path(blobs.shown(&name));
        if document.get("layers").is_some() {
            if let Some(asked) = platform.filter(|_| !is_named) {
                is_for(blobs, &document, asked).map_err(located)?;
            }
            let found = || {
                let config = config(blobs, &document)?;
                Ok(FoundImage {
                    layers: of_manifest(blobs, &document, config.as_deref(), observer)?,
                    config,
                })
            };
            return found().map_err(located);
        }
        // only the outermost index has tags
        let tag = tag.filter(|_| name == INDEX);
        let chosen = choose(&document, platform, tag).map_err(located)?;
        is_named |= !self::name(chosen).is_empty();
        let digest = digest(chosen).map_err(located)?;
        name = blob(&digest);
        document = read(blobs, &name, Some(&digest))?;
    }
    Err(Error::limit("indexes within indexes").path(blobs.shown(INDEX)))
}

/// Chooses one of an index's manifests.
fn choose<'a>(index: &'a Value, platform: Option<&str>, tag: Option<&str>) -> Result<&'a Value> {
    let all = index.get("manifests").and_then(Value::as_array);
    let all = all.ok_or_else(|| Error::corrupt("neither an index nor a manifest of an image"))?;
    let is_asked = |manifest: &&Value| {
        let platform_of = name(manifest);
        let is_for = platform.is_none_or(|asked| {
            // an index within this one, or a layout of one image, may not name a platform
            platform_of.is_empty() || fits(&platform_of, asked)
        });
        // statements about how images were made are beside them
        is_for && !is_statement(manifest) && tag.is_none_or(|tag| has_tag(manifest, tag))
    };
    let mut matching: Vec<&Value> = all.iter().filter(is_asked).collect();
    // an image may have several tags
    let mut known = HashSet::new();
    matching.retain(|manifest| {
        let digest = manifest.get("digest").and_then(Value::as_str);
        digest.is_none_or(|digest| known.insert(digest))
    });
    let tag = tag.map(|tag| format!(" {tag}"));
    let platform = platform.map(|platform| format!(" for {platform}"));
    let asked = [tag, platform].map(Option::unwrap_or_default).concat();
    match &*matching {
        [one] => Ok(one),
        [] if asked.is_empty() => Err(Error::not_found("there is no image")),
        [] => Err(Error::not_found(format!(
            "no image{asked}; there are: {}",
            names(all)
        ))),
        _ if asked.is_empty() => {
            let option = Setting::Platform;
            let what = format!(
                "several images; choose one with {option}, or by its tag (oci:DIR:TAG, \
                 oci-archive:FILE:TAG): {}",
                names(all)
            );
            Err(Error::invalid(what).about([option]))
        }
        several => Err(Error::invalid(format!(
            "several images{asked}: {}",
            several
                .iter()
                .map(|image| full_name(image))
                .collect::<Vec<_>>()
                .join(", ")
        ))),
    }
}

/// Returns whether a manifest is no image, but says something about one.
fn is_statement(manifest: &Value) -> bool {
    let kind = manifest.pointer("/annotations/vnd.docker.reference.type");
    name(manifest).starts_with("unknown/unknown") || kind.is_some()
}

/// Returns the tag of a manifest: all of a name, as `docker.io/library/debian:12`, or what it calls
/// itself.
fn tag_of(manifest: &Value) -> Option<&str> {
    manifest
        .get("annotations")?
        .get("org.opencontainers.image.ref.name")?
        .as_str()
}

fn has_tag(manifest: &Value, tag: &str) -> bool {
    tag_of(manifest) == Some(tag)
}

/// Returns the tag and the platform of a manifest, or its digest if it has neither.
fn full_name(manifest: &Value) -> String {
    let platform = name(manifest);
    match tag_of(manifest) {
        Some(tag) if platform.is_empty() => tag.to_owned(),
        Some(tag) => format!("{tag} ({platform})"),
        None if platform.is_empty() => {
            let digest = manifest.get("digest").and_then(Value::as_str);
            digest.unwrap_or("one without a name").to_owned()
        }
        None => platform,
    }
}

/// Returns the platform of a manifest; empty if it names none.
fn name(manifest: &Value) -> String {
    manifest
        .get("platform")
        .map(platform_in)
        .unwrap_or_default()
}

/// Returns the platform in a descriptor's object or a configuration; empty if it is not stated.
fn platform_in(platform: &Value) -> String {
    let parts = ["os", "architecture", "variant"];
    let parts = parts.iter().filter_map(|part| platform.get(part)?.as_str());
    parts.collect::<Vec<_>>().join("/")
}

/// Returns whether a platform is the one that is asked for, or a variant of it.
fn fits(platform: &str, asked: &str) -> bool {
    let rest = platform.strip_prefix(asked);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Fails if the configuration of an image that no index names a platform for states another one.
fn is_for(blobs: &dyn Blobs, manifest: &Value, asked: &str) -> Result<()> {
    let Some(config) = manifest.get("config") else {
        return Ok(());
    };
    let digest = digest(config)?;
    let config = read(blobs, &blob(&digest), Some(&digest))?;
    let found = platform_in(&config);
    if found.is_empty() || fits(&found, asked) {
        Ok(())
    } else {
        Err(Error::not_found(format!(
            "no image for {asked}; there are: {found}"
        )))
    }
}

fn names(manifests: &[Value]) -> String {
    let images = manifests.iter().filter(|manifest| !is_statement(manifest));
    let names: Vec<_> = images.map(full_name).collect();
    names.join(", ")
}

/// Finds the layers of a manifest, each of which has the digest that is named there, and decoded
/// that of the configuration.
fn of_manifest(
    blobs: &dyn Blobs,
    manifest: &Value,
    config: Option<&[u8]>,
    observer: &dyn Observer,
) -> Result<Vec<String>> {
    let layers = manifest.get("layers").and_then(Value::as_array);
    let layers = layers.ok_or_else(|| Error::corrupt("a manifest without a list of layers"))?;
    layer_digests::bounded(layers.len())?;
    let decoded = layer_digests::named(config, layers.len())?.unwrap_or_default();
    let mut decoded = decoded.iter().map(String::as_str);
    let (mut names, mut compared) = (Vec::new(), HashSet::new());
    for layer in layers {
        observer.check_cancelled()?;
        let decoded = decoded.next();
        let media = layer.get("mediaType").and_then(Value::as_str);
        let media = media.unwrap_or_default();
        if !media.contains(".tar") {
            let what = format!("a layer of the type {media:?}, which is not a tar");
            return Err(Error::unsupported(what));
        }
        let digest = digest(layer)?;
        let name = blob(&digest);
        // one that comes again is read once
        if compared.insert((name.clone(), decoded)) {
            let size = layer.get("size").and_then(Value::as_u64);
            compare(blobs, &name, (&digest, size), observer)?;
            if let Some(decoded) = decoded {
                let (stream, _) = blobs.open(&name)?;
                let stored = format!("{}:{}", digest.algorithm, digest.hex);
                let compared = layer_digests::compare(stream, decoded, Some(&stored), observer);
                compared.map_err(|error| error.path(blobs.shown(&name)))?;
            }
        }
        names.push(name);
    }
    Ok(names)
}

/// Returns the configuration that a manifest names; `None` if it is of another kind.
fn config(blobs: &dyn Blobs, manifest: &Value) -> Result<Option<Vec<u8>>> {
    let Some(config) = manifest.get("config") else {
        return Ok(None);
    };
    let media = config.get("mediaType").and_then(Value::as_str);
    if !media.is_some_and(|media| CONFIGS.contains(&media)) {
        return Ok(None);
    }
    let digest = digest(config)?;
    let name = blob(&digest);
    let bytes = whole(blobs, &name)?;
    let compared = digest.compare(&*bytes, "configuration");
    compared.map_err(|error| error.path(blobs.shown(&name)))?;
    Ok(Some(bytes))
}

/// An algorithm and the digest in hexadecimal.
struct Digest {
    algorithm: String,
    hex: String,
}

impl Digest {
    /// Fails with `Corrupt` for bytes that have another digest, and with `Unsupported` for an
    /// algorithm that OCI's specification has not registered.
    fn compare(&self, bytes: impl Read, what: &str) -> Result<()> {
        let failed = layer_digests::failed;
        let (name, found) = match &*self.algorithm {
            "sha256" => ("SHA-256", in_hex(&sha256_of(bytes).map_err(failed)?.0)),
            "sha512" => ("SHA-512", in_hex(&sha512_of(bytes).map_err(failed)?)),
            other => {
                let what = format!("a {what} with a digest by {other}, which is not supported");
                return Err(Error::unsupported(what));
            }
        };
        if found == self.hex {
            Ok(())
        } else {
            Err(Error::corrupt(format!("the {what} has the {name} {found}")))
        }
    }
}

fn in_hex(digest: &[u8]) -> String {
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

/// Reads the digest of a descriptor.
fn digest(descriptor: &Value) -> Result<Digest> {
    let text = descriptor.get("digest").and_then(Value::as_str);
    let parts = text.and_then(|text| text.split_once(':'));
    let plain = |part: &str, more: &str| {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || more.contains(c);
        (1..=256).contains(&part.len()) && part.chars().all(fits) && !part.starts_with('.')
    };
    let (algorithm, hex) = parts
        .filter(|(algorithm, hex)| plain(algorithm, "+._-") && plain(hex, ""))
        .ok_or_else(|| Error::corrupt("a descriptor without a digest"))?;
    Ok(Digest {
        algorithm: algorithm.to_owned(),
        hex: hex.to_owned(),
    })
}

fn blob(digest: &Digest) -> String {
    format!("blobs/{}/{}", digest.algorithm, digest.hex)
}

/// Compares a layer with its descriptor: it is read once more, but nothing is made of bytes that
/// the image's maker did not name.
fn compare(
    blobs: &dyn Blobs,
    name: &str,
    (digest, size): (&Digest, Option<u64>),
    observer: &dyn Observer,
) -> Result<()> {
    let (inner, len) = blobs.open(name)?;
    if let Some(size) = size.filter(|&size| size != len) {
        let what = format!("the layer has {len} bytes, its descriptor says {size}");
        return Err(Error::corrupt(what).path(blobs.shown(name)));
    }
    let stream = layer_digests::Watched { inner, observer };
    digest
        .compare(stream, "layer")
        .map_err(|error| error.path(blobs.shown(name)))
}

/// Reads a document, and compares it with its digest.
fn read(blobs: &dyn Blobs, name: &str, digest: Option<&Digest>) -> Result<Value> {
    let bytes = whole(blobs, name)?;
    if let Some(digest) = digest {
        digest
            .compare(&*bytes, "document")
            .map_err(|error| error.path(blobs.shown(name)))?;
    }
    parsed(blobs, name, &bytes)
}

/// Reads all of a document, which has to be short.
pub(crate) fn whole(blobs: &dyn Blobs, name: &str) -> Result<Vec<u8>> {
    let (stream, _) = blobs.open(name)?;
    let mut bytes = Vec::new();
    let read = stream.take(LONGEST + 1).read_to_end(&mut bytes);
    read.map_err(|error| Error::io("cannot read", error).path(blobs.shown(name)))?;
    if bytes.len() as u64 > LONGEST {
        Err(Error::limit(format!("more than {LONGEST} bytes")).path(blobs.shown(name)))
    } else {
        Ok(bytes)
    }
}

pub(crate) fn parsed(blobs: &dyn Blobs, name: &str, bytes: &[u8]) -> Result<Value> {
    let wrong = |error| {
        Error::corrupt("not JSON")
            .because(error)
            .path(blobs.shown(name))
    };
    serde_json::from_slice(bytes).map_err(wrong)
}
