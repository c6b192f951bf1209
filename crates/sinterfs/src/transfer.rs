//! Images on their way to and from registries, as whole files.
//!
//! **Invariant:** a pulled file is complete and has the digest that the registry names, or it is
//! not there. What an interrupted pull has fetched is in the cache, where the next one finds it.

use std::path::Path;
use std::sync::Arc;

use sinterfs_model::{Error, Result};
use sinterfs_remote::{Address, PushedImage, Remote};

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

/// Downloads a remote image to a file; returns its length in bytes.
///
/// # Errors
/// `Corrupt` if the bytes have another digest than the registry named; `Invalid` if the file exists
/// and is not to be replaced; those of reading.
pub fn pull(from: &Path, to: &Path, replace: bool, options: &OpenOptions) -> Result<u64> {
    let located = |error: Error| error.path(place::shown(from));
    let output = Output::create(to, replace)?;
    let remote = Address::parse(from).and_then(|address| Remote::open(&address, &options.remote));
    let remote = Arc::new(remote.map_err(located)?);
    let expected = remote.etag().filter(|etag| etag.starts_with("sha256:"));
    let expected = expected.map(str::to_owned);
    let (found, len) = place::copy_hashed(remote, output.writer()).map_err(located)?;
    if let Some(expected) = expected.filter(|expected| *expected != found) {
        let what = format!("the bytes have the digest {found}, expected {expected}");
        return Err(located(Error::corrupt(what)));
    }
    output.commit()?;
    Ok(len)
}
