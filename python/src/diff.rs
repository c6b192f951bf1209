//! Comparing two trees: directories, archives or images.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;
use sinterfs::image::OpenOptions;
use sinterfs::ops::{DiffOptions, Difference, Field, What};

use crate::error::checked;
use crate::observed::observed;
use crate::stat::path_text;

/// A field with its old and its new value as text.
type FieldChange = (String, OsString, OsString);

/// Path, type as bits of a mode, what happened, new path, fields that differ.
type Changed = (
    OsString,
    u32,
    &'static str,
    Option<OsString>,
    Vec<FieldChange>,
);

/// Compares two trees; returns the changes, and warnings.
#[pyfunction]
#[pyo3(signature = (old, new, *, ignore, renames, threads))]
pub fn diff(
    py: Python<'_>,
    old: PathBuf,
    new: PathBuf,
    ignore: Vec<String>,
    renames: bool,
    threads: usize,
) -> PyResult<(Vec<Changed>, Vec<String>)> {
    let ignored: sinterfs::Result<Vec<Field>> = ignore.iter().map(|name| name.parse()).collect();
    let options = DiffOptions {
        ignored: checked(py, ignored)?,
        time_unit: 0,
        no_renames: !renames,
        threads,
    };
    let (report, warnings) = observed(py, None, move |observer| {
        let open = [OpenOptions::default(), OpenOptions::default()];
        sinterfs::ops::diff([&old, &new], &open, &options, observer)
    })?;
    let changes = report.changes.into_iter().map(|change| {
        let (what, to, differences) = match &change.what {
            What::Added => ("added", None, Vec::new()),
            What::Removed => ("removed", None, Vec::new()),
            What::Changed(differences) => ("changed", None, fields(differences)),
            What::Renamed(to, differences) => ("renamed", Some(path_text(to)), fields(differences)),
        };
        (
            path_text(&change.path),
            change.kind.bits(),
            what,
            to,
            differences,
        )
    });
    Ok((changes.collect(), warnings))
}

fn fields(differences: &[Difference]) -> Vec<FieldChange> {
    let name = |field| {
        let named = Field::ALL.iter().find(|(of, _)| *of == field);
        named.map_or("", |(_, name)| name).to_owned()
    };
    let row = |difference: &Difference| {
        let (old, new) = (path_text(&difference.old), path_text(&difference.new));
        (name(difference.field), old, new)
    };
    differences.iter().map(row).collect()
}
