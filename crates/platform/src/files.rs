//! Files: read and written by position, without a name, renamed, locked.
//!
//! In: paths and open files. Out: open files. **Invariant:** reads and writes use the position of
//! the call; on Windows the file's own position moves with it, and nothing here depends on it.

#[cfg(unix)]
#[path = "files/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "files/windows.rs"]
mod system;

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::path::Path;

use sinterfs_model::Times;

use crate::directory::{self, Directory};
use crate::status::Identity;

/// Reads and writes of a file by position.
pub trait FileAt {
    /// Reads at most the length of the buffer; returns 0 at the end.
    ///
    /// # Errors
    /// The system's error.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Fills the buffer.
    ///
    /// # Errors
    /// `UnexpectedEof` where the file is shorter, and what the system reports.
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all bytes.
    ///
    /// # Errors
    /// The system's error.
    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;
}

/// Lets a file be opened without waiting for the writer of a fifo. Directories are opened, too, on
/// any system.
pub fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    system::without_waiting(options)
}

/// Lets a path be opened only if its last component is no symlink.
pub fn without_following(options: &mut OpenOptions) -> &mut OpenOptions {
    system::without_following(options)
}

/// Makes a directory, and missing parents, accessible only to its owner.
///
/// # Errors
/// The system's error.
pub fn make_private_dir(path: &Path) -> io::Result<()> {
    system::make_private_dir(path)
}

/// Returns whether a directory belongs to this user, and no other may write there, as far as that
/// can be seen on this system.
pub fn is_own_dir(found: &Metadata) -> bool {
    found.is_dir() && system::is_own(found)
}

/// Returns whether an open file is a block device.
pub fn is_block_device(found: &Metadata) -> bool {
    system::is_block_device(found)
}

/// Opens a block device to replace what is on it.
///
/// # Errors
/// On Linux `ResourceBusy` if it is mounted or in use by the system; what the system reports.
pub fn open_device(path: &Path) -> io::Result<File> {
    system::open_device(path)
}

/// Returns how many names an open file has: none after it was removed.
///
/// # Errors
/// The system's error.
pub fn name_count(file: &File) -> io::Result<u64> {
    system::name_count(file)
}

/// Returns the bytes that a file takes on the disk.
pub fn allocated(found: &Metadata) -> u64 {
    system::allocated(found)
}

/// Returns which file a path leads to.
///
/// # Errors
/// The system's error.
pub fn identity(path: &Path) -> io::Result<Identity> {
    system::identity(path)
}

/// Returns the permission bits of a file.
pub fn mode(found: &Metadata) -> u32 {
    system::mode(found)
}

/// Returns permissions from their bits, as far as the system has them.
pub fn with_mode(permissions: Permissions, mode: u32) -> Permissions {
    system::with_mode(permissions, mode)
}

/// Lets users that may read a file run it, if files have such permissions.
///
/// # Errors
/// The system's error.
pub fn make_executable(file: &File) -> io::Result<()> {
    system::make_executable(file)
}

/// Returns free and all bytes of the file system of an open file; `None` if the system does not
/// report it.
pub fn room(file: &File) -> Option<(u64, u64)> {
    system::room(file)
}

/// Returns whether an open file or directory is on a file system of the kernel, where files have
/// content although their size is 0, as below /proc.
pub fn is_without_sizes(file: &File) -> bool {
    system::is_without_sizes(file)
}

/// Makes a file without a name in a directory, to write and to be named by [`name`]; `None` where
/// there are no such files.
///
/// # Errors
/// The system's error.
pub fn unnamed(dir: &Path, mode: u32) -> io::Result<Option<File>> {
    system::unnamed(dir, mode)
}

/// Makes a file with these permissions, less what the umask takes, to write.
///
/// # Errors
/// `AlreadyExists`, and what the system reports.
pub fn make(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = File::options();
    system::with_first_mode(options.write(true).create_new(true), mode).open(path)
}

/// Links an unnamed file under its name.
///
/// # Errors
/// `AlreadyExists`, and what the system reports.
pub fn name(file: &File, path: &Path) -> io::Result<()> {
    system::name(file, path)
}

/// Makes a file to read and write that is gone when it is closed, however the process ends.
///
/// # Errors
/// The system's error.
pub fn scratch(dir: &Path) -> io::Result<File> {
    match system::unnamed_scratch(dir)? {
        Some(file) => Ok(file),
        None => named_scratch(dir),
    }
}

/// Makes a scratch file that has a name for a moment.
fn named_scratch(dir: &Path) -> io::Result<File> {
    for attempt in 0..1000 {
        let name = format!(".sinter-scratch-{}-{attempt}", std::process::id());
        match system::removed(&dir.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            done => return done,
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Renames a file that another one of the name is not to be lost by.
///
/// # Errors
/// `AlreadyExists`, and what the system reports.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    system::rename_new(from, to)
}

/// Makes the names of a directory durable, which is open to list it, if the system can do that.
///
/// # Errors
/// The system's error.
pub fn sync_directory(dir: &Directory) -> io::Result<()> {
    match dir.as_file().sync_all() {
        Err(error) if error.kind() != io::ErrorKind::InvalidInput && cfg!(unix) => Err(error),
        _ => Ok(()),
    }
}

/// Closes a file. A file system that writes late (NFS, quotas) reports only here what it could not
/// write.
///
/// # Errors
/// The system's error; the file is closed in any case.
pub fn close(file: File) -> io::Result<()> {
    system::close(file)
}

/// Closes a second descriptor of a file, so that errors of [`close`] are known while the file stays
/// open.
///
/// # Errors
/// The system's error.
pub fn flush(file: &File) -> io::Result<()> {
    close(file.try_clone()?)
}

/// Whether [`sync_file_system`] does that.
pub const SYNCS_FILE_SYSTEMS: bool = cfg!(target_os = "linux");

/// Makes everything on the file system of an open file durable; `false` where the system has no
/// call for that.
///
/// # Errors
/// The system's error for any file that was written since this one was opened.
pub fn sync_file_system(file: &File) -> io::Result<bool> {
    system::sync_file_system(file)
}

/// Waits until no other process has a directory locked, and locks it until the file is closed.
///
/// # Errors
/// The system's error.
pub fn lock_directory(path: &Path) -> io::Result<File> {
    system::lock_directory(path)
}

/// Returns standard output as a separate file.
///
/// # Errors
/// The system's error.
pub fn stdout() -> io::Result<File> {
    system::stdout()
}

/// Returns standard input as a separate file.
///
/// # Errors
/// The system's error.
pub fn stdin() -> io::Result<File> {
    system::stdin()
}

/// Returns whether every write goes to the end of a file.
pub fn appends(file: &File) -> bool {
    system::appends(file)
}

/// Advises the system that a file will be read from front to back.
pub fn will_be_read(file: &File) {
    system::will_be_read(file);
}

/// Returns where the hole is that follows `offset` in a file, at most `len`; `len` if there is none
/// or the system does not report it.
pub fn next_hole(file: &File, offset: u64, len: u64) -> u64 {
    system::next_hole(file, offset).map_or(len, |hole| hole.clamp(offset, len))
}

/// Returns where the data is that follows `offset` in a file, at most `len`.
pub fn next_data(file: &File, offset: u64, len: u64) -> u64 {
    system::next_data(file, offset).map_or(len, |data| data.clamp(offset, len))
}

/// Makes unwritten ranges of a file holes that take no space, on systems where a file must be
/// marked for that.
pub fn make_sparse(file: &File) {
    system::make_sparse(file);
}

/// Changes owner and group of an open file.
///
/// # Errors
/// The system's error.
pub fn set_owner(file: &File, uid: u32, gid: u32) -> io::Result<()> {
    directory::set_owner(file, uid, gid)
}

/// Changes the permissions of an open file or directory.
///
/// # Errors
/// The system's error.
pub fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    directory::set_mode(file, mode)
}

/// Changes access and modification time of an open file or directory.
///
/// # Errors
/// The system's error.
pub fn set_times(file: &File, times: &Times) -> io::Result<()> {
    directory::set_times(file, times)
}

/// Which of owner and group a new file has in common with an old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SameOwners {
    /// Whether the owner is the same.
    pub owner: bool,
    /// Whether the group is the same.
    pub group: bool,
}

/// Copies owner and group of an old file to a new one, as far as this process is allowed to;
/// returns which of them it has now.
pub fn copy_owner(old: &Metadata, new: &File) -> SameOwners {
    system::copy_owner(old, new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scratch_files_leave_no_name() {
        let dir = tempfile::tempdir().unwrap();
        for make in [scratch, named_scratch] {
            let file = make(dir.path()).unwrap();
            file.write_all_at(b"bytes", 7).unwrap();
            let mut read = [0; 5];
            file.read_exact_at(&mut read, 7).unwrap();
            assert_eq!(&read, b"bytes");
            assert!(file.read_exact_at(&mut read, 8).is_err());
            drop(file);
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        }
        assert!(scratch(&dir.path().join("missing")).is_err());
    }

    #[test]
    fn a_new_name_replaces_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        std::fs::write(&one, b"1").unwrap();
        std::fs::write(&two, b"2").unwrap();
        let error = rename_new(&one, &two).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        std::fs::remove_file(&two).unwrap();
        rename_new(&one, &two).unwrap();
        assert_eq!(std::fs::read(&two).unwrap(), b"1");
    }
}
