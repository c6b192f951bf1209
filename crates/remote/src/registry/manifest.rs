//! Manifests: what an image in a registry consists of.
//!
//! In: the JSON of a manifest or an index. Out: its layers; and the manifests that are written.
//! **Invariant:** the same image gives the same manifest. Spec: OCI image-spec 1.1 (manifest.md,
//! image-index.md).

use serde_json::{Map, Value, json};
use sinterfs_block::checksum::sha256;
use sinterfs_block::verity::hex;

use super::reference::is_digest;
use crate::failure::{Cause, Failure};

/// The media types that are accepted.
pub(crate) const ACCEPTED: &str = "application/vnd.oci.image.manifest.v1+json, \
     application/vnd.oci.image.index.v1+json, \
     application/vnd.docker.distribution.manifest.v2+json, \
     application/vnd.docker.distribution.manifest.list.v2+json";

/// The types of manifests and configurations.
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const DOCKER_CONFIG: &str = "application/vnd.docker.container.image.v1+json";
pub(crate) const EMPTY: &str = "application/vnd.oci.empty.v1+json";

/// The type of artifacts with our images, and the beginning of the type of their layers.
const ARTIFACT: &str = "application/vnd.sinterfs.image.v1";
const OURS: &str = "application/vnd.sinterfs.";

/// The type of a layer with an EROFS image, as containerd and mount.erofs know it.
const EROFS_LAYER: &str = "application/vnd.erofs.layer.v1";

/// A blob that a manifest names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Descriptor {
    pub(crate) media_type: String,
    pub(crate) digest: String,
    pub(crate) len: u64,
}

/// The manifest of one image.
#[derive(Debug, Clone)]
pub(crate) struct Manifest {
    pub(crate) layers: Vec<Descriptor>,
    /// The configuration of a container image, if there is one.
    pub(crate) config: Option<Descriptor>,
}

/// The facts about an image in its manifest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Described<'a> {
    /// The name of its format.
    pub(crate) format: &'a str,
    /// The root of the digests in the image.
    pub(crate) root: Option<&'a str>,
    pub(crate) architecture: Option<&'a str>,
    /// The configuration of the container image that it was made of, without layers.
    pub(crate) config: Option<&'a [u8]>,
    /// The digest and the length of its file.
    pub(crate) blob: (&'a str, u64),
}

impl Manifest {
    /// Reads a manifest of an image or an artifact.
    pub(crate) fn parse(value: &Value) -> Result<Self, Failure> {
        let wrong = || Failure::new(Cause::Final, "it is not an image manifest");
        let layers = value.get("layers").and_then(Value::as_array);
        let layers = layers.ok_or_else(wrong)?.iter().map(descriptor);
        let layers: Option<Vec<_>> = layers.collect();
        let config = value.get("config").and_then(descriptor);
        let is_container =
            |config: &Descriptor| [CONFIG, DOCKER_CONFIG].contains(&config.media_type.as_str());
        Ok(Self {
            layers: layers.ok_or_else(wrong)?,
            config: config.filter(is_container),
        })
    }

    /// Returns the one layer that is an image to be read as it is.
    pub(crate) fn image(&self) -> Option<&Descriptor> {
        let is_image = |layer: &&Descriptor| {
            layer.media_type == EROFS_LAYER || layer.media_type.starts_with(OURS)
        };
        match &self.layers[..] {
            [only] => Some(only).filter(is_image),
            _ => None,
        }
    }
}

fn descriptor(value: &Value) -> Option<Descriptor> {
    let text = |name: &str| value.get(name)?.as_str();
    Some(Descriptor {
        media_type: text("mediaType").unwrap_or_default().to_owned(),
        digest: text("digest")
            .filter(|digest| is_digest(digest))?
            .to_owned(),
        len: value.get("size")?.as_u64()?,
    })
}

/// Chooses a manifest of an index, if the value is one: the one for a platform, by default this
/// machine's, or the only one.
pub(crate) fn choose(value: &Value, platform: Option<&str>) -> Result<Option<String>, Failure> {
    let Some(manifests) = value.get("manifests").and_then(Value::as_array) else {
        return Ok(None);
    };
    // statements about how images were made are beside them
    let manifests: Vec<&Value> = manifests.iter().filter(|one| !is_statement(one)).collect();
    let own = format!("linux/{}", architecture());
    let wanted = platform.unwrap_or(&own);
    let is_wanted = |one: &&&Value| {
        let rest = platform_of(one).and_then(|own| own.strip_prefix(wanted).map(str::to_owned));
        let is_variant = |rest: &str| wanted.matches('/').count() == 1 && rest.starts_with('/');
        rest.is_some_and(|rest| rest.is_empty() || is_variant(&rest))
    };
    let found = manifests.iter().find(is_wanted).or(match &manifests[..] {
        [only] if platform.is_none() => Some(only),
        _ => None,
    });
    let digest = found.and_then(|one| one.get("digest")?.as_str());
    match digest.filter(|digest| is_digest(digest)) {
        Some(digest) => Ok(Some(digest.to_owned())),
        None => {
            let names: Vec<String> = manifests
                .iter()
                .filter_map(|one| platform_of(one))
                .collect();
            let there = match &names[..] {
                [] => String::new(),
                names => format!("; there are: {}", names.join(", ")),
            };
            let what = format!("no image for {wanted}{there}");
            Err(Failure::new(Cause::Missing, what))
        }
    }
}

/// Returns the platform of a manifest, as `os/architecture[/variant]`.
fn platform_of(manifest: &Value) -> Option<String> {
    let text = |name: &str| manifest.get("platform")?.get(name)?.as_str();
    let short = format!("{}/{}", text("os")?, text("architecture")?);
    Some(match text("variant") {
        Some(variant) => format!("{short}/{variant}"),
        None => short,
    })
}

/// Returns whether a manifest of an index is no image, but says something about one.
fn is_statement(manifest: &Value) -> bool {
    let text = |at: &str| manifest.pointer(at).and_then(Value::as_str);
    let is_unknown = |at| text(at) == Some("unknown");
    is_unknown("/platform/os") && is_unknown("/platform/architecture")
        || text("/annotations/vnd.docker.reference.type").is_some()
}

/// Returns the name that registries have for this machine's architecture.
pub(crate) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        "powerpc64" => "ppc64le",
        "loongarch64" => "loong64",
        other => other,
    }
}

/// Returns the digest of some bytes, as registries name it.
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&sha256(bytes)))
}

impl Described<'_> {
    fn is_erofs(&self) -> bool {
        self.format == "erofs"
    }

    /// Returns the configuration of the image: the configuration of its original container image,
    /// with one layer.
    pub(crate) fn config(&self) -> String {
        if !self.is_erofs() {
            return "{}".to_owned();
        }
        let former = self
            .config
            .map(serde_json::from_slice::<Map<String, Value>>);
        let mut config = former.and_then(Result::ok).unwrap_or_default();
        if let Some(architecture) = self.architecture {
            config.insert("architecture".to_owned(), architecture.into());
            config.remove("variant");
        }
        for (name, value) in [
            ("architecture", json!(architecture())),
            ("os", json!("linux")),
            ("config", json!({})),
        ] {
            config.entry(name).or_insert(value);
        }
        let layers = json!({ "type": "layers", "diff_ids": [self.blob.0] });
        config.insert("rootfs".to_owned(), layers);
        Value::Object(config).to_string()
    }

    /// Returns the manifest of the image: of an ordinary one with one layer for EROFS, of an
    /// artifact for any other format.
    pub(crate) fn manifest(&self) -> String {
        let config = self.config();
        let mut layer = json!({
            "mediaType": if self.is_erofs() {
                EROFS_LAYER.to_owned()
            } else {
                format!("{OURS}{}.v1", self.format)
            },
            "digest": self.blob.0,
            "size": self.blob.1,
        });
        let mut manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {
                "mediaType": if self.is_erofs() { CONFIG } else { EMPTY },
                "digest": digest_of(config.as_bytes()),
                "size": config.len(),
            },
        });
        if let (Some(root), Some(layer)) = (self.root, layer.as_object_mut()) {
            let annotations = json!({ "org.sinterfs.root": root });
            layer.insert("annotations".to_owned(), annotations);
        }
        if let Some(map) = manifest.as_object_mut() {
            map.insert("layers".to_owned(), json!([layer]));
            if !self.is_erofs() {
                map.insert("artifactType".to_owned(), ARTIFACT.into());
            }
        }
        manifest.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn manifests_are_read_as_they_are_written() {
        for (format, root) in [("erofs", None), ("dwarfs", Some("12ab"))] {
            let described = Described {
                config: None,
                format,
                root,
                architecture: None,
                blob: (DIGEST, 7),
            };
            let value: Value = serde_json::from_str(&described.manifest()).unwrap();
            let manifest = Manifest::parse(&value).unwrap();
            let image = manifest.image().unwrap();
            assert_eq!((&*image.digest, image.len), (DIGEST, 7));
            assert_eq!(value["artifactType"].is_string(), format != "erofs");
            assert_eq!(choose(&value, None).unwrap(), None);
        }
    }

    #[test]
    fn an_index_has_an_image_for_each_platform() {
        let entry = |os: &str, architecture: &str| {
            let platform = json!({"os": os, "architecture": architecture, "variant": "v8"});
            json!({"digest": DIGEST, "platform": platform})
        };
        let index = json!({"manifests": [entry("linux", "x"), entry("linux", "y")]});
        let found = |platform| choose(&index, platform);
        for platform in ["linux/x", "linux/y", "linux/y/v8"] {
            assert_eq!(found(Some(platform)).unwrap().unwrap(), DIGEST);
        }
        for platform in [None, Some("linux/y/v7"), Some("windows/x")] {
            assert_eq!(found(platform).unwrap_err().cause, Cause::Missing);
        }
        let only = json!({"manifests": [entry("linux", "x")]});
        assert_eq!(choose(&only, None).unwrap().unwrap(), DIGEST);
        assert!(choose(&only, Some("linux/y")).is_err());
        // statements are neither offered nor chosen
        let mut statement = entry("unknown", "unknown");
        let index = |one: &Value| json!({"manifests": [entry("linux", "x"), one]});
        for _ in 0..2 {
            let index = index(&statement);
            assert_eq!(choose(&index, None).unwrap().unwrap(), DIGEST);
            let error = choose(&index, Some("unknown/unknown")).unwrap_err();
            assert!(
                error.what.ends_with("there are: linux/x/v8"),
                "{}",
                error.what
            );
            let alone = json!({"manifests": [statement]});
            assert_eq!(choose(&alone, None).unwrap_err().cause, Cause::Missing);
            statement = entry("linux", "y");
            statement["annotations"] = json!({"vnd.docker.reference.type": "attestation-manifest"});
        }
    }

    #[test]
    fn refuses_invalid_manifests() {
        let layer = |digest: &str, size: Value| json!({"digest": digest, "size": size});
        for layers in [
            Value::Null,
            json!({}),
            json!([1]),
            json!([layer("sha256:../../x", 1.into())]),
            json!([layer(DIGEST, (-1).into())]),
            json!([layer(DIGEST, "1".into())]),
        ] {
            assert!(
                Manifest::parse(&json!({ "layers": layers })).is_err(),
                "{layers}"
            );
        }
        let plain = Manifest::parse(&json!({"layers": [layer(DIGEST, 1.into())]})).unwrap();
        assert_eq!(plain.image(), None);
    }
}
