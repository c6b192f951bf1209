//! A single file of the running system, outside of any packed directory.
//!
//! Enters a path; leaves the type, the metadata and the content of the file. **Invariant:** a
//! symlink at the end of the path is followed only on request.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use sinterfs_model::{Content, Error, FileContent, FileType, Meta, Result, Xattrs};

use super::content::OpenFile;
use super::{attributes, status};

/// A file, without its content.
pub(in crate::source) struct SingleFile {
    /// The path; resolved, if symlinks were followed.
    pub(in crate::source) path: PathBuf,
    pub(in crate::source) meta: Meta,
    pub(in crate::source) held: SingleFileKind,
    pub(in crate::source) xattrs: Xattrs,
}

/// The type of a file and what depends on it.
pub(in crate::source) enum SingleFileKind {
    Symlink(Vec<u8>),
    Other(Content),
}

/// Inspects a file of any type but a directory.
pub(in crate::source) fn inspect(
    path: &Path,
    follow: bool,
    warn: &mut dyn FnMut(Error),
) -> Result<SingleFile> {
    let failed = |errno: rustix::io::Errno| Error::io("cannot inspect the file", errno).path(path);
    let path = if follow {
        path.canonicalize()
            .map_err(|error| Error::io("cannot inspect the file", error).path(path))?
    } else {
        path.to_owned()
    };
    let name = path.file_name().map(|name| CString::new(name.as_bytes()));
    let Some(Ok(name)) = name else {
        return Err(Error::invalid("the path has no file name").path(path));
    };
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = rustix::fs::open(parent.unwrap_or(Path::new(".")), flags, Mode::empty());
    let dir = dir.map_err(failed)?;
    let status = status::of_name(&dir, &name).map_err(failed)?;
    let held = match status.kind {
        Some(FileType::File) => SingleFileKind::Other(Content::File { size: status.size }),
        Some(FileType::CharDevice) => SingleFileKind::Other(Content::CharDevice(status.rdev)),
        Some(FileType::BlockDevice) => SingleFileKind::Other(Content::BlockDevice(status.rdev)),
        Some(FileType::Fifo) => SingleFileKind::Other(Content::Fifo),
        Some(FileType::Socket) => SingleFileKind::Other(Content::Socket),
        Some(FileType::Symlink) => {
            let text = rustix::fs::readlinkat(&dir, &name, Vec::new()).map_err(failed)?;
            SingleFileKind::Symlink(text.into_bytes())
        }
        Some(FileType::Directory) | None => {
            let what = "a directory cannot be added as a single file; merge it at a path instead";
            return Err(Error::invalid(what).path(path));
        }
    };
    let xattrs = attributes::read(&dir, &name, &mut |what, errno| {
        warn(Error::io(what, errno).path(&path));
    });
    Ok(SingleFile {
        meta: status.meta,
        held,
        xattrs,
        path,
    })
}

/// Opens the content of a regular file.
pub(in crate::source) fn open(path: &Path) -> Result<Box<dyn FileContent>> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = rustix::fs::open(path, flags, Mode::empty());
    let fd = fd.map_err(|errno| Error::io("cannot open", errno).path(path))?;
    let status = status::of_fd(&fd);
    let status = status.map_err(|errno| Error::io("cannot stat", errno).path(path))?;
    if status.kind != Some(FileType::File) {
        let what = "was a regular file when scanned, but is not any more";
        return Err(Error::invalid(what).path(path));
    }
    Ok(Box::new(OpenFile::new(fd, path.to_owned(), status.size)))
}
