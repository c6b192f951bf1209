//! Whether an image that is not the one of its parity is damaged, or was written anew.
//!
//! In: an image and its parity file. Out: a guess by the image's own check and the times of both
//! files. Spec: `docs/formats/parity.md`, "Which is right".

use std::path::Path;

use sinterfs_format::CheckOptions;
use sinterfs_model::{Error, Kind, Observer, Result};

use super::check::check;
use crate::open_options::OpenOptions;

/// Returns whether an image that differs from that of a parity is likely to be a later one rather
/// than a damaged one: it passes its own check, and either all of its content has checksums, or it
/// was written after the parity.
pub(super) fn seems_sound(
    image: &Path,
    parity: &Path,
    threads: usize,
    observer: &dyn Observer,
) -> Result<bool> {
    let depth = CheckOptions {
        deep: true,
        threads,
    };
    let report = match check(image, &OpenOptions::default(), depth, observer) {
        Ok(report) => report,
        Err(error) if error.kind() == Kind::Cancelled => return Err(error),
        Err(_) => return Ok(false),
    };
    let is_covered = report.sections.is_some() || report.root_digest.is_some();
    Ok(report.problems.is_empty() && (is_covered || is_newer(image, parity)?))
}

fn is_newer(image: &Path, parity: &Path) -> Result<bool> {
    let changed = |path: &Path| {
        let found = std::fs::metadata(path);
        let found = found.map_err(|error| Error::io("cannot stat", error).path(path))?;
        let time = found.modified();
        time.map_err(|error| Error::io("cannot stat", error).path(path))
    };
    Ok(changed(image)? > changed(parity)?)
}
