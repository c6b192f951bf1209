//! Extended attributes of a path, as listxattr(2) and getxattr(2) give them.

use std::ffi::c_char;
use std::os::unix::ffi::OsStrExt;

use sinterfs::errno::Errno;

use crate::boundary::{bytes, copied, guarded, path as path_of, shared};
use crate::failure::Failure;
use crate::image::SinterfsImage;

/// Copies the full names of the extended attributes of a path, each terminated by NUL, sorted, and
/// returns how many bytes they are; with a size of 0 the count alone. A final symlink is not
/// followed. Returns -1 on failure, with ERANGE if they do not fit.
///
/// # Safety
/// `image` is open; `path` ends with NUL; `buffer` is valid for writing `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_listxattr(
    image: *const SinterfsImage,
    path: *const c_char,
    buffer: *mut c_char,
    size: usize,
) -> i64 {
    guarded(-1, || {
        // SAFETY: as the caller promises
        let (image, path) = unsafe { (shared(image, "image")?, path_of(path)?) };
        let mut names = Vec::new();
        for (name, _) in image.image.xattrs(path)? {
            names.extend_from_slice(name.as_bytes());
            names.push(0);
        }
        // SAFETY: as the caller promises
        unsafe { copied(&names, buffer.cast(), size) }
    })
}

/// Copies the value of an extended attribute of a path and returns its length; with a size of 0 the
/// length alone. A final symlink is not followed. Returns -1 on failure, with ENODATA if there is
/// no such attribute and ERANGE if it does not fit.
///
/// # Safety
/// `image` is open; `path` and `name` end with NUL; `buffer` is valid for writing `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_getxattr(
    image: *const SinterfsImage,
    path: *const c_char,
    name: *const c_char,
    buffer: *mut std::ffi::c_void,
    size: usize,
) -> i64 {
    guarded(-1, || {
        // SAFETY: as the caller promises
        let (image, path, name) = unsafe {
            (
                shared(image, "image")?,
                path_of(path)?,
                bytes(name, "name")?,
            )
        };
        let xattrs = image.image.xattrs(path)?;
        let found = xattrs.iter().find(|(of, _)| of.as_bytes() == name);
        let Some((_, value)) = found else {
            let what = format!("{}: no such attribute", path.display());
            return Err(Failure::new(Errno::NODATA, what));
        };
        // SAFETY: as the caller promises
        unsafe { copied(value, buffer.cast(), size) }
    })
}
