//! The transport of a build with `remote`: servers, object stores and registries.
//!
//! In: a URL. Out: bytes and objects by `sinterfs-remote`. **Invariant:** where a proof is
//! required, bytes need no version that the server pins: each is compared with its digest.

use std::path::Path;
use std::sync::Arc;

use sinterfs_block::ReadAt;
#[cfg(feature = "write")]
use sinterfs_model::Error;
use sinterfs_model::Result;
use sinterfs_remote::{Address, Remote};

use crate::open_options::OpenOptions;
use crate::place::attached_signature::AttachedSignature;
#[cfg(feature = "write")]
use crate::place::stores::{PushedContent, RemoteBlob, RemoteContainer, Stores, Upload};
#[cfg(all(feature = "mount", target_os = "linux"))]
use crate::place::transport::ReadNotes;
use crate::place::transport::Transport;
use crate::place::url::{is_registry, shown};

pub use sinterfs_remote::{FillOptions, Filled, ReadRecorder, RecordedReads, RemoteOptions, cache};

/// Reads and writes what is on servers.
pub(crate) struct RemoteTransport;

fn object(url: &Path, options: &OpenOptions) -> Result<Remote> {
    let remote = RemoteOptions {
        // every byte is compared with its digest
        unpinned: options.remote.unpinned || options.trust.is_some(),
        ..options.remote.clone()
    };
    let opened = Address::parse(url).and_then(|address| Remote::open(&address, &remote));
    opened.map_err(|error| error.path(shown(url)))
}

impl Transport for RemoteTransport {
    fn open(&self, url: &Path, options: &OpenOptions) -> Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(object(url, options)?))
    }

    fn attached_signatures(
        &self,
        image: &Path,
        longest: u64,
        options: &OpenOptions,
    ) -> Result<Option<Vec<AttachedSignature>>> {
        if !is_registry(image) {
            return Ok(None);
        }
        let address = Address::parse(image)?;
        let found = sinterfs_remote::signatures(&address, longest, &options.remote)?;
        let own = |one: sinterfs_remote::AttachedSignature| AttachedSignature {
            signature: one.signature,
            digests: one.digests,
        };
        Ok(Some(found.into_iter().map(own).collect()))
    }

    #[cfg(all(feature = "mount", target_os = "linux"))]
    fn note_reads(&self, options: &mut OpenOptions) -> ReadNotes {
        let recorder = Arc::new(ReadRecorder::default());
        options.remote.recorder = Some(Arc::clone(&recorder));
        Box::new(move |is_wanted| {
            let is_new = recorder.take_news();
            let reads = recorder.reads().filter(|_| is_new || is_wanted);
            reads.map(|reads| reads.line())
        })
    }

    #[cfg(all(feature = "mount", target_os = "linux"))]
    fn has_list(&self, options: &OpenOptions) -> bool {
        options.remote.recorded.is_some()
    }

    #[cfg(feature = "write")]
    fn stores(&self) -> &dyn Stores {
        self
    }
}

#[cfg(feature = "write")]
impl Stores for RemoteTransport {
    fn is_offline(&self, options: &OpenOptions) -> bool {
        options.remote.offline
    }

    fn container(
        &self,
        path: &Path,
        platform: Option<&str>,
        options: &OpenOptions,
    ) -> Result<Option<RemoteContainer>> {
        if !is_registry(path) {
            return Ok(None);
        }
        let address = Address::parse(path)?;
        let found = sinterfs_remote::container_image(&address, platform, &options.remote);
        let found = found.map_err(|error| error.path(path))?;
        let named = |blob: sinterfs_remote::ImageBlob| RemoteBlob {
            path: path.join(&blob.digest),
            digest: blob.digest,
            source: Arc::new(blob.content),
        };
        Ok(found.map(|found| RemoteContainer {
            config: found.config.map(named),
            layers: found.layers.into_iter().map(named).collect(),
        }))
    }

    fn upload(&self, url: &Path, replace: bool, options: &OpenOptions) -> Result<Box<dyn Upload>> {
        let begun = Address::parse(url)
            .and_then(|address| sinterfs_remote::Upload::begin(&address, replace, &options.remote));
        Ok(Box::new(begun.map_err(|error| error.path(shown(url)))?))
    }

    fn require_pushable(&self, url: &Path, replace: bool, options: &OpenOptions) -> Result<()> {
        let located = |error: Error| error.path(shown(url));
        let address = Address::parse(url).map_err(located)?;
        sinterfs_remote::require_tag(&address).map_err(located)?;
        if !replace {
            sinterfs_remote::require_free(&address, &options.remote).map_err(located)?;
        }
        Ok(())
    }

    fn push(&self, image: PushedContent, url: &Path, options: &OpenOptions) -> Result<String> {
        let address = Address::parse(url).map_err(|error| error.path(shown(url)))?;
        let attached = |one: AttachedSignature| sinterfs_remote::AttachedSignature {
            signature: one.signature,
            digests: one.digests,
        };
        let pushed = sinterfs_remote::PushedImage {
            content: image.content,
            format: image.format,
            root: image.root,
            architecture: image.architecture,
            config: image.config,
            replace: image.replace,
            signature: image.signature.map(attached),
        };
        sinterfs_remote::push(&pushed, &address, &options.remote)
    }
}

#[cfg(feature = "write")]
impl Upload for sinterfs_remote::Upload {
    fn sink(&self) -> Result<std::fs::File> {
        self.sink()
    }

    fn finish(self: Box<Self>) -> Result<()> {
        (*self).finish()
    }

    fn failure(self: Box<Self>) -> Error {
        (*self).failure()
    }
}

/// Fetches all bytes of a remote object into the cache that `options` name; also returns their
/// number.
///
/// # Errors
/// `Invalid` without a cache, and those of reading.
pub fn warm(path: &Path, how: FillOptions, options: &OpenOptions) -> Result<(Filled, u64)> {
    let object = object(path, options)?;
    let filled = object.fill(how).map_err(|error| error.path(shown(path)))?;
    Ok((filled, object.len()))
}

/// Fetches what of a remote object was read before into the cache that `options` name; returns the
/// number of these bytes, and whether all of them are in the cache now.
///
/// # Errors
/// `Invalid` without a cache or if that was another version, and those of reading.
pub fn warm_start(
    path: &Path,
    reads: &RecordedReads,
    options: &OpenOptions,
) -> Result<(u64, bool)> {
    let object = object(path, options)?;
    let filled = object.fill_recorded(reads);
    let is_whole = filled.map_err(|error| error.path(shown(path)))?;
    Ok((reads.bytes(), is_whole))
}
