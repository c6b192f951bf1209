//! Options for opening an image.

use std::ffi::{OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;

use sinterfs::errno::Errno;
use sinterfs::image::OpenOptions;

use crate::boundary::{bytes, close, exclusive, guarded, handle};
use crate::failure::{Failure, Outcome};

/// Options for opening an image; made by `sinterfs_options_new`.
#[derive(Debug, Default)]
pub struct SinterfsOptions(pub(crate) OpenOptions);

/// Makes options with the default of everything; NULL if that fails. They are closed by
/// `sinterfs_options_free`.
#[unsafe(no_mangle)]
pub extern "C" fn sinterfs_options_new() -> *mut SinterfsOptions {
    guarded(std::ptr::null_mut(), || {
        Ok(handle(SinterfsOptions::default()))
    })
}

/// Frees options; `options` may be NULL. Images that were opened with them stay open.
///
/// # Safety
/// `options` is NULL or from `sinterfs_options_new`, and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_options_free(options: *mut SinterfsOptions) {
    // SAFETY: as the caller promises
    unsafe { close(options) };
}

/// Sets where in its file the image starts; without it, that is found.
///
/// # Safety
/// `options` is from `sinterfs_options_new`, and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_options_set_offset(
    options: *mut SinterfsOptions,
    offset: u64,
) -> c_int {
    // SAFETY: as the caller promises
    unsafe { change(options, |options| options.offset = Some(offset)) }
}

/// Sets how many bytes the decoded blocks that an image keeps may take; 512 MiB without it.
///
/// # Safety
/// `options` is from `sinterfs_options_new`, and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_options_set_cache_bytes(
    options: *mut SinterfsOptions,
    bytes: u64,
) -> c_int {
    // SAFETY: as the caller promises
    unsafe { change(options, |options| options.cache_bytes = bytes) }
}

/// Adds the file of a further device of the image (EROFS, WIM), in their order. Opening an image of
/// another format fails with EINVAL then.
///
/// # Safety
/// `options` is from `sinterfs_options_new`, and was not freed; `path` ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_options_add_device(
    options: *mut SinterfsOptions,
    path: *const c_char,
) -> c_int {
    guarded(-1, || {
        // SAFETY: as the caller promises
        let (options, path) = unsafe { (exclusive(options, "options")?, bytes(path, "path")?) };
        options.0.devices.push(OsStr::from_bytes(path).into());
        Ok(0)
    })
}

/// Sets the directory of the objects of a composefs image. Opening an image of another format than
/// EROFS fails with EINVAL then.
///
/// # Safety
/// `options` is from `sinterfs_options_new`, and was not freed; `path` ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_options_set_objects(
    options: *mut SinterfsOptions,
    path: *const c_char,
) -> c_int {
    guarded(-1, || {
        // SAFETY: as the caller promises
        let (options, path) = unsafe { (exclusive(options, "options")?, bytes(path, "path")?) };
        options.0.objects = Some(OsStr::from_bytes(path).into());
        Ok(0)
    })
}

/// Sets which image of a WIM file is opened, by its number (as text) or its name; without it,
/// all of them are, as directories named by their numbers. Opening fails with ENOENT if the file
/// has no such image, and with EINVAL if it is one of another format.
///
/// # Safety
/// `options` is from `sinterfs_options_new`, and was not freed; `image` ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_options_set_image(
    options: *mut SinterfsOptions,
    image: *const c_char,
) -> c_int {
    guarded(-1, || {
        // SAFETY: as the caller promises
        let (options, image) = unsafe { (exclusive(options, "options")?, bytes(image, "image")?) };
        let name = str::from_utf8(image)
            .map_err(|_| Failure::new(Errno::INVAL, "the name of an image is UTF-8"))?;
        options.0.image = Some(name.to_owned());
        Ok(0)
    })
}

/// Sets which partition of a disk image (GPT or MBR) is opened, by its number; without it, the only
/// one that holds an image of a known format. An offset is then one in the partition. Opening fails
/// with ENOENT if the disk has no such partition, and with EINVAL if the file has no partition
/// table.
///
/// # Safety
/// `options` is from `sinterfs_options_new`, and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_options_set_partition(
    options: *mut SinterfsOptions,
    number: u32,
) -> c_int {
    // SAFETY: as the caller promises
    unsafe { change(options, |options| options.partition = Some(number)) }
}

/// # Safety
/// `options` is null or from `sinterfs_options_new`, and was not freed.
unsafe fn change(options: *mut SinterfsOptions, set: impl FnOnce(&mut OpenOptions)) -> c_int {
    guarded(-1, || -> Outcome<c_int> {
        // SAFETY: as the caller promises
        set(&mut unsafe { exclusive(options, "options") }?.0);
        Ok(0)
    })
}
