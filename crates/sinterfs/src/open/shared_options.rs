//! Options of opening that several images share.
//!
//! In: files and their options. Out: the options of each that its reader has. **Invariant:** an
//! option that no reader has is an error.

use std::path::Path;

use sinterfs_model::{Result, Setting};

#[cfg(feature = "write")]
use crate::open::detect::What;
use crate::open::reader_options::{given, image_of, refused, remove};
use crate::open::trusted_source;
use crate::open_options::OpenOptions;
use crate::place;

/// Removes from the options of each of several files, which share some, those that its reader does
/// not have.
///
/// # Errors
/// `Invalid` for an option that no reader has, and those of [`crate::open_with`] for files of no
/// known format.
pub fn keep_applicable(files: &[&Path], options: &mut [OpenOptions]) -> Result<()> {
    let (mut used, mut unused) = (Vec::new(), None);
    for (path, own) in files.iter().zip(options) {
        let given = given(own);
        if given.is_empty() {
            // finding the format costs reads
            continue;
        }
        let (taken, what) = taken(path, own)?;
        let (kept, left): (Vec<_>, Vec<_>) =
            given.into_iter().partition(|option| taken.contains(option));
        used.extend(kept);
        for option in left {
            remove(own, option);
            unused.get_or_insert_with(|| (option, refused(option, &what).path(place::shown(path))));
        }
    }
    match unused {
        Some((option, error)) if !used.contains(&option) => Err(error),
        _ => Ok(()),
    }
}

/// Returns the options that the reader of a file has, and what it is.
fn taken(path: &Path, options: &OpenOptions) -> Result<(&'static [Setting], String)> {
    #[cfg(feature = "write")]
    if let Some(what) = What::of(path, options)?.other_than_image() {
        return Ok((&[], what.to_owned()));
    }
    let unproven = OpenOptions {
        trust: None,
        ..options.clone()
    };
    let find = || {
        let source = place::source(path, &unproven)?;
        trusted_source::establish(source, &unproven)?.format()
    };
    let format = find().map_err(|error| error.path(place::shown(path)))?;
    Ok((format.reader_options(), image_of(format)))
}
