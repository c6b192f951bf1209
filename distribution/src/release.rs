//! The facts of one release that all its files share.

use std::path::{Path, PathBuf};

/// A program to package, with its version and metadata.
pub struct Release {
    /// The program.
    pub binary: PathBuf,
    /// Version of the workspace.
    pub version: String,
    /// Modification time of all files, in seconds since 1970.
    pub epoch: u64,
    /// The directory for results.
    pub output: PathBuf,
    /// Name and address of the package's maintainer.
    pub maintainer: String,
    /// Whether packages are compressed quickly rather than well.
    pub fast: bool,
}

/// Describes an I/O error with its path.
pub fn path_error(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
