//! Images that are made to be in a registry.
//!
//! In: a destination, and a function that writes an image to one. Out: the image in the registry if
//! the destination is one, at the destination otherwise. **Invariant:** a registry names a blob by
//! its digest, so the image is made in a scratch file without a name, and the tag names it when all
//! of it is there; a failed build leaves neither.

use std::path::Path;
use std::sync::Arc;

use sinterfs_block::FileSource;
use sinterfs_model::{Error, Kind, Result, Setting};
use sinterfs_pipeline::Scratch;
use sinterfs_remote::{Address, Remote};

use crate::open_options::OpenOptions;
use crate::place::{is_registry, shown};
use crate::transfer::{PushWith, push_content};
use crate::write::request::{Destination, OutputFile};

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
    sinterfs_remote::require_tag(&Address::parse(url).map_err(located)?).map_err(located)?;
    if !replace {
        require_free(url, options).map_err(located)?;
    }
    let file = Arc::new(scratch.file()?);
    let made = make(&Destination::Open(OutputFile(Arc::clone(&file))))?;
    let file = file.try_clone();
    let file = file.map_err(|error| Error::io("cannot read a scratch file", error))?;
    let content = Arc::new(FileSource::from_file(file, shown(url))?);
    let pushed = push_content(content, url, PushWith::default(), options).map_err(located)?;
    Ok((made, Some(pushed)))
}

/// Fails if there is an image of that name, or if nobody can say.
fn require_free(url: &Path, options: &OpenOptions) -> Result<()> {
    match Remote::open(&Address::parse(url)?, &options.remote) {
        Err(error) if error.kind() == Kind::NotFound => Ok(()),
        // one of several layers is an image, too
        Err(error) if error.kind() != Kind::Unsupported => Err(error),
        _ => {
            let option = Setting::Replace;
            let what = format!("the tag exists; use {option} to let it name the new image");
            Err(Error::invalid(what).about([option]))
        }
    }
}
