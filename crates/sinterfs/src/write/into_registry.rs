//! Images that are made to be on a server: in a registry, or an object of a store.
//!
//! In: a destination, and a function that writes an image to one. Out: the image in the registry if
//! the destination is one, at the destination otherwise. **Invariant:** a registry names a blob by
//! its digest, so the image is made in a scratch file without a name, and the tag names it when all
//! of it is there; a failed build leaves neither.

use std::sync::Arc;

use sinterfs_block::FileSource;
use sinterfs_model::{Error, Result};
use sinterfs_platform::Scratch;

use crate::open_options::OpenOptions;
use crate::output::destination::{Destination, OutputFile};
use crate::place::{TRANSPORT, is_registry, shown};
use crate::transfer::push::{PushWith, push_content};

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
    TRANSPORT.stores().require_pushable(url, replace, options)?;
    let file = Arc::new(scratch.file()?);
    let made = make(&Destination::Open(OutputFile(Arc::clone(&file))))?;
    let file = file.try_clone();
    let file = file.map_err(|error| Error::io("cannot read a scratch file", error))?;
    let content = Arc::new(FileSource::from_file(file, shown(url))?);
    let with = PushWith {
        replace,
        ..PushWith::default()
    };
    let pushed =
        push_content(content, url, with, options).map_err(|error| error.path(shown(url)))?;
    Ok((made, Some(pushed)))
}

/// Fails if nothing may be asked of servers, and the output is on one.
pub(crate) fn refuse_offline(destination: &Destination, options: &OpenOptions) -> Result<()> {
    match destination {
        Destination::Object { url, .. } if TRANSPORT.stores().is_offline(options) => {
            let what = "offline, nothing is written to a store";
            Err(Error::invalid(what).path(shown(url)))
        }
        _ => Ok(()),
    }
}
