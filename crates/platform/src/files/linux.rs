//! Unnamed files, holes and advice on Linux.
//!
//! In: directories and open files. Out: open files and positions.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{Advice, AtFlags, CWD, Mode, OFlags, SeekFrom};
use rustix::io::Errno;

/// The directory in which the system shows the open files of this process.
const OWN_FILES: &str = "/proc/self/fd";

pub(crate) fn unnamed(dir: &Path, mode: u32) -> io::Result<Option<File>> {
    // an unnamed file is linked through its entry there
    if !Path::new(OWN_FILES).exists() {
        return Ok(None);
    }
    open(dir, OFlags::WRONLY, mode)
}

pub(crate) fn open_device(path: &Path) -> io::Result<File> {
    // of a device: fails if the system uses it
    let flags = OFlags::WRONLY | OFlags::EXCL | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

pub(crate) fn unnamed_scratch(dir: &Path) -> io::Result<Option<File>> {
    open(dir, OFlags::RDWR, 0o600)
}

fn open(dir: &Path, access: OFlags, mode: u32) -> io::Result<Option<File>> {
    let flags = OFlags::TMPFILE | OFlags::CLOEXEC | access;
    match rustix::fs::open(dir, flags, Mode::from_raw_mode(mode)) {
        Ok(file) => Ok(Some(file.into())),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

pub(crate) fn name(file: &File, path: &Path) -> io::Result<()> {
    let unnamed = format!("{OWN_FILES}/{}", file.as_raw_fd());
    let follow = AtFlags::SYMLINK_FOLLOW;
    Ok(rustix::fs::linkat(CWD, &*unnamed, CWD, path, follow)?)
}

pub(crate) fn sync_file_system(file: &File) -> io::Result<bool> {
    rustix::fs::syncfs(file)?;
    Ok(true)
}

pub(crate) fn will_be_read(file: &File) {
    // advice only: a file system that takes none loses nothing
    let _ = rustix::fs::fadvise(file, 0, None, Advice::Sequential);
}

pub(crate) fn next_hole(file: &File, offset: u64) -> Option<u64> {
    // any error means a file system without holes, or a file that shrank meanwhile
    rustix::fs::seek(file, SeekFrom::Hole(offset)).ok()
}

pub(crate) fn next_data(file: &File, offset: u64) -> Option<u64> {
    rustix::fs::seek(file, SeekFrom::Data(offset)).ok()
}
