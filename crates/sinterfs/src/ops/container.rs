//! Writing an image as a container image: an OCI layout with one layer, an uncompressed tar, and
//! the configuration of the container image that it was made of, if it was.
//!
//! Enters an image; leaves `oci-layout`, `index.json` and blobs in a directory, which may hold
//! other images already. Spec: OCI image-spec 1.1, "Image Layout", "Image Index", "Image Manifest",
//! "Image Configuration", "Filesystem Layer". **Invariant:** layer, configuration and manifest
//! depend on the image and the options alone; the index is replaced last and as a whole, so that no
//! index names a blob that is not there.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value, json};
use sinterfs_block::checksum::{sha256, sha256_of};
use sinterfs_model::{Error, Observer, Result, Setting};
use sinterfs_ops::{ArchiveOptions, ArchiveReport, PartOptions, Visit, WalkStep, walk};
use sinterfs_source::XattrFilter;

use crate::image::Image;
use crate::image::container_config::{CONTAINER_ATTRIBUTE, stored_config};
use crate::open::open_with;
use crate::open_options::OpenOptions;
use crate::ops::archive::{ArchiveRequest, archive};
use crate::output::destination::Destination;
use crate::output::new_file::write_new;

/// The most bytes of an index that is there.
const LONGEST: u64 = 16 << 20;

/// The beginning of names that remove a file of the layers below.
const WHITEOUT: &[u8] = b".wh.";

/// The name of a tag in an index.
const TAG: &str = "org.opencontainers.image.ref.name";

/// Everything that can be asked of a container image.
#[derive(Debug, Clone)]
pub struct ContainerRequest {
    /// The image file.
    pub image: PathBuf,
    /// How it is opened.
    pub open: OpenOptions,
    /// What of it is taken; the format is tar.
    pub options: ArchiveOptions,
    /// Which extended attributes stay.
    pub xattrs: XattrFilter,
    /// Which part of the image is taken; `None` for all of it.
    pub part: Option<PartOptions>,
    /// The directory of the layout; it is made if it is missing.
    pub layout: PathBuf,
    /// The tag of the container image.
    pub tag: Option<String>,
    /// Its platform, `os/architecture[/variant]`; `None` means that of the configuration that the
    /// image was made with, else that of this machine.
    pub platform: Option<String>,
    /// Replaces an image of this tag.
    pub replace: bool,
}

/// What was written.
#[derive(Debug)]
#[non_exhaustive]
pub struct ContainerReport {
    /// About the layer.
    pub archive: ArchiveReport,
    /// The digest of the manifest, `sha256:...`.
    pub digest: String,
}

/// Writes a container image. `Unsupported` for names that a layer cannot have.
pub fn container(request: &ContainerRequest, observer: &dyn Observer) -> Result<ContainerReport> {
    let asked = request.platform.as_deref().map(platform).transpose()?;
    let layout = OciLayout::of(&request.layout)?;
    layout.others(request)?;
    let opened = open_with(&request.image, &request.open)?;
    no_whiteouts(&opened)?;
    let mut config = former_config(&opened, &request.image)?;
    let platform = match asked {
        Some(asked) => asked,
        None => platform_of(&config).map_or_else(|| platform(&of_this_machine()), Ok)?,
    };
    drop(opened);
    let failed = |path: &Path, error| Error::io("cannot create the directory", error).path(path);
    std::fs::create_dir_all(&layout.blobs).map_err(|error| failed(&layout.blobs, error))?;

    let unnamed = layout.unnamed();
    let report = archive(
        &ArchiveRequest {
            image: request.image.clone(),
            open: request.open.clone(),
            options: request.options.clone(),
            xattrs: request.xattrs.clone(),
            part: request.part.clone(),
            destination: Destination::File {
                path: unnamed.clone(),
                replace: true,
            },
        },
        observer,
    )?;
    let (digest, size) = layout.name_layer(&unnamed).inspect_err(|_| {
        // of no use to anybody
        let _ = std::fs::remove_file(&unnamed);
    })?;
    let layer = json!({
        "mediaType": "application/vnd.oci.image.layer.v1.tar",
        "digest": format!("sha256:{digest}"),
        "size": size,
    });
    for (name, value) in platform.as_object().into_iter().flatten() {
        config.insert(name.clone(), value.clone());
    }
    if asked_without_variant(request, &platform) {
        config.remove("variant");
    }
    config.entry("config").or_insert_with(|| json!({}));
    let rootfs = json!({ "type": "layers", "diff_ids": [layer["digest"]] });
    config.insert("rootfs".to_owned(), rootfs);
    let config = Value::Object(config);
    let config = layout.add("application/vnd.oci.image.config.v1+json", &config)?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config,
        "layers": [layer],
    });
    let mut image = layout.add("application/vnd.oci.image.manifest.v1+json", &manifest)?;
    image["platform"] = platform;
    if let Some(tag) = &request.tag {
        image["annotations"] = json!({ TAG: tag });
    }
    let digest = image["digest"].as_str().unwrap_or_default().to_owned();
    layout.name(request, image)?;
    Ok(ContainerReport {
        archive: report,
        digest,
    })
}

/// Parses a platform to the fields of a configuration.
fn platform(text: &str) -> Result<Value> {
    let parts: Vec<&str> = text.split('/').collect();
    match parts[..] {
        _ if parts.iter().any(|part| part.is_empty()) => {}
        [os, architecture] => return Ok(json!({ "os": os, "architecture": architecture })),
        [os, architecture, variant] => {
            let fields = json!({ "os": os, "architecture": architecture, "variant": variant });
            return Ok(fields);
        }
        _ => {}
    }
    let what = format!("`{text}` is not a platform: expected os/architecture[/variant]");
    Err(Error::invalid(what))
}

/// Returns the configuration of the container image that an image was made of; empty if it was
/// made of something else.
fn former_config(opened: &Image, path: &Path) -> Result<Map<String, Value>> {
    let Some(config) = stored_config(&**opened.raw())? else {
        return Ok(Map::new());
    };
    serde_json::from_slice(&config).map_err(|error| {
        let what = format!("the root's attribute {CONTAINER_ATTRIBUTE} is not a JSON object");
        Error::corrupt(what).because(error).path(path)
    })
}

/// Returns the platform in a configuration.
fn platform_of(config: &Map<String, Value>) -> Option<Value> {
    let text = |name: &str| config.get(name).filter(|value| value.is_string());
    let mut platform = json!({ "os": text("os")?, "architecture": text("architecture")? });
    if let Some(variant) = text("variant") {
        platform["variant"] = variant.clone();
    }
    Some(platform)
}

/// Returns whether a platform was asked for that has no variant, as the former one may have had.
fn asked_without_variant(request: &ContainerRequest, platform: &Value) -> bool {
    request.platform.is_some() && platform.get("variant").is_none()
}

/// Returns the platform of this machine, as OCI names it.
fn of_this_machine() -> String {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        "loongarch64" => "loong64",
        "powerpc64" => "ppc64le",
        other => other,
    };
    format!("linux/{architecture}")
}

/// Fails for names that would remove files where the layer is unpacked.
fn no_whiteouts(opened: &Image) -> Result<()> {
    let image = opened.raw();
    walk(&**image, image.info().root, &mut |visit| {
        match visit {
            Visit::Enter(entry) if entry.name.starts_with(WHITEOUT) => {
                let what = "names that begin with .wh. remove files in a layer";
                let path = String::from_utf8_lossy(entry.path);
                return Err(Error::unsupported(what).path(&*path));
            }
            Visit::Broken(_, error) => return Err(error),
            _ => {}
        }
        Ok(WalkStep::On)
    })
}

/// Returns the SHA-256 of a file in hexadecimal, and its length.
fn digest_of(path: &Path) -> Result<(String, u64)> {
    let failed = |error| Error::io("cannot read", error).path(path);
    let file = File::open(path).map_err(failed)?;
    let (digest, len) = sha256_of(file).map_err(failed)?;
    Ok((sinterfs_block::verity::hex(&digest), len))
}

/// A directory with a layout, or what becomes one.
struct OciLayout<'a> {
    dir: &'a Path,
    blobs: PathBuf,
    mark: PathBuf,
    index: PathBuf,
}

impl<'a> OciLayout<'a> {
    /// Fails for a directory that holds something else.
    fn of(dir: &'a Path) -> Result<Self> {
        let layout = Self {
            dir,
            blobs: dir.join("blobs/sha256"),
            mark: dir.join("oci-layout"),
            index: dir.join("index.json"),
        };
        let is_used = std::fs::read_dir(dir).is_ok_and(|mut names| names.next().is_some());
        if is_used && !layout.mark.is_file() && !layout.blobs.is_dir() {
            let what = "the directory holds something else than an OCI layout";
            return Err(Error::invalid(what).path(dir));
        }
        Ok(layout)
    }

    /// Returns a path for a layer in progress that no other writer of this layout uses.
    fn unnamed(&self) -> PathBuf {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".layer-{}-{number}", std::process::id());
        self.blobs.join(name)
    }

    /// Renames a layer to its digest; returns the digest and the length.
    fn name_layer(&self, unnamed: &Path) -> Result<(String, u64)> {
        let (digest, size) = digest_of(unnamed)?;
        let named = self.blobs.join(&digest);
        std::fs::rename(unnamed, &named)
            .map_err(|error| Error::io("cannot name the layer", error).path(&named))?;
        Ok((digest, size))
    }

    /// Returns the images of the layout that stay beside the new one.
    fn others(&self, request: &ContainerRequest) -> Result<Vec<Value>> {
        if !self.index.exists() {
            return Ok(Vec::new());
        }
        let failed = |error| Error::io("cannot read", error).path(&self.index);
        let wrong = || Error::corrupt("no index of OCI").path(&self.index);
        if std::fs::metadata(&self.index).map_err(failed)?.len() > LONGEST {
            return Err(Error::limit("the index is too long").path(&self.index));
        }
        let bytes = std::fs::read(&self.index).map_err(failed)?;
        let mut index: Value = serde_json::from_slice(&bytes).map_err(|_| wrong())?;
        let images = index.get_mut("manifests").map(Value::take);
        let Some(Value::Array(mut images)) = images else {
            return Err(wrong());
        };
        let before = images.len();
        images.retain(|image| {
            let tag = image.pointer("/annotations").and_then(|all| all.get(TAG));
            tag.and_then(Value::as_str) != request.tag.as_deref()
        });
        if images.len() < before && !request.replace {
            let which = request.tag.as_deref().unwrap_or("without a tag");
            let option = Setting::Replace;
            let what = format!("the layout has an image {which} already; {option} replaces it");
            return Err(Error::invalid(what).about([option]).path(self.dir));
        }
        Ok(images)
    }

    /// Writes a document as a blob, and returns its descriptor.
    fn add(&self, media: &str, document: &Value) -> Result<Value> {
        let bytes = document.to_string().into_bytes();
        let digest = sinterfs_block::verity::hex(&sha256(&bytes));
        write_new(&self.blobs.join(&digest), true, &bytes)?;
        Ok(json!({
            "mediaType": media,
            "digest": format!("sha256:{digest}"),
            "size": bytes.len(),
        }))
    }

    /// Names an image beside those that the layout has by now: another process may have added one
    /// meanwhile. The directory is locked so that none does from here on.
    fn name(&self, request: &ContainerRequest, image: Value) -> Result<()> {
        let failed = |error: std::io::Error| Error::io("cannot lock", error).path(self.dir);
        let _lock = sinterfs_platform::files::lock_directory(self.dir).map_err(failed)?;
        let mut images = self.others(request)?;
        images.push(image);
        let mark = json!({ "imageLayoutVersion": "1.0.0" });
        write_new(&self.mark, true, mark.to_string().as_bytes())?;
        let index = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": images,
        });
        write_new(&self.index, true, index.to_string().as_bytes())
    }
}
