//! Restoring files of an image.

use std::path::PathBuf;

use pyo3::prelude::*;
use sinterfs::model::Error;
use sinterfs::ops::{ExtractOptions, Overwrite};

use crate::error::raised;
use crate::image::RawImage;
use crate::observed::observed;

/// Directories, files, further names, symlinks, special files, bytes, kept, failed, damaged,
/// imperfect.
type Counts = (u64, u64, u64, u64, u64, u64, u64, u64, u64, u64);

/// Restores an image, or paths of it, in a directory; returns counts and warnings.
#[pyfunction]
#[pyo3(signature = (image, target, *, paths, globs, exclude, max_depth, strip, threads, owner,
    permissions, times, xattrs, sparse, overwrite, continue_on_error, salvage, progress))]
#[allow(
    clippy::too_many_arguments,
    reason = "they are named where they are given"
)]
pub fn extract(
    py: Python<'_>,
    image: &RawImage,
    target: PathBuf,
    paths: Vec<PathBuf>,
    globs: Vec<String>,
    exclude: Vec<String>,
    max_depth: Option<usize>,
    strip: usize,
    threads: usize,
    owner: Option<bool>,
    permissions: bool,
    times: bool,
    xattrs: bool,
    sparse: bool,
    overwrite: &str,
    continue_on_error: bool,
    salvage: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Counts, Vec<String>)> {
    let defaults = ExtractOptions::default();
    let options = ExtractOptions {
        paths,
        globs,
        exclude,
        max_depth,
        strip,
        threads,
        owner: owner.unwrap_or(defaults.owner),
        report_owner: owner != Some(false),
        permissions,
        usual_modes: false,
        rights: false,
        times,
        time: None,
        xattrs,
        sparse,
        max_zeros: defaults.max_zeros,
        overwrite: match overwrite {
            "refuse" => Overwrite::Refuse,
            "replace" => Overwrite::Replace,
            "keep" => Overwrite::Keep,
            _ => {
                let what = format!("overwrite is {overwrite:?}, not refuse, replace or keep");
                return Err(raised(py, &Error::invalid(what)));
            }
        },
        sync: false,
        continue_on_error,
        salvage,
        strict: false,
        cached: image.cache_bytes(),
    };
    let (image, _) = image.parts(py)?;
    let (report, warnings) = observed(py, progress, move |observer| {
        sinterfs::ops::extract(&**image.raw(), &target, &options, observer)
    })?;
    let counts = (
        report.directories,
        report.files,
        report.links,
        report.symlinks,
        report.specials,
        report.bytes,
        report.kept,
        report.failed,
        report.damaged,
        report.imperfect,
    );
    Ok((counts, warnings))
}
