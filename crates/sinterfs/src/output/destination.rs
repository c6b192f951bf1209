//! Where an image goes: plain data.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::place;

/// Where an image goes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Destination {
    /// Standard output.
    Stdout,
    /// A file.
    File {
        /// Its path.
        path: PathBuf,
        /// Whether an existing file is replaced.
        replace: bool,
    },
    /// An object of a store (`s3://`, `gs://`, `az://`), or an image in a registry
    /// (`oci://HOST/REPOSITORY:TAG`), with the feature `remote`.
    Object {
        /// Its URL.
        url: PathBuf,
        /// Whether an existing object is replaced.
        replace: bool,
    },
    /// An open file, which is written from its position on.
    Open(OutputFile),
}

/// An open file to write to; equal to its copies alone.
#[derive(Debug, Clone)]
pub struct OutputFile(pub Arc<File>);

impl PartialEq for OutputFile {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for OutputFile {}

impl Destination {
    /// Returns what a path or a URL names.
    pub fn of(path: impl Into<PathBuf>, replace: bool) -> Self {
        let path = path.into();
        if place::is_url(&path) {
            Self::Object { url: path, replace }
        } else {
            Self::File { path, replace }
        }
    }

    /// Returns whether what exists is replaced.
    pub(crate) fn replaces(&self) -> bool {
        match self {
            Self::File { replace, .. } | Self::Object { replace, .. } => *replace,
            Self::Stdout | Self::Open(_) => false,
        }
    }

    /// Returns the directory for scratch files: that of the output, if it has one.
    pub(crate) fn scratch_dir(&self) -> PathBuf {
        let beside = match self {
            Self::File { path, .. } => path.parent(),
            Self::Object { .. } | Self::Stdout | Self::Open(_) => None,
        };
        match beside {
            Some(dir) if dir.as_os_str().is_empty() => Path::new(".").to_owned(),
            Some(dir) => dir.to_owned(),
            None => std::env::temp_dir(),
        }
    }
}
