//! Directories on Windows, by handles.
//!
//! In: open directories and names. Out: open files. **Invariant:** every component is opened in the
//! directory before it, itself, and refused if it is a symlink or junction. Attributes that Windows
//! does not keep (owners, most permission bits) are not set, without an error; see `KEEPS`.

use std::fs::{File, FileTimes};
use std::io;
use std::ops::ControlFlow;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sinterfs_model::{FileType, Meta, Rdev, Time, Times};
use windows_sys::Wdk::Storage::FileSystem::{
    FILE_CREATE, FILE_DIRECTORY_FILE, FILE_NON_DIRECTORY_FILE, FILE_OPEN,
    FILE_OPEN_FOR_BACKUP_INTENT,
};
use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_DIRECTORY, ERROR_INVALID_FUNCTION, ERROR_NOT_SUPPORTED,
    ERROR_PRIVILEGE_NOT_HELD, FILETIME,
};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, DELETE, FILE_ATTRIBUTE_DIRECTORY, FILE_ATTRIBUTE_READONLY,
    FILE_ATTRIBUTE_REPARSE_POINT, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT,
    FILE_GENERIC_READ, FILE_GENERIC_WRITE, FILE_LIST_DIRECTORY, FILE_READ_ATTRIBUTES,
    FILE_TRAVERSE, FILE_WRITE_ATTRIBUTES,
};

use super::OpenFor;
pub(super) use super::within::open_within;
use crate::names::file_name;
use crate::nt::{self, How};
use crate::status::{Identity, Status};

/// Set in the tags of reparse points that lead to another name: symlinks and junctions.
const SURROGATE: u32 = 0x2000_0000;
const SYMLINK: u32 = 0xA000_000C;
const JUNCTION: u32 = 0xA000_0003;
/// A symlink that the Linux subsystem made.
const LX_SYMLINK: u32 = 0xA000_001D;

/// Seconds from 1601, where Windows' times begin, to 1970.
const EPOCH: i64 = 11_644_473_600;
/// Units of Windows' times in a second.
const TICKS: i64 = 10_000_000;

impl OpenFor {
    fn how(self) -> How {
        let (access, options) = match self {
            Self::Walk => (FILE_TRAVERSE | FILE_READ_ATTRIBUTES, FILE_DIRECTORY_FILE),
            Self::List => (
                FILE_LIST_DIRECTORY | FILE_READ_ATTRIBUTES | FILE_WRITE_ATTRIBUTES,
                FILE_DIRECTORY_FILE,
            ),
            Self::Read => (FILE_GENERIC_READ, 0),
            Self::Look => (FILE_READ_ATTRIBUTES, 0),
        };
        How {
            access,
            disposition: FILE_OPEN,
            options: options | FILE_OPEN_FOR_BACKUP_INTENT,
            follows: false,
        }
    }
}

fn wide(name: &[u8]) -> Vec<u16> {
    file_name::encode(name).0
}

pub(super) fn open(path: &Path, open: OpenFor) -> io::Result<File> {
    let access = match open {
        OpenFor::List => FILE_GENERIC_READ | FILE_WRITE_ATTRIBUTES,
        other => other.how().access,
    };
    let mut options = File::options();
    options
        .access_mode(access)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
    let file = match options.open(path) {
        Err(error) if open == OpenFor::List && nt::is(&error, ERROR_ACCESS_DENIED) => {
            options.access_mode(FILE_GENERIC_READ).open(path)
        }
        opened => opened,
    }?;
    if nt::information(&file)?.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY == 0 {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(file)
}

pub(super) fn child(dir: &File, name: &[u8], open: OpenFor) -> io::Result<File> {
    let (name, mut how) = (wide(name), open.how());
    let file = match nt::open_at(dir, &name, &how) {
        // a directory of which the metadata may not be changed can be listed all the same
        Err(error) if open == OpenFor::List && nt::is(&error, ERROR_ACCESS_DENIED) => {
            how.access &= !FILE_WRITE_ATTRIBUTES;
            nt::open_at(dir, &name, &how)
        }
        opened => opened,
    }?;
    if open == OpenFor::Look || !is_reparse_point(&file)? {
        return Ok(file);
    }
    if nt::reparse_tag(&file)? & SURROGATE != 0 {
        return Err(raw(ERROR_DIRECTORY));
    }
    // compressed files, files of a cloud and the like are no links
    nt::open_at(
        dir,
        &name,
        &How {
            follows: true,
            ..how
        },
    )
}

fn is_reparse_point(file: &File) -> io::Result<bool> {
    Ok(nt::information(file)?.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT != 0)
}

fn raw(number: u32) -> io::Error {
    io::Error::from_raw_os_error(number.cast_signed())
}

pub(super) fn open_beneath(root: &File, path: &[u8], open: OpenFor) -> io::Result<File> {
    if path.is_empty() || path == b"." {
        return match open {
            // listing moves the position of a handle, so each has its own
            OpenFor::List => reopen(root),
            _ => root.try_clone(),
        };
    }
    let mut at: Option<File> = None;
    let mut names = path.split(|&byte| byte == b'/').peekable();
    loop {
        let name = names.next().ok_or(io::ErrorKind::NotFound)?;
        if matches!(name, b"" | b"." | b"..") {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        let dir = at.as_ref().unwrap_or(root);
        if names.peek().is_none() {
            return child(dir, name, open);
        }
        at = Some(child(dir, name, OpenFor::Walk)?);
    }
}

/// Opens a directory once more, with a separate position.
fn reopen(dir: &File) -> io::Result<File> {
    nt::open_at(dir, &[], &OpenFor::List.how())
}

pub(super) fn open_anywhere(
    dir: &File,
    path: &[u8],
    open: OpenFor,
    follow: bool,
) -> io::Result<File> {
    let path = nt::final_path(dir)?.join(crate::names::path(path));
    let no_follow = if follow {
        0
    } else {
        FILE_FLAG_OPEN_REPARSE_POINT
    };
    let mut options = File::options();
    options
        .access_mode(open.how().access)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | no_follow)
        .open(path)
}

pub(super) fn list(dir: &File, each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> io::Result<()> {
    nt::list(dir, &mut |name| {
        let name = file_name::decode(name);
        match &*name {
            b"." | b".." => ControlFlow::Continue(()),
            name => each(name),
        }
    })
}

pub(super) fn status(dir: &File, name: &[u8]) -> io::Result<Status> {
    if name == b"." {
        return status_of(dir);
    }
    let how = OpenFor::Look.how();
    status_of(&nt::open_at(dir, &wide(name), &how)?)
}

pub(super) fn status_of(file: &File) -> io::Result<Status> {
    let found = nt::information(file)?;
    let attributes = found.dwFileAttributes;
    let is_link =
        attributes & FILE_ATTRIBUTE_REPARSE_POINT != 0 && nt::reparse_tag(file)? & SURROGATE != 0;
    let (kind, mode) = if is_link {
        (FileType::Symlink, 0o777)
    } else if attributes & FILE_ATTRIBUTE_DIRECTORY != 0 {
        (FileType::Directory, 0o755)
    } else if attributes & FILE_ATTRIBUTE_READONLY != 0 {
        (FileType::File, 0o444)
    } else {
        (FileType::File, 0o644)
    };
    let size = match kind {
        FileType::File => joined(found.nFileSizeHigh, found.nFileSizeLow),
        _ => 0,
    };
    Ok(Status {
        identity: Identity {
            device: Rdev {
                major: 0,
                minor: found.dwVolumeSerialNumber,
            },
            ino: joined(found.nFileIndexHigh, found.nFileIndexLow),
        },
        kind: Some(kind),
        meta: Meta {
            mode,
            uid: 0,
            gid: 0,
            times: times(&found),
        },
        nlink: found.nNumberOfLinks,
        size,
        rdev: Rdev::default(),
    })
}

fn joined(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn times(found: &BY_HANDLE_FILE_INFORMATION) -> Times {
    let time = |time: &FILETIME| {
        let ticks = joined(time.dwHighDateTime, time.dwLowDateTime).cast_signed();
        Time {
            secs: ticks.div_euclid(TICKS) - EPOCH,
            nanos: u32::try_from(ticks.rem_euclid(TICKS) * 100).unwrap_or(0),
        }
    };
    Times {
        modified: time(&found.ftLastWriteTime),
        accessed: time(&found.ftLastAccessTime),
        changed: time(&found.ftLastWriteTime),
    }
}

pub(super) fn read_link(dir: &File, name: &[u8]) -> io::Result<Vec<u8>> {
    read_open_link(&nt::open_at(dir, &wide(name), &OpenFor::Look.how())?)
}

pub(super) fn read_open_link(link: &File) -> io::Result<Vec<u8>> {
    let data = nt::reparse_data(link)?;
    link_text(&data).ok_or_else(|| raw(ERROR_NOT_SUPPORTED))
}

/// Returns the text in the data of a reparse point (`REPARSE_DATA_BUFFER`).
fn link_text(data: &[u8]) -> Option<Vec<u8>> {
    let short = |at: usize| {
        let bytes = data.get(at..at + 2)?.try_into().ok()?;
        Some(usize::from(u16::from_le_bytes(bytes)))
    };
    let tag = u32::from_le_bytes(data.get(..4)?.try_into().ok()?);
    let names = match tag {
        SYMLINK => 20,
        JUNCTION => 16,
        // four bytes of version, and text
        LX_SYMLINK => return data.get(12..8 + short(4)?).map(<[u8]>::to_vec),
        _ => return None,
    };
    let name = |at: usize| {
        let start = names + short(at)?;
        let bytes = data.get(start..start + short(at + 2)?)?.chunks_exact(2);
        Some(
            bytes
                .map(|pair| u16::from_le_bytes(pair.try_into().unwrap_or_default()))
                .collect::<Vec<u16>>(),
        )
    };
    // the name for people, or that for the system, which begins with `\??\`
    let text = name(12)
        .filter(|text| !text.is_empty())
        .or_else(|| name(8))?;
    let prefix: Vec<u16> = "\\??\\".encode_utf16().collect();
    let text = text.strip_prefix(&*prefix).unwrap_or(&text);
    let parts = text.split(|&unit| unit == 0x5C);
    Some(parts.map(file_name::decode).collect::<Vec<_>>().join(&b'/'))
}

pub(super) fn make_dir(dir: &File, name: &[u8], _mode: u32) -> io::Result<()> {
    let how = How {
        disposition: FILE_CREATE,
        ..OpenFor::Walk.how()
    };
    nt::open_at(dir, &wide(name), &how).map(drop)
}

pub(super) fn make_file(dir: &File, name: &[u8], _mode: u32) -> io::Result<File> {
    write(dir, name, FILE_CREATE)
}

pub(super) fn open_to_write(dir: &File, name: &[u8]) -> io::Result<File> {
    let file = write(dir, name, FILE_OPEN)?;
    if is_reparse_point(&file)? {
        return Err(raw(ERROR_ACCESS_DENIED));
    }
    Ok(file)
}

fn write(dir: &File, name: &[u8], disposition: u32) -> io::Result<File> {
    let how = How {
        access: FILE_GENERIC_WRITE | FILE_READ_ATTRIBUTES,
        disposition,
        options: FILE_NON_DIRECTORY_FILE,
        follows: false,
    };
    nt::open_at(dir, &wide(name), &how)
}

/// Makes a symlink by its path: no call takes a directory. The path is the open directory's, and a
/// symlink overwrites nothing.
pub(super) fn make_symlink(
    dir: &File,
    name: &[u8],
    text: &[u8],
    leads_to_dir: bool,
) -> io::Result<()> {
    if status(dir, name).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let (path, target) = (path_of(dir, name)?, target(text));
    let made = if leads_to_dir {
        std::os::windows::fs::symlink_dir(target, path)
    } else {
        std::os::windows::fs::symlink_file(target, path)
    };
    match made {
        Err(error)
            if [
                ERROR_PRIVILEGE_NOT_HELD,
                ERROR_INVALID_FUNCTION,
                ERROR_NOT_SUPPORTED,
            ]
            .iter()
            .any(|&number| nt::is(&error, number)) =>
        {
            Err(no_symlinks())
        }
        Ok(()) if status(dir, name).is_err() => Err(no_symlinks()),
        made => made,
    }
}

fn no_symlinks() -> io::Error {
    let what = "symlinks need administrator rights or the developer mode of Windows";
    io::Error::new(io::ErrorKind::Unsupported, what)
}

/// Returns the target of a symlink as Windows has it.
fn target(text: &[u8]) -> PathBuf {
    let parts = text.split(|&byte| byte == b'/').map(|part| match part {
        b"." | b".." => part.iter().map(|&byte| u16::from(byte)).collect(),
        part => wide(part),
    });
    let wide = parts.collect::<Vec<Vec<u16>>>().join(&0x5C);
    let text: std::ffi::OsString = std::os::windows::ffi::OsStringExt::from_wide(&wide);
    text.into()
}

fn path_of(dir: &File, name: &[u8]) -> io::Result<PathBuf> {
    let name: std::ffi::OsString = std::os::windows::ffi::OsStringExt::from_wide(&wide(name));
    Ok(nt::final_path(dir)?.join(name))
}

pub(super) fn make_special(
    _dir: &File,
    _name: &[u8],
    _kind: FileType,
    _mode: u32,
    _rdev: Rdev,
) -> io::Result<()> {
    let what = "Windows has no such files";
    Err(io::Error::new(io::ErrorKind::Unsupported, what))
}

pub(super) fn link(from: &File, old: &[u8], to: &File, new: &[u8]) -> io::Result<()> {
    let how = How {
        access: FILE_WRITE_ATTRIBUTES,
        ..OpenFor::Look.how()
    };
    let file = nt::open_at(from, &wide(old), &how)?;
    nt::link(&file, to, &wide(new))
}

pub(super) fn move_over(dir: &File, from: &[u8], to_dir: &File, to: &[u8]) -> io::Result<()> {
    let how = How {
        access: DELETE,
        ..OpenFor::Look.how()
    };
    let file = nt::open_at(dir, &wide(from), &how)?;
    match nt::rename(&file, to_dir, &wide(to), true) {
        // a file that may only be read is not replaced
        Err(error) if nt::is(&error, ERROR_ACCESS_DENIED) => {
            remove(to_dir, to)?;
            nt::rename(&file, to_dir, &wide(to), false)
        }
        done => done,
    }
}

pub(super) fn move_new(dir: &File, from: &[u8], to_dir: &File, to: &[u8]) -> io::Result<()> {
    let how = How {
        access: DELETE,
        ..OpenFor::Look.how()
    };
    let file = nt::open_at(dir, &wide(from), &how)?;
    nt::rename(&file, to_dir, &wide(to), false)
}

pub(super) fn remove(dir: &File, name: &[u8]) -> io::Result<()> {
    let how = How {
        access: DELETE | FILE_READ_ATTRIBUTES | FILE_WRITE_ATTRIBUTES,
        ..OpenFor::Look.how()
    };
    let file = nt::open_at(dir, &wide(name), &how)?;
    if status_of(&file)?.kind == Some(FileType::Directory) {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    set_open_mode(&file, 0o600)?;
    nt::delete(&file)
}

pub(super) fn remove_dir(dir: &File, name: &[u8]) -> io::Result<()> {
    let how = How {
        access: DELETE | FILE_READ_ATTRIBUTES,
        ..OpenFor::Walk.how()
    };
    let file = nt::open_at(dir, &wide(name), &how)?;
    if is_reparse_point(&file)? {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    nt::delete(&file)
}

pub(super) fn set_owner(_dir: &File, _name: &[u8], _uid: u32, _gid: u32) -> io::Result<()> {
    Ok(())
}

pub(super) fn set_looked_mode(file: &File, mode: u32) -> io::Result<()> {
    set_open_mode(file, mode)
}

pub(super) fn set_times(dir: &File, name: &[u8], times: &Times) -> io::Result<()> {
    set_open_times(&attributes(dir, name)?, times)
}

/// Opens a name to change its attributes.
fn attributes(dir: &File, name: &[u8]) -> io::Result<File> {
    let how = How {
        access: FILE_READ_ATTRIBUTES | FILE_WRITE_ATTRIBUTES,
        ..OpenFor::Look.how()
    };
    nt::open_at(dir, &wide(name), &how)
}

pub(super) fn set_open_owner(_file: &File, _uid: u32, _gid: u32) -> io::Result<()> {
    Ok(())
}

/// Sets whether a file may be written; for a directory that attribute means something else.
pub(super) fn set_open_mode(file: &File, mode: u32) -> io::Result<()> {
    let found = file.metadata()?;
    let (mut permissions, readonly) = (found.permissions(), mode & 0o200 == 0);
    if found.is_dir() || permissions.readonly() == readonly {
        return Ok(());
    }
    permissions.set_readonly(readonly);
    file.set_permissions(permissions)
}

pub(super) fn set_open_times(file: &File, times: &Times) -> io::Result<()> {
    let time = |time: Time| {
        let secs = Duration::from_secs(time.secs.unsigned_abs());
        let whole = match time.secs {
            0.. => SystemTime::UNIX_EPOCH.checked_add(secs),
            _ => SystemTime::UNIX_EPOCH.checked_sub(secs),
        };
        let nanos = Duration::from_nanos(time.nanos.min(999_999_999).into());
        let what = "a time that Windows does not have";
        let unknown = || io::Error::new(io::ErrorKind::InvalidInput, what);
        whole
            .and_then(|time| time.checked_add(nanos))
            .ok_or_else(unknown)
    };
    let set = FileTimes::new().set_modified(time(times.modified)?);
    file.set_times(set.set_accessed(time(times.accessed)?))
}
