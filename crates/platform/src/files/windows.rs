//! Files of Windows.
//!
//! In: paths and open files. Out: open files. **Invariant:** a scratch file is removed by the
//! system when its handle is closed, however the process ends.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::os::windows::io::AsHandle;
use std::path::Path;

use windows_sys::Win32::Storage::FileSystem::{
    DELETE, FILE_ATTRIBUTE_TEMPORARY, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_DELETE_ON_CLOSE,
    FILE_FLAG_OPEN_REPARSE_POINT, FILE_READ_ATTRIBUTES,
};

use super::{FileAt, SameOwners};
use crate::nt;
use crate::status::Identity;
use crate::{Directory, OpenFor};

impl FileAt for File {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.seek_read(buf, offset)
    }

    fn read_exact_at(&self, mut buf: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buf.is_empty() {
            match self.seek_read(buf, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    buf = buf.get_mut(count..).unwrap_or_default();
                    offset = offset.saturating_add(count as u64);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn write_all_at(&self, mut buf: &[u8], mut offset: u64) -> io::Result<()> {
        while !buf.is_empty() {
            match self.seek_write(buf, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    buf = buf.get(count..).unwrap_or_default();
                    offset = offset.saturating_add(count as u64);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

pub(super) fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    // without it, opening a directory fails as what may not be read does
    options.custom_flags(FILE_FLAG_BACKUP_SEMANTICS)
}

pub(super) fn without_following(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT)
}

/// Does nothing: files inherit their permissions from the directory.
pub(super) fn with_first_mode(options: &mut OpenOptions, _mode: u32) -> &mut OpenOptions {
    options
}

pub(super) fn make_private_dir(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

pub(super) fn is_own(_found: &Metadata) -> bool {
    true
}

pub(super) fn is_block_device(_found: &Metadata) -> bool {
    false
}

pub(super) fn name_count(file: &File) -> io::Result<u64> {
    Ok(nt::information(file)?.nNumberOfLinks.into())
}

pub(super) fn allocated(found: &Metadata) -> u64 {
    found.len()
}

pub(super) fn identity(path: &Path) -> io::Result<Identity> {
    let mut options = File::options();
    options
        .access_mode(FILE_READ_ATTRIBUTES)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
    Ok(Directory::status_of(&options.open(path)?)?.identity)
}

pub(super) fn mode(found: &Metadata) -> u32 {
    match (found.is_dir(), found.permissions().readonly()) {
        (true, _) => 0o755,
        (false, true) => 0o444,
        (false, false) => 0o644,
    }
}

pub(super) fn with_mode(mut permissions: Permissions, mode: u32) -> Permissions {
    permissions.set_readonly(mode & 0o200 == 0);
    permissions
}

#[allow(clippy::unnecessary_wraps, reason = "as on other systems")]
pub(super) fn make_executable(_file: &File) -> io::Result<()> {
    Ok(())
}

pub(super) fn room(file: &File) -> Option<(u64, u64)> {
    let path = nt::final_path(file).ok()?;
    let mut dir: Vec<u16> = path.parent()?.as_os_str().encode_wide().collect();
    dir.push(0);
    nt::room(&dir).ok()
}

pub(super) fn is_without_sizes(_file: &File) -> bool {
    false
}

#[allow(clippy::unnecessary_wraps, reason = "as on other systems")]
pub(super) fn open_device(path: &Path) -> io::Result<File> {
    File::options().write(true).open(path)
}

pub(super) fn unnamed(_dir: &Path, _mode: u32) -> io::Result<Option<File>> {
    Ok(None)
}

#[allow(clippy::unnecessary_wraps, reason = "as on other systems")]
pub(super) fn unnamed_scratch(_dir: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

pub(super) fn name(_file: &File, _path: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn removed(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    options
        .attributes(FILE_ATTRIBUTE_TEMPORARY)
        .custom_flags(FILE_FLAG_DELETE_ON_CLOSE)
        .open(path)
}

pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    let file = File::options().access_mode(DELETE).open(from)?;
    let parent = to.parent().filter(|dir| !dir.as_os_str().is_empty());
    let dir = Directory::open(parent.unwrap_or(Path::new(".")), OpenFor::List)?;
    let name = to.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    let name: Vec<u16> = name.encode_wide().collect();
    nt::rename(&file, dir.as_file(), &name, false)
}

#[allow(clippy::unnecessary_wraps, reason = "as on other systems")]
pub(super) fn close(file: File) -> io::Result<()> {
    drop(file);
    Ok(())
}

#[allow(clippy::unnecessary_wraps, reason = "as on other systems")]
pub(super) fn sync_file_system(_file: &File) -> io::Result<bool> {
    Ok(false)
}

/// Locks a file of the directory, which stays there: a directory itself cannot be locked.
pub(super) fn lock_directory(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(false);
    let file = options.open(path.join(".sinter-lock"))?;
    file.lock()?;
    Ok(file)
}

pub(super) fn stdout() -> io::Result<File> {
    Ok(io::stdout().as_handle().try_clone_to_owned()?.into())
}

pub(super) fn stdin() -> io::Result<File> {
    Ok(io::stdin().as_handle().try_clone_to_owned()?.into())
}

pub(super) fn appends(_file: &File) -> bool {
    false
}

pub(super) fn will_be_read(_file: &File) {}

pub(super) fn next_hole(_file: &File, _offset: u64) -> Option<u64> {
    None
}

pub(super) fn next_data(_file: &File, _offset: u64) -> Option<u64> {
    None
}

/// Marks a file as one with holes; elsewhere they take room, no more.
pub(super) fn make_sparse(file: &File) {
    let _ = nt::make_sparse(file);
}

pub(super) fn copy_owner(_old: &Metadata, _new: &File) -> SameOwners {
    SameOwners {
        owner: true,
        group: true,
    }
}
