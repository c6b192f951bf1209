//! Opening images in registries.
//!
//! In: `oci://...`. Out: the image of an artifact or of an EROFS layer, or the layers of an
//! ordinary image. **Invariant:** a blob is cached under its digest, for all tags of a repository;
//! only the blob that a reference resolves to is recorded under the reference, so that it is found
//! without the registry.

use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Result};

use crate::address::{Address, Scheme};
use crate::cache::{CacheDirectory, CacheOptions, Known};
use crate::fetch::Fetcher;
use crate::options::RemoteOptions;
use crate::plan::{LEAF, TAIL};
use crate::registry::{
    Access, AttachedSignature, Descriptor, Manifest, Reference, RegistryBlob, Session, attached,
    resolve,
};
use crate::remote::{CachePlace, Remote, open_cache};
use crate::runtime;
use crate::version::ObjectVersion;

/// The most layers of an image that are read; other programs take 127 or 500.
pub const MOST_LAYERS: usize = 1000;

/// An ordinary image in a registry: its layers, lowest first, and its configuration.
#[derive(Debug)]
pub struct ContainerImage {
    /// The layers.
    pub layers: Vec<ImageBlob>,
    /// The configuration, if it has one of a known type.
    pub config: Option<ImageBlob>,
}

/// A layer or the configuration of an ordinary image in a registry.
#[derive(Debug)]
pub struct ImageBlob {
    /// The digest of its bytes, as the manifest names it.
    pub digest: String,
    /// Its bytes.
    pub content: Remote,
}

/// Returns the blobs of an ordinary image in a registry; `None` if it is one image that is read as
/// it is, or in no registry.
///
/// # Errors
/// As [`Remote::open`].
pub fn container_image(
    address: &Address,
    platform: Option<&str>,
    options: &RemoteOptions,
) -> Result<Option<ContainerImage>> {
    if address.scheme != Scheme::Registry || options.offline {
        return Ok(None);
    }
    let session = session(address, options)?;
    let manifest = manifest(&session, platform, options)?;
    if manifest.image().is_some() {
        return Ok(None);
    }
    if manifest.layers.len() > MOST_LAYERS {
        return Err(Error::limit(format!("more than {MOST_LAYERS} layers")));
    }
    let open = |blob: Descriptor| ImageBlob {
        digest: blob.digest.clone(),
        content: open_blob(&session, &version(blob), address, (None, None), options),
    };
    Ok(Some(ContainerImage {
        config: manifest.config.map(open),
        layers: manifest.layers.into_iter().map(open).collect(),
    }))
}

/// Returns the signatures that are attached to an image in a registry, with digests of at most
/// `longest` bytes each. Nobody has compared them with anything.
///
/// # Errors
/// `NotFound` if there is no such image, or if requests are not allowed; `Io` if the registry
/// cannot be reached, or refuses.
pub fn signatures(
    address: &Address,
    longest: u64,
    options: &RemoteOptions,
) -> Result<Vec<AttachedSignature>> {
    if options.offline {
        let what = "signatures in registries are not cached, and requests are not allowed \
                    (offline)";
        return Err(Error::not_found(what));
    }
    let session = session(address, options)?;
    let asked = Arc::clone(&session);
    let patience = options.deadline / 3;
    let found = runtime::spawn(async move {
        let (_, digest) = resolve(&asked, None, patience).await?;
        attached(&asked, &digest, longest, patience).await
    })?;
    let found = runtime::wait(&found, options.stop)?;
    found.map_err(|failure| session.error("read the signatures of", &failure))
}

/// Opens the image that a reference names. A reference with a digest is resolved once.
pub(crate) fn open(address: &Address, options: &RemoteOptions) -> Result<Remote> {
    let session = session(address, options)?;
    let url = address.to_string();
    let cache = open_cache(options);
    let known = cache.as_ref().map(|(cache, _)| cache.known(&url, false));
    let known = match known {
        Some(Known::Version(version)) => Some(version),
        Some(Known::Nothing(_)) | None => None,
    };
    let is_fixed = session.reference.digest.is_some();
    let opened = match known.filter(|_| is_fixed || options.offline) {
        Some(version) => open_blob(&session, &version, address, (cache, None), options),
        None if options.offline => return Err(not_here()),
        None => {
            let manifest = manifest(&session, None, options)?;
            let Some(image) = manifest.image() else {
                let count = manifest.layers.len();
                let layers = if count == 1 { "layer" } else { "layers" };
                return Err(Error::unsupported(format!(
                    "an ordinary image of {count} {layers}, which cannot be read as it is: build \
                     or convert it"
                )));
            };
            open_blob(
                &session,
                &version(image.clone()),
                address,
                (cache, Some(url)),
                options,
            )
        }
    };
    let len = opened.len();
    opened.will_need(&[0..LEAF.min(len), len.saturating_sub(TAIL)..len]);
    Ok(opened)
}

/// Returns the error of an object that is not in the cache.
pub(crate) fn not_here() -> Error {
    Error::not_found("it is not in the cache, and requests are not allowed (offline)")
}

fn session(address: &Address, options: &RemoteOptions) -> Result<Arc<Session>> {
    let reference = Reference::parse(address)?;
    Session::new(reference, Access::Pull, options).map(Arc::new)
}

fn manifest(
    session: &Arc<Session>,
    platform: Option<&str>,
    options: &RemoteOptions,
) -> Result<Manifest> {
    let (asked, platform) = (Arc::clone(session), platform.map(str::to_owned));
    // a wrong host name fails soon
    let patience = options.deadline / 3;
    let work = async move { resolve(&asked, platform.as_deref(), patience).await };
    let manifest = runtime::wait(&runtime::spawn(work)?, options.stop)?;
    let manifest = manifest.map(|(manifest, _)| manifest);
    manifest.map_err(|failure| session.error("read the manifest of", &failure))
}

fn version(descriptor: Descriptor) -> ObjectVersion {
    ObjectVersion {
        len: descriptor.len,
        etag: Some(descriptor.digest),
    }
}

fn open_blob(
    session: &Arc<Session>,
    version: &ObjectVersion,
    address: &Address,
    (cache, noted): (Option<(CacheDirectory, &CacheOptions)>, Option<String>),
    options: &RemoteOptions,
) -> Remote {
    let digest = version.etag.clone().unwrap_or_default();
    let blob = RegistryBlob::new(Arc::clone(session), digest, version.len);
    let fetcher = Arc::new(Fetcher::of_blob(blob, address, options));
    let place = CachePlace {
        cache,
        parts: Vec::new(),
        name: session.reference.to_string(),
        noted,
    };
    Remote::of(fetcher, address, version, place, options)
}
