//! Verifying image files.

use std::path::PathBuf;

use pyo3::prelude::*;
use sinterfs::image::OpenOptions;
use sinterfs::verify::CheckOptions;

use crate::observed::observed;

/// Problems, notes, blocks, files, the root digest.
type Checked = (Vec<String>, Vec<String>, u64, u64, Option<String>);

/// Verifies an image file: checksums and structure, with `deep` also every block and file.
#[pyfunction]
#[pyo3(signature = (path, *, deep, threads, offset, devices, objects, progress))]
#[allow(
    clippy::too_many_arguments,
    reason = "they are named where they are given"
)]
pub fn check(
    py: Python<'_>,
    path: PathBuf,
    deep: bool,
    threads: usize,
    offset: Option<u64>,
    devices: Vec<PathBuf>,
    objects: Option<PathBuf>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Checked> {
    let options = OpenOptions {
        offset,
        devices,
        objects,
        ..OpenOptions::default()
    };
    let depth = CheckOptions { deep, threads };
    let (mut report, warnings) = observed(py, progress, move |observer| {
        sinterfs::verify::check(&path, &options, depth, observer)
    })?;
    report.notes.extend(warnings);
    let digest = report.root_digest.map(|root| root.to_string());
    let (problems, notes) = (report.problems, report.notes);
    Ok((problems, notes, report.blocks, report.files, digest))
}
