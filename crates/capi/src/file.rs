//! Files of an image, read at any position.

use std::ffi::{c_char, c_int};

use sinterfs::errno::Errno;
use sinterfs::image::File;

use crate::attributes::SinterfsAttributes;
use crate::boundary::{buffer as buffer_of, close, guarded, handle, path as path_of, shared};
use crate::failure::Failure;
use crate::image::{SinterfsImage, answer};

/// A regular file of an image; it may be used by many threads at once.
#[derive(Debug)]
pub struct SinterfsFile(File);

/// Images and files may be used by many threads: it would not compile otherwise.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<SinterfsImage>();
    is_shared::<SinterfsFile>();
};

/// Opens a regular file of an image; symlinks are followed, inside the image only. Returns NULL on
/// failure, with EISDIR for a directory and EINVAL for another type.
///
/// # Safety
/// `image` is open; `path` ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_open_file(
    image: *const SinterfsImage,
    path: *const c_char,
) -> *mut SinterfsFile {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: as the caller promises
        let (image, path) = unsafe { (shared(image, "image")?, path_of(path)?) };
        let file = image.image.file(path).map_err(|error| {
            let is_dir = image.image.metadata(path).is_ok_and(|found| found.is_dir());
            if is_dir {
                return Failure::new(Errno::ISDIR, format!("{}: is a directory", path.display()));
            }
            Failure::from(error)
        })?;
        Ok(handle(SinterfsFile(file)))
    })
}

/// Closes a file; `file` may be NULL.
///
/// # Safety
/// `file` is NULL or from `sinterfs_open_file`, was not closed, and no other call uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_close_file(file: *mut SinterfsFile) {
    // SAFETY: as the caller promises
    unsafe { close(file) };
}

/// Gets the attributes of an open file. Returns 0 or -1.
///
/// # Safety
/// `file` is open; `attributes` is valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_file_stat(
    file: *const SinterfsFile,
    attributes: *mut SinterfsAttributes,
) -> c_int {
    guarded(-1, || {
        // SAFETY: as the caller promises
        unsafe { answer(attributes, &shared(file, "file")?.0.metadata()) }
    })
}

/// Reads up to `size` bytes from an offset of a file on, and returns how many they are: fewer only
/// at the end of the file. Returns -1 on failure, with EIO for damage.
///
/// # Safety
/// `file` is open; `buffer` is valid for writing `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_read_at(
    file: *const SinterfsFile,
    offset: u64,
    buffer: *mut std::ffi::c_void,
    size: usize,
) -> i64 {
    guarded(-1, || {
        // SAFETY: as the caller promises
        let file = unsafe { shared(file, "file") }?;
        // the buffer past the end of the file is not changed
        let left = usize::try_from(file.0.len().saturating_sub(offset)).unwrap_or(usize::MAX);
        // SAFETY: as the caller promises
        let buffer = unsafe { buffer_of(buffer.cast(), size, left) }?;
        let count = file.0.read_at(offset, buffer)?;
        i64::try_from(count).map_err(|_| Failure::new(Errno::OVERFLOW, "a length"))
    })
}
