//! Hidden files that hold an output until it is complete, where there are no unnamed ones.
//!
//! In: the path of an output. Out: a file `.NAME.PID.tmp` beside it. **Invariant:** a hidden file
//! is locked (flock(2)) by its writer for as long as it is written; one that nobody has locked was
//! left by a process that was killed, and the next writer of the same output removes it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};

use sinterfs_model::{Error, Result};
use sinterfs_platform::files;

/// How often a hidden file is made again that was taken for a leftover before it was locked.
const ATTEMPTS: usize = 100;

/// Returns the directory of a path.
pub(crate) fn parent(path: &Path) -> &Path {
    path.parent()
        .filter(|dir| !dir.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Returns the name of the hidden file of this process.
pub(crate) fn name(path: &Path) -> Result<PathBuf> {
    let mut hidden = prefix(path)?;
    hidden.push(format!("{}.tmp", std::process::id()));
    Ok(parent(path).join(hidden))
}

/// Creates and locks the hidden file of an output, with permissions less the umask; removes what
/// killed processes left of it.
pub(crate) fn create(path: &Path, mode: u32) -> Result<(PathBuf, File)> {
    remove_leftovers(path);
    let temporary = name(path)?;
    let failed = |e| Error::io("cannot create the output", e).path(&temporary);
    for _ in 0..ATTEMPTS {
        let file = files::make(&temporary, mode).map_err(failed)?;
        lock(&file);
        // another writer may have removed it between the two calls
        if files::name_count(&file).map_err(failed)? > 0 {
            return Ok((temporary, file));
        }
    }
    Err(Error::io(
        "cannot create the output",
        std::io::ErrorKind::AlreadyExists,
    )
    .path(temporary))
}

/// Locks a hidden file until it is closed; a file system without locks is left alone.
pub(crate) fn lock(file: &File) {
    let _ = file.lock();
}

/// Removes the hidden files of an output that nobody has locked. Failures are ignored: the files
/// only take space.
pub(crate) fn remove_leftovers(path: &Path) {
    let (Ok(prefix), Ok(entries)) = (prefix(path), std::fs::read_dir(parent(path))) else {
        return;
    };
    for entry in entries.flatten() {
        if is_hidden_name(&entry.file_name(), &prefix) {
            remove_if_unlocked(&entry.path());
        }
    }
}

fn prefix(path: &Path) -> Result<OsString> {
    let name = path
        .file_name()
        .ok_or_else(|| Error::invalid("the output has no file name").path(path))?;
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(".");
    Ok(hidden)
}

fn is_hidden_name(name: &OsStr, prefix: &OsStr) -> bool {
    let (name, prefix) = (name.as_encoded_bytes(), prefix.as_encoded_bytes());
    let rest = name.strip_prefix(prefix);
    let number = rest.and_then(|rest| rest.strip_suffix(b".tmp"));
    number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}

fn remove_if_unlocked(path: &Path) {
    let mut options = File::options();
    let Ok(file) = files::without_following(options.read(true)).open(path) else {
        return;
    };
    let is_file = file.metadata().is_ok_and(|found| found.is_file());
    if is_file && file.try_lock().is_ok() {
        let _ = std::fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_of_killed_writers_are_removed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("image");
        let others = [".image.x1.tmp", ".image.tmp", ".other.1.tmp", "image.1.tmp"];
        for name in others.iter().chain(&[".image.1.tmp", ".image.22.tmp"]) {
            std::fs::write(dir.path().join(name), "left").unwrap();
        }
        let written = File::open(dir.path().join(".image.22.tmp")).unwrap();
        lock(&written);
        let (temporary, file) = create(&path, 0o600).unwrap();
        assert!(temporary.exists());
        assert!(!dir.path().join(".image.1.tmp").exists());
        assert!(
            dir.path().join(".image.22.tmp").exists(),
            "its writer has it locked"
        );
        assert!(others.iter().all(|name| dir.path().join(name).exists()));
        // what another writer sees of this one
        remove_leftovers(&path);
        assert!(temporary.exists());
        drop(file);
        remove_leftovers(&path);
        assert!(!temporary.exists());
    }
}
