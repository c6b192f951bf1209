//! Where images are: in files, or, with the feature `remote`, in objects that URLs name.
//!
//! Enters a path or a URL; leaves its bytes, read by position. **Invariant:** a path that begins
//! with a known scheme and `://` is a URL; `./` before it makes it a path.

use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "write")]
use sinterfs_block::SequentialReader;
use sinterfs_block::{FileSource, ReadAt};
#[cfg(any(feature = "write", not(feature = "remote")))]
use sinterfs_model::Error;
use sinterfs_model::Result;
#[cfg(feature = "remote")]
use sinterfs_remote::{FillOptions, Filled, RecordedReads};

use crate::open_options::OpenOptions;

/// Bytes that are on their way while a remote object is copied.
#[cfg(feature = "write")]
const COPY_AHEAD: u64 = 32 << 20;

/// Returns whether a path is the URL of a remote object.
pub fn is_url(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    let schemes = ["http://", "https://", "s3://", "gs://", "az://", "oci://"];
    schemes
        .iter()
        .any(|scheme| bytes.starts_with(scheme.as_bytes()))
}

/// Returns whether a path is the URL of an image in a registry.
#[cfg(all(feature = "write", feature = "remote"))]
pub(crate) fn is_registry(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().starts_with(b"oci://")
}

/// Returns a path as it may be shown: of a URL without its query, which may hold a signature, and
/// without a user and a password.
pub fn shown(path: &Path) -> PathBuf {
    let Some((scheme, rest)) = path.to_str().and_then(|url| url.split_once("://")) else {
        return path.to_owned();
    };
    if !is_url(path) {
        return path.to_owned();
    }
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    let (host, name) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or(host);
    format!("{scheme}://{host}{name}").into()
}

/// Opens the bytes of a file or of a remote object.
pub(crate) fn source(path: &Path, options: &OpenOptions) -> Result<Arc<dyn ReadAt>> {
    if is_url(path) {
        return remote(path, options);
    }
    Ok(Arc::new(FileSource::open(path)?))
}

/// A signature that is attached to an image in a registry, not compared with anything yet.
pub(crate) struct AttachedSignature {
    pub(crate) signature: Vec<u8>,
    /// Digests of the whole file, if the image has none of its own.
    pub(crate) digests: Option<Vec<u8>>,
}

/// Returns the signatures that are attached to an image in a registry; `None` for any other place.
#[cfg(feature = "remote")]
pub(crate) fn attached_signatures(
    image: &Path,
    longest: u64,
    options: &OpenOptions,
) -> Result<Option<Vec<AttachedSignature>>> {
    if !image.as_os_str().as_encoded_bytes().starts_with(b"oci://") {
        return Ok(None);
    }
    let address = sinterfs_remote::Address::parse(image)?;
    let found = sinterfs_remote::signatures(&address, longest, &options.remote)?;
    let own = |one: sinterfs_remote::AttachedSignature| AttachedSignature {
        signature: one.signature,
        digests: one.digests,
    };
    Ok(Some(found.into_iter().map(own).collect()))
}

/// Returns the signatures that are attached to an image: nothing is read from registries.
#[cfg(not(feature = "remote"))]
pub(crate) fn attached_signatures(
    _: &Path,
    _: u64,
    _: &OpenOptions,
) -> Result<Option<Vec<AttachedSignature>>> {
    Ok(None)
}

/// An ordinary image in a registry.
#[cfg(feature = "write")]
pub(crate) struct RemoteContainer {
    /// The layers, lowest first.
    pub(crate) layers: Vec<RemoteBlob>,
    /// The configuration.
    pub(crate) config: Option<RemoteBlob>,
}

/// A layer or the configuration of an image in a registry.
#[cfg(feature = "write")]
pub(crate) struct RemoteBlob {
    /// For messages.
    pub(crate) path: PathBuf,
    /// The digest that the manifest names.
    pub(crate) digest: String,
    pub(crate) source: Arc<dyn ReadAt>,
}

/// Copies a source to a file or a stream; returns the digest (`sha256:...`) and the length of what
/// was copied.
#[cfg(feature = "write")]
pub(crate) fn copy_hashed(
    source: Arc<dyn ReadAt>,
    to: impl std::io::Write,
) -> Result<(String, u64)> {
    let copying = Copying {
        from: SequentialReader::new(Arc::clone(&source)),
        source,
        at: 0,
        hinted: 0,
        to,
    };
    let copied = sinterfs_block::checksum::sha256_of(copying);
    let (hash, len) = copied.map_err(|error| match error.downcast::<Error>() {
        Ok(error) => error,
        Err(error) => Error::io("cannot write a copy", error),
    })?;
    Ok((
        format!("sha256:{}", sinterfs_block::verity::hex(&hash)),
        len,
    ))
}

/// Writes what is read, and has the source fetch what comes next.
#[cfg(feature = "write")]
struct Copying<W> {
    source: Arc<dyn ReadAt>,
    from: SequentialReader,
    at: u64,
    /// The end of the bytes that were announced to the source.
    hinted: u64,
    to: W,
}

#[cfg(feature = "write")]
impl<W: std::io::Write> std::io::Read for Copying<W> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        if self.hinted < self.source.len() && self.at + COPY_AHEAD / 2 >= self.hinted {
            let end = self.source.len().min(self.at + COPY_AHEAD);
            self.source.will_need(&[self.hinted..end]);
            self.hinted = end;
        }
        let count = self.from.read(buf)?;
        self.to.write_all(buf.split_at(count).0)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// Returns the blobs of an ordinary image in a registry; `None` for anything else.
#[cfg(all(feature = "write", feature = "remote"))]
pub(crate) fn container(
    path: &Path,
    platform: Option<&str>,
    options: &OpenOptions,
) -> Result<Option<RemoteContainer>> {
    if !path.as_os_str().as_encoded_bytes().starts_with(b"oci://") {
        return Ok(None);
    }
    let address = sinterfs_remote::Address::parse(path)?;
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

/// Returns an image in a registry: none, since nothing is read from there.
#[cfg(all(feature = "write", not(feature = "remote")))]
pub(crate) fn container(
    _: &Path,
    _: Option<&str>,
    _: &OpenOptions,
) -> Result<Option<RemoteContainer>> {
    Ok(None)
}

#[cfg(feature = "remote")]
fn remote(path: &Path, options: &OpenOptions) -> Result<Arc<dyn ReadAt>> {
    Ok(Arc::new(remote_object(path, options)?))
}

#[cfg(feature = "remote")]
fn remote_object(path: &Path, options: &OpenOptions) -> Result<sinterfs_remote::Remote> {
    use sinterfs_remote::{Address, Remote, RemoteOptions};

    let remote = RemoteOptions {
        // every byte is compared with its digest
        unpinned: options.remote.unpinned || options.trust.is_some(),
        ..options.remote.clone()
    };
    let opened = Address::parse(path).and_then(|address| Remote::open(&address, &remote));
    opened.map_err(|error| error.path(shown(path)))
}

/// Fetches all bytes of a remote object into the cache that `options` name; also returns their
/// number.
///
/// # Errors
/// `Invalid` without a cache, and those of reading.
#[cfg(feature = "remote")]
pub fn warm(path: &Path, how: FillOptions, options: &OpenOptions) -> Result<(Filled, u64)> {
    let object = remote_object(path, options)?;
    let filled = object.fill(how).map_err(|error| error.path(shown(path)))?;
    Ok((filled, object.len()))
}

/// Fetches what of a remote object was read before into the cache that `options` name; returns the
/// number of these bytes, and whether all of them are in the cache now.
///
/// # Errors
/// `Invalid` without a cache or if that was another version, and those of reading.
#[cfg(feature = "remote")]
pub fn warm_start(
    path: &Path,
    reads: &RecordedReads,
    options: &OpenOptions,
) -> Result<(u64, bool)> {
    let object = remote_object(path, options)?;
    let filled = object.fill_recorded(reads);
    let is_whole = filled.map_err(|error| error.path(shown(path)))?;
    Ok((reads.bytes(), is_whole))
}

#[cfg(not(feature = "remote"))]
fn remote(path: &Path, _: &OpenOptions) -> Result<Arc<dyn ReadAt>> {
    let what = "a remote image; this program was built without `remote`";
    Err(Error::unsupported(what).path(shown(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_shown_without_secrets() {
        for (url, seen) in [
            ("https://h/a/b?X-Amz-Signature=SECRET#f", "https://h/a/b"),
            ("https://me:SECRET@h:1/a@b", "https://h:1/a@b"),
            ("s3://bucket/key", "s3://bucket/key"),
            ("a?b", "a?b"),
            ("./http://h/a?b", "./http://h/a?b"),
        ] {
            assert_eq!(shown(Path::new(url)), Path::new(seen));
        }
    }
}
