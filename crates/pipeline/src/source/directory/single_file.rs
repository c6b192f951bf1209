//! One file of the running system, outside any directory that is packed.
//!
//! Enters a path; leaves what it is, with its attributes, and its content. **Invariant:** a symlink at the end of
//! the path is followed only on request.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use sinterfs_model::{Content, Error, FileContent, FileType, Meta, Result, Xattrs};

use super::content::OpenFile;
use super::{attributes, status};

/// What a path leads to.
pub(in crate::source) struct SingleFile {
    /// The path, without symlinks at its end if they were followed.
    pub(in crate::source) path: PathBuf,
    pub(in crate::source) meta: Meta,
    pub(in crate::source) held: SingleFileKind,
    pub(in crate::source) xattrs: Xattrs,
}

/// What a file holds.
pub(in crate::source) enum SingleFileKind {
    Symlink(Vec<u8>),
    Other(Content),
}

/// Looks at anything but a directory.
pub(in crate::source) fn inspect(
    path: &Path,
    follow: bool,
    warn: &mut dyn FnMut(Error),
) -> Result<SingleFile> {
    let failed = |errno: rustix::io::Errno| Error::io("cannot look at the file", errno).path(path);
    let path = if follow {
        path.canonicalize()
            .map_err(|error| Error::io("cannot look at the file", error).path(path))?
    } else {
        path.to_owned()
    };
    let name = path.file_name().map(|name| CString::new(name.as_bytes()));
    let Some(Ok(name)) = name else {
        return Err(Error::invalid("a path without a name").path(path));
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
            let what = "a directory is not taken: a merge puts one anywhere";
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
        let what = "was a regular file when scanned and is none now";
        return Err(Error::invalid(what).path(path));
    }
    Ok(Box::new(OpenFile::new(fd, path.to_owned(), status.size)))
}
