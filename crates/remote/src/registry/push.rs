//! Pushing an image to a registry.
//!
//! In: an image's bytes and a reference with a tag. Out: the digest of the manifest. An EROFS image
//! becomes an ordinary image with one `application/vnd.erofs.layer.v1`, which containerd and
//! mount.erofs take; any other format an artifact with one layer.
//! **Invariant:** the tag names the image only when all of it is there, its signature, too.

use std::sync::Arc;
use std::time::Duration;

use sinterfs_block::checksum::sha256_of;
use sinterfs_block::verity::hex;
use sinterfs_block::{MemorySource, ReadAt, SequentialReader};
use sinterfs_model::{Error, Result, Setting};
use tokio::time::Instant;

use super::manifest::{Described, MANIFEST, digest_of};
use super::reference::Reference;
use super::referrers::{AttachedSignature, Subject, attach};
use super::resolve::get;
use super::session::{Access, Session};
use super::upload::{put, put_blob};
use crate::address::Address;
use crate::failure::{Cause, Failure};
use crate::options::RemoteOptions;
use crate::retry;
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
    /// The kept part of the configuration of the original container image: a JSON object.
    pub config: Option<Vec<u8>>,
    /// Whether the tag may name another image until now.
    pub replace: bool,
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

/// Fails with `Invalid` if a tag names something already.
///
/// # Errors
/// `Io` if the registry refuses to say or cannot be reached.
pub fn require_free(to: &Address, options: &RemoteOptions) -> Result<()> {
    let session = Arc::new(Session::new(tagged(to)?, Access::Push, options)?);
    let (work, patience) = (Arc::clone(&session), options.deadline / 3);
    let found = runtime::spawn(async move { tag(&work, patience).await })?;
    let found = runtime::wait(&found, options.stop)?;
    match found.map_err(|failure| session.error("look at", &failure))? {
        Some(_) => Err(taken("the tag exists")),
        None => Ok(()),
    }
}

fn taken(what: &str) -> Error {
    let option = Setting("replace");
    let what = format!("{what}; use {option} to let it name the new image");
    Error::invalid(what).about([option])
}

/// Returns the digest of the manifest that the tag names; `None` if it names nothing.
async fn tag(
    session: &Session,
    patience: Duration,
) -> std::result::Result<Option<String>, Failure> {
    let deadline = Instant::now() + patience;
    let name = session.reference.version();
    match retry::until(deadline, || get(session, name)).await {
        Ok((_, digest)) => Ok(Some(digest)),
        Err(failure) if failure.cause == Cause::Missing => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Pushes an image; returns its name with the digest of the manifest in place of the tag.
///
/// # Errors
/// `Invalid` for a reference without a tag, and for one that names another image and is not to be
/// replaced, before anything is sent; `Io` if the registry refuses or cannot be reached; errors of
/// reading the image.
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
    let (signature, replace) = (image.signature.clone(), image.replace);
    let (content, work, patience) = (
        Arc::clone(&image.content),
        Arc::clone(&session),
        options.deadline,
    );
    let pushed = runtime::spawn(async move {
        let named = digest_of(manifest.as_bytes());
        if !replace {
            let is_other = |found: String| found != named;
            if tag(&work, patience / 3).await?.is_some_and(is_other) {
                return Ok(None);
            }
        }
        put_blob(&work, &digest, &content, patience).await?;
        let config_digest = digest_of(config.as_bytes());
        let config: Arc<dyn ReadAt> = Arc::new(MemorySource(config.into_bytes()));
        put_blob(&work, &config_digest, &config, patience).await?;
        let len = manifest.len() as u64;
        if let Some(signature) = signature {
            let subject = Subject {
                digest: named.clone(),
                len,
            };
            attach(&work, &subject, signature, patience).await?;
        }
        let name = work.reference.version();
        put(&work, name, manifest, MANIFEST, patience).await?;
        Ok(Some(named))
    })?;
    let digest: std::result::Result<Option<String>, Failure> =
        runtime::wait_for_end(&pushed, options.stop)?;
    let digest = digest.map_err(|failure| session.error("push to", &failure))?;
    let digest = digest.ok_or_else(|| taken("the tag names another image"))?;
    Ok(format!("{}@{digest}", session.reference))
}
