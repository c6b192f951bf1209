//! Images on their way to and from registries, as whole files.
//!
//! **Invariant:** a pulled file is complete and has the digest that the registry names, or it is
//! not there. What an interrupted pull has fetched is in the cache, where the next one finds it.

use std::path::Path;
use std::sync::Arc;

use sinterfs_model::{Error, Result};
use sinterfs_remote::{Address, PushedImage, Remote, RemoteOptions};

use crate::open::open_with;
use crate::open_options::OpenOptions;
use crate::place;
use crate::verify::trusted_source;
use crate::write::output::Output;

/// Pushes an image to a registry; returns its name with the digest of the manifest.
///
/// An EROFS image becomes an ordinary image with one layer, any other format an artifact. The
/// architecture is that of the programs in an EROFS image, by default this machine's.
///
/// # Errors
/// Those of [`crate::open()`]; `Invalid` for a reference without a tag, `Io` if the registry
/// refuses or cannot be reached.
pub fn push(
    image: &Path,
    to: &Path,
    architecture: Option<&str>,
    options: &OpenOptions,
) -> Result<String> {
    let address = Address::parse(to)?;
    let opened = open_with(image, options)?;
    let content = place::source(image, options)?;
    let own = trusted_source::in_image(&content, options)?;
    let pushed = PushedImage {
        content,
        format: opened.format(),
        root: own.map(|own| own.digests.root().to_string()),
        architecture: architecture.map(str::to_owned),
    };
    sinterfs_remote::push(&pushed, &address, &options.remote)
}

/// What a download was.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Pulled {
    /// The length of the file in bytes.
    pub len: u64,
    /// Whether a mirror sent wrong bytes, so that everything came from the registry itself.
    pub wrong_mirror: bool,
}

/// Downloads a remote image to a file.
///
/// If the bytes have another digest than the registry named, what is in the cache of them is
/// forgotten, and mirrors that were asked are not asked again.
///
/// # Errors
/// `Corrupt` if the bytes of the registry itself have another digest; `Invalid` if the file exists
/// and is not to be replaced; those of reading.
pub fn pull(from: &Path, to: &Path, replace: bool, options: &OpenOptions) -> Result<Pulled> {
    let located = |error: Error| error.path(place::shown(from));
    let address = Address::parse(from).map_err(located)?;
    let once = |remote: &RemoteOptions| {
        let output = Output::create(to, replace)?;
        let pulled = download(&address, &output, remote).map_err(located)?;
        if pulled.is_some() {
            output.commit()?;
        }
        Ok(pulled)
    };
    let mut wrong_mirror = false;
    let mut len = once(&options.remote)?;
    if len.is_none() && options.remote.registry_hosts.is_some() && options.remote.mirrors {
        wrong_mirror = true;
        len = once(&RemoteOptions {
            mirrors: false,
            ..options.remote.clone()
        })?;
    }
    let what = "the bytes have another digest than the manifest names";
    Ok(Pulled {
        len: len.ok_or_else(|| located(Error::corrupt(what)))?,
        wrong_mirror,
    })
}

/// Downloads all bytes; `None` if they have not the digest that the registry named.
fn download(address: &Address, output: &Output, options: &RemoteOptions) -> Result<Option<u64>> {
    let remote = Arc::new(Remote::open(address, options)?);
    let expected = remote.etag().filter(|etag| etag.starts_with("sha256:"));
    let expected = expected.map(str::to_owned);
    let (found, len) = place::copy_hashed(Arc::clone(&remote) as _, output.writer())?;
    if expected.is_none_or(|expected| expected == found) {
        return Ok(Some(len));
    }
    remote.forget_cached()?;
    Ok(None)
}
