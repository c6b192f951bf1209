//! Images: opening, attributes by path, targets of symlinks, closing.

use std::ffi::{CString, c_char, c_int};
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinterfs::Image;
use sinterfs::errno::Errno;
use sinterfs::image::{FileSource, Metadata};

use crate::attributes::SinterfsAttributes;
use crate::boundary::{close, copied, guarded, handle, path as path_of, put, shared};
use crate::failure::{Failure, Outcome};
use crate::options::SinterfsOptions;

/// An opened image; it may be used by many threads at once.
#[derive(Debug)]
pub struct SinterfsImage {
    pub(crate) image: Image,
    /// The path by which it was opened.
    pub(crate) path: Option<PathBuf>,
    format: CString,
}

impl SinterfsImage {
    fn new(image: Image, path: Option<&Path>) -> Outcome<*mut Self> {
        let format = CString::new(image.format()).unwrap_or_default();
        let path = path.map(Path::to_owned);
        Ok(handle(Self {
            image,
            path,
            format,
        }))
    }
}

/// Returns the version of the library, as in "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn sinterfs_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Opens an image file of any format. `options` may be NULL. Returns NULL on failure.
///
/// # Safety
/// `path` ends with NUL; `options` is NULL or from `sinterfs_options_new`, and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_open(
    path: *const c_char,
    options: *const SinterfsOptions,
) -> *mut SinterfsImage {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: as the caller promises
        let (path, options) = unsafe { (path_of(path)?, options.as_ref()) };
        let options = options.map(|options| options.0.clone()).unwrap_or_default();
        SinterfsImage::new(sinterfs::open_with(path, &options)?, Some(path))
    })
}

/// Opens an image by a descriptor of its file, which is duplicated and can be closed afterwards.
/// `options` may be NULL. Returns NULL on failure.
///
/// # Safety
/// `fd` is open, or -1; `options` is NULL or from `sinterfs_options_new`, and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_open_fd(
    fd: c_int,
    options: *const SinterfsOptions,
) -> *mut SinterfsImage {
    guarded(std::ptr::null_mut(), || {
        if fd < 0 {
            return Err(Failure::new(Errno::BADF, "a negative descriptor"));
        }
        // SAFETY: as the caller promises
        let (fd, options) = unsafe { (BorrowedFd::borrow_raw(fd), options.as_ref()) };
        let options = options.map(|options| options.0.clone()).unwrap_or_default();
        let file = fd.try_clone_to_owned().map_err(|error| {
            let error = sinterfs::Error::io("cannot duplicate the descriptor", error);
            Failure::from(error)
        })?;
        let source = FileSource::from_file(File::from(file), "image")?;
        SinterfsImage::new(sinterfs::open_source(Arc::new(source), &options)?, None)
    })
}

/// Closes an image; `image` may be NULL.
///
/// # Safety
/// `image` is NULL or from `sinterfs_open` or `sinterfs_open_fd`, was not closed, and no other call
/// uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_close(image: *mut SinterfsImage) {
    // SAFETY: as the caller promises
    unsafe { close(image) };
}

/// Returns the name of the image's format, as in "dwarfs"; it is valid until the image is closed.
///
/// # Safety
/// `image` is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_format(image: *const SinterfsImage) -> *const c_char {
    guarded(std::ptr::null(), || {
        // SAFETY: as the caller promises
        Ok(unsafe { shared(image, "image") }?.format.as_ptr())
    })
}

/// Gets the attributes of a path; symlinks are followed, inside the image only. Returns 0 or -1.
///
/// # Safety
/// `image` is open; `path` ends with NUL; `attributes` is valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_stat(
    image: *const SinterfsImage,
    path: *const c_char,
    attributes: *mut SinterfsAttributes,
) -> c_int {
    // SAFETY: as the caller promises
    unsafe { attributes_of(image, path, attributes, |image, path| image.metadata(path)) }
}

/// Gets the attributes of a path without following a final symlink. Returns 0 or -1.
///
/// # Safety
/// `image` is open; `path` ends with NUL; `attributes` is valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_lstat(
    image: *const SinterfsImage,
    path: *const c_char,
    attributes: *mut SinterfsAttributes,
) -> c_int {
    // SAFETY: as the caller promises
    unsafe {
        attributes_of(image, path, attributes, |image, path| {
            image.symlink_metadata(path)
        })
    }
}

/// Copies the target of a symlink, without a NUL, and returns its length; with a size of 0 the
/// length alone. Returns -1 on failure, with ERANGE if it does not fit.
///
/// # Safety
/// `image` is open; `path` ends with NUL; `buffer` is valid for writing `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_readlink(
    image: *const SinterfsImage,
    path: *const c_char,
    buffer: *mut c_char,
    size: usize,
) -> i64 {
    guarded(-1, || {
        // SAFETY: as the caller promises
        let (image, path) = unsafe { (shared(image, "image")?, path_of(path)?) };
        let target = image.image.read_link(path)?;
        // SAFETY: as the caller promises
        unsafe { copied(target.as_os_str().as_bytes(), buffer.cast(), size) }
    })
}

/// Writes the attributes that `get` returns for a path. Returns 0 or -1.
///
/// # Safety
/// As `sinterfs_stat`.
unsafe fn attributes_of(
    image: *const SinterfsImage,
    path: *const c_char,
    attributes: *mut SinterfsAttributes,
    get: impl FnOnce(&Image, &Path) -> sinterfs::Result<Metadata>,
) -> c_int {
    guarded(-1, || {
        // SAFETY: as the caller promises
        let (image, path) = unsafe { (shared(image, "image")?, path_of(path)?) };
        let metadata = get(&image.image, path)?;
        // SAFETY: as the caller promises
        unsafe { answer(attributes, &metadata) }
    })
}

/// Writes attributes for the caller.
///
/// # Safety
/// `to` is null or valid for writing.
pub(crate) unsafe fn answer(to: *mut SinterfsAttributes, metadata: &Metadata) -> Outcome<c_int> {
    // SAFETY: as the caller promises
    unsafe { put(to, SinterfsAttributes::new(metadata), "attributes") }.map(|()| 0)
}
