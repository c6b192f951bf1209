//! Calls that macOS lacks or has in another form: no unnamed files, no advice.
//!
//! In: directories and open files. Out: open files and positions.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::SeekFrom;

pub(crate) fn unnamed(_dir: &Path, _mode: u32) -> io::Result<Option<File>> {
    Ok(None)
}

pub(crate) fn open_device(path: &Path) -> io::Result<File> {
    File::options().write(true).open(path)
}

pub(crate) fn unnamed_scratch(_dir: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

pub(crate) fn name(_file: &File, _path: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn sync_file_system(_file: &File) -> io::Result<bool> {
    Ok(false)
}

pub(crate) fn will_be_read(_file: &File) {}

pub(crate) fn next_hole(file: &File, offset: u64) -> Option<u64> {
    rustix::fs::seek(file, SeekFrom::Hole(offset)).ok()
}

pub(crate) fn next_data(file: &File, offset: u64) -> Option<u64> {
    rustix::fs::seek(file, SeekFrom::Data(offset)).ok()
}
