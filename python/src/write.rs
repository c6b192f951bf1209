//! Building images.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;
use sinterfs::Builder;
use sinterfs::build::{BuildReport, Destination, FormatOptions};

use crate::error::checked;
use crate::observed::observed;

/// Format, files, bytes of content, bytes of the image, incomplete files, root digest, name in a
/// registry, what the format could not keep, warnings.
type Built = (
    &'static str,
    u64,
    u64,
    u64,
    u64,
    Option<String>,
    Option<String>,
    Vec<(String, u64)>,
    Vec<String>,
);

/// Packs sources into an image.
#[pyfunction]
#[pyo3(signature = (sources, image, *, format, level, compression, block_size, threads, memory,
    max_zeros, include, exclude, create_timestamp, options, strict, replace, progress))]
#[allow(
    clippy::too_many_arguments,
    reason = "they are named where they are given"
)]
pub fn build(
    py: Python<'_>,
    sources: Vec<PathBuf>,
    image: PathBuf,
    format: Option<String>,
    level: Option<u8>,
    compression: Option<String>,
    block_size: Option<u64>,
    threads: Option<usize>,
    memory: Option<u64>,
    max_zeros: Option<u64>,
    include: Vec<String>,
    exclude: Vec<String>,
    create_timestamp: Option<u64>,
    options: Vec<(String, OsString)>,
    strict: bool,
    replace: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Built> {
    let mut sources = sources.into_iter();
    let first = sources
        .next()
        .ok_or(sinterfs::Error::invalid("nothing to pack"));
    let mut builder = Builder::new(checked(py, first)?)
        .strict(strict)
        .replace(replace);
    builder = sources.fold(builder, Builder::layer);
    builder = include.into_iter().fold(builder, Builder::include);
    builder = exclude.into_iter().fold(builder, Builder::exclude);
    if let Some(level) = level {
        builder = builder.level(level);
    }
    let destination = Destination::of(&image, replace);
    let named = FormatOptions::for_output(format.as_deref(), destination.name().as_deref());
    let mut format = checked(py, named)?;
    for (name, value) in options {
        checked(py, format.set(&name, value))?;
    }
    let request = builder.request_mut();
    request.compression = compression;
    request.block_size = block_size;
    request.threads = threads.unwrap_or(request.threads);
    request.memory = memory;
    request.max_zeros = max_zeros;
    request.create_timestamp = create_timestamp;
    request.format = Some(format);
    let (report, warnings) = observed(py, progress, move |observer| {
        builder.build_observed(image, observer)
    })?;
    Ok(built(&report, warnings))
}

fn built(report: &BuildReport, mut warnings: Vec<String>) -> Built {
    let (tree, image) = (&report.pipeline.tree, &report.pipeline.image);
    for loss in &image.losses {
        let named = loss.paths.iter().map(|path| {
            let path = String::from_utf8_lossy(path);
            format!("{path}: not kept by {}: {}", report.format, loss.what)
        });
        warnings.extend(named);
    }
    let digest = image.root_digest.map(|digest| {
        let digits = digest.iter().map(|byte| format!("{byte:02x}"));
        digits.collect::<String>()
    });
    let losses = image.losses.iter();
    (
        report.format,
        tree.files,
        tree.bytes,
        image.image_bytes,
        report.incomplete(),
        digest,
        report.pushed.clone(),
        losses
            .map(|loss| (loss.what.to_string(), loss.count))
            .collect(),
        warnings,
    )
}

/// Names and extensions of the formats that are known.
#[pyfunction]
pub fn formats() -> Vec<(&'static str, Vec<&'static str>)> {
    let formats = sinterfs::build::formats().into_iter();
    formats
        .map(|format| (format.name, format.extensions.to_vec()))
        .collect()
}
