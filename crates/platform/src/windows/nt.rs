//! System calls of Windows that take an open directory and a name, which Win32 has not.
//!
//! In: handles and names. Out: handles, and what is known of them. **Invariant:** a name is one
//! component, resolved only in its directory; a symlink or junction is opened itself
//! (`FILE_OPEN_REPARSE_POINT`). All `unsafe` of the crate is here: each call passes pointers to
//! locals that outlive it, with their lengths.

#![allow(unsafe_code, reason = "system calls: see the head of the file")]

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::mem::{offset_of, size_of, size_of_val};
use std::ops::ControlFlow;
use std::os::windows::ffi::OsStringExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle};
use std::path::PathBuf;
use std::ptr;

use windows_sys::Wdk::Foundation::OBJECT_ATTRIBUTES;
use windows_sys::Wdk::Storage::FileSystem::{
    FILE_OPEN_REPARSE_POINT, FILE_RENAME_INFORMATION, FILE_SYNCHRONOUS_IO_NONALERT,
    FileLinkInformation, FileRenameInformation, NtCreateFile, NtSetInformationFile,
};
use windows_sys::Win32::Foundation::{
    ERROR_NO_MORE_FILES, HANDLE, NTSTATUS, OBJ_CASE_INSENSITIVE, RtlNtStatusToDosError,
    UNICODE_STRING,
};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_ATTRIBUTE_NORMAL, FILE_ATTRIBUTE_TAG_INFO,
    FILE_DISPOSITION_INFO, FILE_ID_BOTH_DIR_INFO, FILE_SHARE_DELETE, FILE_SHARE_READ,
    FILE_SHARE_WRITE, FileAttributeTagInfo, FileDispositionInfo, FileIdBothDirectoryInfo,
    FileIdBothDirectoryRestartInfo, GetDiskFreeSpaceExW, GetFileInformationByHandle,
    GetFileInformationByHandleEx, GetFinalPathNameByHandleW, SYNCHRONIZE,
    SetFileInformationByHandle,
};
use windows_sys::Win32::System::IO::{DeviceIoControl, IO_STATUS_BLOCK};
use windows_sys::Win32::System::Ioctl::{FSCTL_GET_REPARSE_POINT, FSCTL_SET_SPARSE};

/// Bytes of directory entries that a call may return, in units of eight.
const LISTING: usize = (64 << 10) / 8;

/// The most bytes of a reparse point.
const REPARSE: usize = 16 << 10;

/// The way in which a name is opened.
pub(crate) struct How {
    /// The rights that the handle gets.
    pub(crate) access: u32,
    /// `FILE_OPEN` or `FILE_CREATE`.
    pub(crate) disposition: u32,
    /// Options in addition to the ones of every call.
    pub(crate) options: u32,
    /// Whether a reparse point is followed: of those that are no links.
    pub(crate) follows: bool,
}

/// Opens or makes a name in a directory.
pub(crate) fn open_at(dir: &File, name: &[u16], how: &How) -> io::Result<File> {
    let string = unicode_string(name)?;
    let attributes = OBJECT_ATTRIBUTES {
        Length: length::<OBJECT_ATTRIBUTES>(),
        RootDirectory: handle(dir),
        ObjectName: &raw const string,
        Attributes: OBJ_CASE_INSENSITIVE,
        SecurityDescriptor: ptr::null(),
        SecurityQualityOfService: ptr::null(),
    };
    let mut options = how.options | FILE_SYNCHRONOUS_IO_NONALERT;
    if !how.follows {
        options |= FILE_OPEN_REPARSE_POINT;
    }
    let (mut opened, mut status): (HANDLE, _) = (ptr::null_mut(), IO_STATUS_BLOCK::default());
    let done = unsafe {
        NtCreateFile(
            &raw mut opened,
            how.access | SYNCHRONIZE,
            &raw const attributes,
            &raw mut status,
            ptr::null(),
            FILE_ATTRIBUTE_NORMAL,
            FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
            how.disposition,
            options,
            ptr::null(),
            0,
        )
    };
    succeeded(done)?;
    Ok(unsafe { File::from_raw_handle(opened) })
}

/// Returns the system's information about an open file.
pub(crate) fn information(file: &File) -> io::Result<BY_HANDLE_FILE_INFORMATION> {
    let mut found = BY_HANDLE_FILE_INFORMATION::default();
    is_true(unsafe { GetFileInformationByHandle(handle(file), &raw mut found) })?;
    Ok(found)
}

/// Returns the tag of a reparse point; 0 for a plain file.
pub(crate) fn reparse_tag(file: &File) -> io::Result<u32> {
    let mut found = FILE_ATTRIBUTE_TAG_INFO::default();
    is_true(unsafe {
        GetFileInformationByHandleEx(
            handle(file),
            FileAttributeTagInfo,
            (&raw mut found).cast(),
            length::<FILE_ATTRIBUTE_TAG_INFO>(),
        )
    })?;
    Ok(found.ReparseTag)
}

/// Returns the data of a reparse point.
pub(crate) fn reparse_data(file: &File) -> io::Result<Vec<u8>> {
    let (mut data, mut len) = (vec![0_u8; REPARSE], 0_u32);
    is_true(unsafe {
        DeviceIoControl(
            handle(file),
            FSCTL_GET_REPARSE_POINT,
            ptr::null(),
            0,
            data.as_mut_ptr().cast(),
            u32::try_from(data.len()).unwrap_or(0),
            &raw mut len,
            ptr::null_mut(),
        )
    })?;
    data.truncate(usize::try_from(len).unwrap_or(0));
    Ok(data)
}

/// Lets holes of a file take no room.
pub(crate) fn make_sparse(file: &File) -> io::Result<()> {
    let mut len = 0_u32;
    is_true(unsafe {
        DeviceIoControl(
            handle(file),
            FSCTL_SET_SPARSE,
            ptr::null(),
            0,
            ptr::null_mut(),
            0,
            &raw mut len,
            ptr::null_mut(),
        )
    })
}

/// Removes an open file as soon as it is closed.
pub(crate) fn delete(file: &File) -> io::Result<()> {
    let disposition = FILE_DISPOSITION_INFO { DeleteFile: true };
    is_true(unsafe {
        SetFileInformationByHandle(
            handle(file),
            FileDispositionInfo,
            (&raw const disposition).cast(),
            length::<FILE_DISPOSITION_INFO>(),
        )
    })
}

/// Renames an open file, to a name in a directory.
pub(crate) fn rename(file: &File, dir: &File, name: &[u16], replace: bool) -> io::Result<()> {
    set_name(file, dir, name, replace, FileRenameInformation)
}

/// Links an open file under one more name in a directory.
pub(crate) fn link(file: &File, dir: &File, name: &[u16]) -> io::Result<()> {
    set_name(file, dir, name, false, FileLinkInformation)
}

/// Passes a name to the system: links and renames take the same structure.
fn set_name(file: &File, dir: &File, name: &[u16], replace: bool, class: i32) -> io::Result<()> {
    let start = offset_of!(FILE_RENAME_INFORMATION, FileName);
    let bytes = size_of_val(name);
    // units of eight bytes are aligned as the structure is
    let mut buffer = vec![
        0_u64;
        (start + bytes)
            .max(size_of::<FILE_RENAME_INFORMATION>())
            .div_ceil(8)
    ];
    let len = u32::try_from(size_of_val(&*buffer)).map_err(|_| too_long())?;
    let head: *mut FILE_RENAME_INFORMATION = buffer.as_mut_ptr().cast();
    let mut status = IO_STATUS_BLOCK::default();
    let done = unsafe {
        (*head).Anonymous.ReplaceIfExists = replace;
        (*head).RootDirectory = handle(dir);
        (*head).FileNameLength = u32::try_from(bytes).map_err(|_| too_long())?;
        let to: *mut u16 = head.cast::<u8>().add(start).cast();
        ptr::copy_nonoverlapping(name.as_ptr(), to, name.len());
        NtSetInformationFile(
            handle(file),
            &raw mut status,
            head.cast::<c_void>(),
            len,
            class,
        )
    };
    succeeded(done)
}

/// Passes the names in an open directory to `each` until that breaks.
pub(crate) fn list(dir: &File, each: &mut dyn FnMut(&[u16]) -> ControlFlow<()>) -> io::Result<()> {
    let mut buffer = vec![0_u64; LISTING];
    let len = u32::try_from(size_of_val(&*buffer)).map_err(|_| too_long())?;
    let mut class = FileIdBothDirectoryRestartInfo;
    loop {
        let done = unsafe {
            GetFileInformationByHandleEx(handle(dir), class, buffer.as_mut_ptr().cast(), len)
        };
        match is_true(done) {
            Err(error) if is(&error, ERROR_NO_MORE_FILES) => return Ok(()),
            done => done?,
        }
        class = FileIdBothDirectoryInfo;
        let bytes = unsafe { std::slice::from_raw_parts(buffer.as_ptr().cast(), len as usize) };
        if each_name(bytes, each).is_break() {
            return Ok(());
        }
    }
}

/// Passes the names in a buffer of `FILE_ID_BOTH_DIR_INFO` to `each`.
fn each_name(mut rest: &[u8], each: &mut dyn FnMut(&[u16]) -> ControlFlow<()>) -> ControlFlow<()> {
    loop {
        let number = |at: usize| {
            let bytes = rest.get(at..at + 4)?.try_into().ok()?;
            usize::try_from(u32::from_le_bytes(bytes)).ok()
        };
        let len = number(offset_of!(FILE_ID_BOTH_DIR_INFO, FileNameLength)).unwrap_or(0);
        let start = offset_of!(FILE_ID_BOTH_DIR_INFO, FileName);
        let name = rest.get(start..start + len).unwrap_or_default();
        let name: Vec<u16> = name
            .chunks_exact(2)
            .map(|pair| u16::from_le_bytes(pair.try_into().unwrap_or_default()))
            .collect();
        each(&name)?;
        match number(0) {
            Some(next) if next > 0 => rest = rest.get(next..).unwrap_or_default(),
            _ => return ControlFlow::Continue(()),
        }
    }
}

/// Returns a path of an open file, for the few calls that take no handle.
pub(crate) fn final_path(file: &File) -> io::Result<PathBuf> {
    let mut path = vec![0_u16; 32 << 10];
    let room = u32::try_from(path.len()).unwrap_or(0);
    let len = unsafe { GetFinalPathNameByHandleW(handle(file), path.as_mut_ptr(), room, 0) };
    if len == 0 || len > room {
        return Err(io::Error::last_os_error());
    }
    path.truncate(usize::try_from(len).unwrap_or(0));
    Ok(std::ffi::OsString::from_wide(&path).into())
}

/// Returns free and all bytes of the volume of a directory, whose path ends with NUL.
pub(crate) fn room(path: &[u16]) -> io::Result<(u64, u64)> {
    debug_assert_eq!(path.last(), Some(&0));
    let (mut free, mut all) = (0, 0);
    is_true(unsafe {
        GetDiskFreeSpaceExW(path.as_ptr(), &raw mut free, &raw mut all, ptr::null_mut())
    })?;
    Ok((free, all))
}

fn unicode_string(name: &[u16]) -> io::Result<UNICODE_STRING> {
    let len = u16::try_from(size_of_val(name)).map_err(|_| too_long())?;
    Ok(UNICODE_STRING {
        Length: len,
        MaximumLength: len,
        // the system does not write to it
        Buffer: name.as_ptr().cast_mut(),
    })
}

fn too_long() -> io::Error {
    io::ErrorKind::InvalidFilename.into()
}

fn length<T>() -> u32 {
    u32::try_from(size_of::<T>()).unwrap_or(0)
}

fn handle(file: &File) -> HANDLE {
    file.as_raw_handle().cast()
}

/// Returns whether an error has this number.
pub(crate) fn is(error: &io::Error, number: u32) -> bool {
    error.raw_os_error().and_then(|raw| u32::try_from(raw).ok()) == Some(number)
}

fn is_true(done: i32) -> io::Result<()> {
    if done == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn succeeded(status: NTSTATUS) -> io::Result<()> {
    if status >= 0 {
        return Ok(());
    }
    let number = unsafe { RtlNtStatusToDosError(status) };
    Err(io::Error::from_raw_os_error(number.cast_signed()))
}
