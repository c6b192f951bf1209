//! Verifying image files.

use std::path::PathBuf;

use pyo3::prelude::*;
use sinterfs::image::OpenOptions;
use sinterfs::verify::CheckOptions;

use crate::observed::observed;
use crate::options::RawOptions;

/// Problems, notes, blocks, files, the root digest.
type Checked = (Vec<String>, Vec<String>, u64, u64, Option<String>);

/// Verifies an image file: checksums and structure, with `deep` also every block and file.
#[pyfunction]
#[pyo3(signature = (path, *, deep, threads, options, progress))]
pub fn check(
    py: Python<'_>,
    path: PathBuf,
    deep: bool,
    threads: usize,
    options: RawOptions,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Checked> {
    let options = OpenOptions::from(options);
    let depth = CheckOptions { deep, threads };
    let (mut report, warnings) = observed(py, progress, move |observer| {
        sinterfs::verify::check(&path, &options, depth, observer)
    })?;
    report.notes.extend(warnings);
    let digest = report.root_digest.map(|root| root.to_string());
    let (problems, notes) = (report.problems, report.notes);
    Ok((problems, notes, report.blocks, report.files, digest))
}
