//! Where images are: in files, or, with the feature `remote`, in objects that URLs name.
//!
//! Enters a path or a URL; leaves its bytes, read by position. **Invariant:** a path that begins
//! with a known scheme and `://` is a URL; `./` before it makes it a path.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinterfs_block::{FileSource, ReadAt};
use sinterfs_model::Result;

use crate::open_options::OpenOptions;

/// Bytes of one step of reading everything: as many as are requested at once.
#[cfg(feature = "remote")]
const WARM_STEP: usize = 64 << 20;

/// Returns whether a path is the URL of a remote object.
pub fn is_url(path: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let bytes = path.as_os_str().as_bytes();
    let schemes = ["http://", "https://", "s3://", "gs://", "az://"];
    schemes
        .iter()
        .any(|scheme| bytes.starts_with(scheme.as_bytes()))
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

#[cfg(feature = "remote")]
fn remote(path: &Path, options: &OpenOptions) -> Result<Arc<dyn ReadAt>> {
    use sinterfs_remote::{Address, Remote, RemoteOptions};

    let remote = RemoteOptions {
        // every byte is compared with its digest
        unpinned: options.remote.unpinned || options.trust.is_some(),
        ..options.remote.clone()
    };
    let opened = Address::parse(path).and_then(|address| Remote::open(&address, &remote));
    Ok(Arc::new(opened.map_err(|error| error.path(shown(path)))?))
}

/// Reads all bytes of a remote object, so that they are in the cache that `options` name; returns
/// their number.
///
/// # Errors
/// Those of reading.
#[cfg(feature = "remote")]
pub fn warm(path: &Path, options: &OpenOptions) -> Result<u64> {
    let source = remote(path, options)?;
    let mut buf = vec![0; WARM_STEP];
    let mut at = 0;
    while at < source.len() {
        let left = usize::try_from(source.len() - at).unwrap_or(usize::MAX);
        let count = left.min(buf.len());
        let read = source.read_at(at, buf.split_at_mut(count).0);
        read.map_err(|error| error.path(shown(path)))?;
        at += count as u64;
    }
    Ok(at)
}

#[cfg(not(feature = "remote"))]
fn remote(path: &Path, _: &OpenOptions) -> Result<Arc<dyn ReadAt>> {
    let what = "a remote image; this program was built without `remote`";
    Err(sinterfs_model::Error::unsupported(what).path(shown(path)))
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
