//! Names of complete files: given, and taken from what is replaced.
//!
//! In: a file without a name, or under a hidden one. Out: its name. **Invariant:** a name leads to
//! the old file or to the new one at any time, and no file is replaced that was not to be.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use sinterfs_model::{Error, Result, Setting};
use sinterfs_platform::{Directory, OpenFor, files};

use crate::output::hidden_file::{self, parent};

/// Returns whether two paths name one file, which may not exist yet.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    let resolved = |path: &Path| match path.canonicalize() {
        Ok(found) => Some(found),
        Err(_) => Some(parent(path).canonicalize().ok()?.join(path.file_name()?)),
    };
    a == b || resolved(a).is_some_and(|path| Some(path) == resolved(b))
}

pub(crate) fn exists(path: &Path) -> Error {
    let option = Setting::Replace;
    let what = format!("the output exists; use {option} to replace it");
    Error::invalid(what).about([option]).path(path)
}

/// Links an unnamed file to its path; a replacement goes through a temporary name, since linking
/// never overwrites.
pub(crate) fn name_file(file: &File, path: &Path, replace: bool) -> Result<()> {
    let link = |to: &Path| files::name(file, to);
    match link(path) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && replace => {
            hidden_file::lock(file);
            let temporary = hidden_file::name(path)?;
            hidden_file::remove_leftovers(path);
            link(&temporary)
                .map_err(|e| Error::io("cannot name the output", e).path(&temporary))?;
            rename(&temporary, path, true)
        }
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(exists(path)),
        Err(e) => Err(Error::io("cannot name the output", e).path(path)),
    }
}

pub(crate) fn rename(temporary: &Path, path: &Path, replace: bool) -> Result<()> {
    let result = if replace {
        std::fs::rename(temporary, path)
    } else {
        files::rename_new(temporary, path)
    };
    if result.is_err() {
        let _ = std::fs::remove_file(temporary);
    }
    match result {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && !replace => Err(exists(path)),
        other => other.map_err(|e| Error::io("cannot rename the output into place", e).path(path)),
    }
}

/// Opens the directory of a path before the name is made, so that a lack of descriptors leaves
/// nothing behind.
pub(crate) fn open_directory(path: &Path) -> Result<Directory> {
    Directory::open(parent(path), OpenFor::List)
        .map_err(|e| Error::io("cannot open the output's directory", e).path(path))
}

/// Returns whether a file that can be replaced has this name.
pub(crate) fn is_replaceable(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file())
}

/// Makes the names in the directory of a path durable.
pub(crate) fn sync_names(path: &Path) -> Result<()> {
    sync_directory(&open_directory(path)?, path)
}

/// Makes the new name durable; file systems that cannot sync a directory are left alone.
pub(crate) fn sync_directory(dir: &Directory, path: &Path) -> Result<()> {
    files::sync_directory(dir)
        .map_err(|e| Error::io("cannot sync the output's directory", e).path(path))
}

/// The part of a hidden name of files that no reader looks for.
pub(crate) const FORMER: &str = "former";

/// Returns the hidden name of a file that loses its name until what replaces it has one.
pub(crate) fn former_name(path: &Path) -> PathBuf {
    let mut hidden = OsString::from(".");
    hidden.push(path.file_name().unwrap_or(OsStr::new("")));
    hidden.push(format!(".{FORMER}.tmp"));
    path.with_file_name(hidden)
}

/// A file that is replaced, under a hidden name.
pub(crate) struct FormerFile {
    hidden: PathBuf,
    path: PathBuf,
}

impl FormerFile {
    /// Renames a file to a hidden name.
    pub(crate) fn aside(path: &Path) -> Result<Self> {
        let name = |from: &Path, to: &Path| std::fs::rename(from, to);
        Self::under(path, former_name(path), name)
    }

    /// Adds a hidden name to a file, or in its place where there are no links.
    pub(crate) fn besides(path: &Path, hidden: PathBuf) -> Result<Self> {
        Self::under(path, hidden, |from, to| {
            std::fs::hard_link(from, to).or_else(|_| std::fs::rename(from, to))
        })
    }

    fn under(
        path: &Path,
        hidden: PathBuf,
        name: impl Fn(&Path, &Path) -> io::Result<()>,
    ) -> Result<Self> {
        // of a run that was killed, whose work is done again
        let _ = std::fs::remove_file(&hidden);
        let what = "cannot keep the replaced file for the time being";
        let failed = |e| Error::io(what, e).path(path);
        name(path, &hidden).map_err(failed)?;
        let path = path.to_owned();
        let kept = Self { hidden, path };
        match sync_names(&kept.path) {
            Ok(()) => Ok(kept),
            Err(error) => {
                kept.restore();
                Err(error)
            }
        }
    }

    /// Removes the hidden name.
    pub(crate) fn remove(self) {
        let _ = std::fs::remove_file(self.hidden);
    }

    /// Restores the name of the file. What fails leaves the hidden name.
    pub(crate) fn restore(self) {
        // nothing happens if both are names of one file
        if std::fs::rename(&self.hidden, &self.path).is_ok() {
            let _ = std::fs::remove_file(&self.hidden);
        }
        let _ = sync_names(&self.path);
    }
}
