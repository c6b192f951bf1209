//! Images that are made to be in a registry.
//!
//! In: a destination, and a function that writes an image to one. Out: the image in the registry if
//! the destination is one, at the destination otherwise. **Invariant:** a registry names a blob by
//! its digest, so the image is made in a scratch file without a name, and the tag names it when all
//! of it is there; a failed build leaves neither.

use std::sync::Arc;

use sinterfs_block::FileSource;
use sinterfs_model::{Error, Result};
use sinterfs_platform::Scratch;
use sinterfs_remote::Address;

use crate::open_options::OpenOptions;
use crate::output::destination::{Destination, OutputFile};
use crate::place::{is_registry, shown};
use crate::transfer::{PushWith, push_content};

/// Writes an image by `make`; one for a registry is pushed then, and its name with the digest of
/// the manifest returned as well.
///
/// # Errors
/// `Invalid` if there is no tag, or if it exists and is not to be replaced, before anything is
/// made; those of `make` and of pushing.
pub(crate) fn make_for<T>(
    destination: &Destination,
    scratch: &Scratch,
    options: &OpenOptions,
    make: impl FnOnce(&Destination) -> Result<T>,
) -> Result<(T, Option<String>)> {
    let (url, replace) = match destination {
        Destination::Object { url, replace } if is_registry(url) => (url, *replace),
        _ => return Ok((make(destination)?, None)),
    };
    let located = |error: Error| error.path(shown(url));
    let address = Address::parse(url).map_err(located)?;
    sinterfs_remote::require_tag(&address).map_err(located)?;
    if !replace {
        sinterfs_remote::require_free(&address, &options.remote).map_err(located)?;
    }
    let file = Arc::new(scratch.file()?);
    let made = make(&Destination::Open(OutputFile(Arc::clone(&file))))?;
    let file = file.try_clone();
    let file = file.map_err(|error| Error::io("cannot read a scratch file", error))?;
    let content = Arc::new(FileSource::from_file(file, shown(url))?);
    let with = PushWith {
        replace,
        ..PushWith::default()
    };
    let pushed = push_content(content, url, with, options).map_err(located)?;
    Ok((made, Some(pushed)))
}
