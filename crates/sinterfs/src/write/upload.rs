//! Outputs that are objects of stores.
//!
//! Enters a URL; leaves a stream for the object's bytes. **Invariant:** without the feature
//! `remote` there is no upload: the type has no value.

#[cfg(feature = "remote")]
pub use sinterfs_remote::Upload;

#[cfg(feature = "remote")]
pub(crate) use crate::write::into_registry::make_for;

use std::path::Path;

use sinterfs_model::{Error, Result};
#[cfg(not(feature = "remote"))]
use sinterfs_platform::Scratch;

use crate::open_options::OpenOptions;
use crate::output::destination::Destination;
use crate::place::shown;
use crate::write::request::BuildRequest;

/// Fails if nothing may be asked of servers, and the output is on one.
pub fn check(request: &BuildRequest) -> Result<()> {
    match &request.destination {
        Destination::Object { url, .. } if is_offline(&request.open) => {
            let what = "offline, nothing is written to a store";
            Err(Error::invalid(what).path(shown(url)))
        }
        _ => Ok(()),
    }
}

#[cfg(feature = "remote")]
fn is_offline(options: &OpenOptions) -> bool {
    options.remote.offline
}

#[cfg(not(feature = "remote"))]
fn is_offline(_: &OpenOptions) -> bool {
    false
}

/// Begins an object.
#[cfg(feature = "remote")]
pub fn begin(url: &Path, replace: bool, options: &OpenOptions) -> Result<Upload> {
    use sinterfs_remote::Address;

    let begun =
        Address::parse(url).and_then(|address| Upload::begin(&address, replace, &options.remote));
    begun.map_err(|error| error.path(shown(url)))
}

/// Writes an image by `make`: without `remote` there is no registry to make it for.
#[cfg(not(feature = "remote"))]
pub(crate) fn make_for<T>(
    destination: &Destination,
    _: &Scratch,
    _: &OpenOptions,
    make: impl FnOnce(&Destination) -> Result<T>,
) -> Result<(T, Option<String>)> {
    Ok((make(destination)?, None))
}

/// An upload that cannot be.
#[cfg(not(feature = "remote"))]
#[derive(Debug)]
pub enum Upload {}

/// Refuses a URL.
#[cfg(not(feature = "remote"))]
pub fn begin(url: &Path, _: bool, _: &OpenOptions) -> Result<Upload> {
    let what = "a remote output; this program was built without `remote`";
    Err(Error::unsupported(what).path(shown(url)))
}

#[cfg(not(feature = "remote"))]
impl Upload {
    /// Returns the file that takes the bytes.
    pub fn sink(&self) -> Result<std::fs::File> {
        match *self {}
    }

    /// Completes the object.
    pub fn finish(self) -> Result<()> {
        match self {}
    }

    /// Returns why nothing more can be written.
    pub fn failure(self) -> Error {
        match self {}
    }
}
