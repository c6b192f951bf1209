//! Pushing an image to a registry.
//!
//! In: an image's bytes and a reference with a tag. Out: the digest of the manifest. An EROFS image
//! becomes an ordinary image with one `application/vnd.erofs.layer.v1`, which containerd and
//! mount.erofs take; any other format an artifact with one layer.
//! **Invariant:** the tag names the image only when all of it is there, its signature, too.

use std::sync::Arc;

use sinterfs_block::checksum::sha256_of;
use sinterfs_block::verity::hex;
use sinterfs_block::{MemorySource, ReadAt, SequentialReader};
use sinterfs_model::{Error, Result};

use super::manifest::{Described, MANIFEST, digest_of};
use super::reference::Reference;
use super::referrers::{AttachedSignature, Subject, attach};
use super::session::{Access, Session};
use super::upload::{put, put_blob};
use crate::address::Address;
use crate::failure::Failure;
use crate::options::RemoteOptions;
use crate::runtime;

/// An image to push.
#[derive(Clone)]
pub struct PushedImage {
    /// Its bytes.
    pub content: Arc<dyn ReadAt>,
    /// The name of its format.
    pub format: &'static str,
    /// The root digest of the image's own digests, if it has some.
    pub root: Option<String>,
    /// The architecture that its programs are for, as registries name it; `None` is this machine's.
    pub architecture: Option<String>,
    /// What is kept of the configuration of the container image that it was made of: a JSON object.
    pub config: Option<Vec<u8>>,
    /// A signature to attach to the image.
    pub signature: Option<AttachedSignature>,
}

impl std::fmt::Debug for PushedImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PushedImage")
            .field("format", &self.format)
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}

/// Fails with `Invalid` if nothing can be pushed to an address: it needs a tag, and no digest.
pub fn require_tag(to: &Address) -> Result<()> {
    tagged(to).map(drop)
}

fn tagged(to: &Address) -> Result<Reference> {
    let reference = Reference::parse(to)?;
    if reference.tag.is_none() || reference.digest.is_some() {
        let what = "an image is pushed to a tag, as in oci://host/name:tag";
        return Err(Error::invalid(what));
    }
    Ok(reference)
}

/// Pushes an image; returns its name with the digest of the manifest in place of the tag.
///
/// # Errors
/// `Invalid` for a reference without a tag; `Io` if the registry refuses or cannot be reached;
/// those of reading the image.
pub fn push(image: &PushedImage, to: &Address, options: &RemoteOptions) -> Result<String> {
    let reference = tagged(to)?;
    let session = Arc::new(Session::new(reference, Access::Push, options)?);
    let hashed = sha256_of(SequentialReader::new(Arc::clone(&image.content)));
    let (hash, len) = hashed.map_err(|error| Error::io("cannot read the image", error))?;
    let digest = format!("sha256:{}", hex(&hash));
    let described = Described {
        format: image.format,
        root: image.root.as_deref(),
        architecture: image.architecture.as_deref(),
        config: image.config.as_deref(),
        blob: (&digest, len),
    };
    let (config, manifest) = (described.config(), described.manifest());
    let signature = image.signature.clone();
    let (content, work, patience) = (
        Arc::clone(&image.content),
        Arc::clone(&session),
        options.deadline,
    );
    let pushed = runtime::spawn(async move {
        put_blob(&work, &digest, &content, patience).await?;
        let name = digest_of(config.as_bytes());
        let config: Arc<dyn ReadAt> = Arc::new(MemorySource(config.into_bytes()));
        put_blob(&work, &name, &config, patience).await?;
        let (named, len) = (digest_of(manifest.as_bytes()), manifest.len() as u64);
        if let Some(signature) = signature {
            let subject = Subject {
                digest: named.clone(),
                len,
            };
            attach(&work, &subject, signature, patience).await?;
        }
        let tag = work.reference.version();
        put(&work, tag, manifest, MANIFEST, patience).await?;
        Ok(named)
    })?;
    let digest: std::result::Result<String, Failure> = runtime::wait(&pushed)?;
    let digest = digest.map_err(|failure| session.error("push to", &failure))?;
    Ok(format!("{}@{digest}", session.reference))
}
