//! A single file of the running system, outside of any packed directory.
//!
//! Enters a path; leaves the type, the metadata and the content of the file. **Invariant:** a
//! symlink at the end of the path is followed only on request.

use std::fs::File;
use std::path::{Path, PathBuf};

use sinterfs_model::{Content, Error, FileContent, FileType, Meta, Result, Xattrs};
use sinterfs_platform::{Directory, OpenFor, files, names};

use super::content::OpenFile;
use super::{attributes, content};

/// A file, without its content.
pub(crate) struct SingleFile {
    /// The path; resolved, if symlinks were followed.
    pub(crate) path: PathBuf,
    pub(crate) meta: Meta,
    pub(crate) held: SingleFileKind,
    pub(crate) xattrs: Xattrs,
}

/// The type of a file and what depends on it.
pub(crate) enum SingleFileKind {
    Symlink(Vec<u8>),
    Other(Content),
}

/// Inspects a file of any type but a directory.
pub(crate) fn inspect(
    path: &Path,
    follow: bool,
    warn: &mut dyn FnMut(Error),
) -> Result<SingleFile> {
    let failed = |error| Error::io("cannot inspect the file", error).path(path);
    let path = if follow {
        path.canonicalize().map_err(failed)?
    } else {
        path.to_owned()
    };
    let Some(name) = path.file_name().map(names::bytes) else {
        return Err(Error::invalid("the path has no file name").path(path));
    };
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let dir = Directory::open(parent.unwrap_or(Path::new(".")), OpenFor::Walk).map_err(failed)?;
    let status = dir.status(&name).map_err(failed)?;
    let mut size = status.size;
    if status.kind == Some(FileType::File) && size == 0 && files::is_without_sizes(dir.as_file()) {
        let file = dir.open_beneath(&name, OpenFor::Read).map_err(failed)?;
        let (len, warning) = content::without_size(&file).map_err(failed)?;
        size = len;
        if let Some(warning) = warning {
            warn(warning.path(&path));
        }
    }
    let held = match status.kind {
        Some(FileType::File) => SingleFileKind::Other(Content::File { size }),
        Some(FileType::CharDevice) => SingleFileKind::Other(Content::CharDevice(status.rdev)),
        Some(FileType::BlockDevice) => SingleFileKind::Other(Content::BlockDevice(status.rdev)),
        Some(FileType::Fifo) => SingleFileKind::Other(Content::Fifo),
        Some(FileType::Socket) => SingleFileKind::Other(Content::Socket),
        Some(FileType::Symlink) => SingleFileKind::Symlink(dir.read_link(&name).map_err(failed)?),
        Some(FileType::Directory) | None => {
            let what = "a directory cannot be added as a single file; merge it at a path instead";
            return Err(Error::invalid(what).path(path));
        }
    };
    let xattrs = attributes::read(&dir, &name, &mut |what, error| {
        warn(Error::io(what, error).path(&path));
    });
    Ok(SingleFile {
        meta: status.meta,
        held,
        xattrs,
        path: path.clone(),
    })
}

/// Opens the content of a regular file.
pub(crate) fn open(path: &Path) -> Result<Box<dyn FileContent>> {
    let mut options = File::options();
    let file = files::without_following(options.read(true)).open(path);
    let file = file.map_err(|error| Error::io("cannot open", error).path(path))?;
    let status = Directory::status_of(&file);
    let status = status.map_err(|error| Error::io("cannot stat", error).path(path))?;
    if status.kind != Some(FileType::File) {
        let what = "was a regular file when scanned, but is not any more";
        return Err(Error::invalid(what).path(path));
    }
    Ok(Box::new(OpenFile::new(file, path.to_owned(), status.size)))
}
