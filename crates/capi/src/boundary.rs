//! The handling of pointers and panics in every function.
//!
//! Enter pointers of a C program; leave references, or `EINVAL` for a null pointer.
//! **Invariant:** a panic becomes `EIO` with its message.

use std::any::Any;
use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use sinterfs::errno::Errno;

use crate::failure::{Failure, Outcome, keep};

/// Runs the work of a function; if it fails, keeps the failure and returns `failed`.
pub fn guarded<T>(failed: T, work: impl FnOnce() -> Outcome<T>) -> T {
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => return value,
        Ok(Err(failure)) => failure,
        Err(panic) => Failure::new(Errno::IO, format!("internal error: {}", text_of(&*panic))),
    };
    keep(&failure);
    failed
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// Moves a value to the heap and returns its handle.
pub fn handle<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Drops the value of a handle; a null pointer is allowed.
///
/// # Safety
/// `handle` is null or a result of [`handle`] that was not closed, and no other call uses it.
pub unsafe fn close<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: as the caller promises
        let value = unsafe { Box::from_raw(handle) };
        guarded((), || {
            drop(value);
            Ok(())
        });
    }
}

/// Returns what a pointer points to.
///
/// # Safety
/// `pointer` is null or valid for reading during `'a`, and nothing writes there meanwhile.
pub unsafe fn shared<'a, T>(pointer: *const T, what: &str) -> Outcome<&'a T> {
    // SAFETY: as the caller promises
    unsafe { pointer.as_ref() }.ok_or_else(|| null(what))
}

/// Returns what a pointer points to, for changes.
///
/// # Safety
/// `pointer` is null or valid for reading and writing during `'a`, and nothing else uses what is
/// there meanwhile.
pub unsafe fn exclusive<'a, T>(pointer: *mut T, what: &str) -> Outcome<&'a mut T> {
    // SAFETY: as the caller promises
    unsafe { pointer.as_mut() }.ok_or_else(|| null(what))
}

/// Writes a result.
///
/// # Safety
/// `to` is null or valid for writing a `T`.
pub unsafe fn put<T>(to: *mut T, value: T, what: &str) -> Outcome<()> {
    if to.is_null() {
        return Err(null(what));
    }
    // SAFETY: as the caller promises; what was there may be uninitialised and is not dropped
    unsafe { to.write(value) };
    Ok(())
}

/// Returns the bytes of a string of C.
///
/// # Safety
/// `text` is null or points to bytes that end with NUL and do not change during `'a`.
pub unsafe fn bytes<'a>(text: *const c_char, what: &str) -> Outcome<&'a [u8]> {
    if text.is_null() {
        return Err(null(what));
    }
    // SAFETY: as the caller promises
    Ok(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// Returns a path.
///
/// # Safety
/// As [`bytes`].
pub unsafe fn path<'a>(text: *const c_char) -> Outcome<&'a Path> {
    // SAFETY: as the caller promises
    let bytes = unsafe { bytes(text, "path") }?;
    Ok(Path::new(OsStr::from_bytes(bytes)))
}

/// Returns the first `used` bytes, at most all, of the buffer of a caller. They are filled with
/// zeros, since a slice has initialized bytes and memory that a program just allocated has none;
/// with a size of 0 the pointer may be null.
///
/// # Safety
/// `to` is valid for writing `size` bytes during `'a`, and nothing else uses them meanwhile.
pub unsafe fn buffer<'a>(to: *mut u8, size: usize, used: usize) -> Outcome<&'a mut [u8]> {
    let used = used.min(size);
    match (to.is_null(), size) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err(null("buffer")),
        _ if isize::try_from(size).is_err() => Err(Failure::new(
            Errno::INVAL,
            "more bytes than a buffer can have",
        )),
        // SAFETY: as the caller promises; it holds at most `isize::MAX` bytes
        _ => Ok(unsafe {
            std::ptr::write_bytes(to, 0, used);
            std::slice::from_raw_parts_mut(to, used)
        }),
    }
}

/// Copies a value of unknown length to a caller, like Linux' calls for extended attributes: a size
/// of 0 returns only the length.
///
/// # Safety
/// As [`buffer`].
pub unsafe fn copied(value: &[u8], to: *mut u8, size: usize) -> Outcome<i64> {
    if size > 0 {
        if to.is_null() {
            return Err(null("buffer"));
        }
        if value.len() > size {
            let what = format!("{} bytes do not fit into {size}", value.len());
            return Err(Failure::new(Errno::RANGE, what));
        }
        // SAFETY: as the caller promises; a value of ours is not in the caller's buffer
        unsafe { std::ptr::copy_nonoverlapping(value.as_ptr(), to, value.len()) };
    }
    i64::try_from(value.len()).map_err(|_| Failure::new(Errno::OVERFLOW, "a length"))
}

fn null(what: &str) -> Failure {
    Failure::new(Errno::INVAL, format!("the {what} is a null pointer"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{sinterfs_last_errno, sinterfs_last_message};

    #[test]
    fn a_panic_is_an_error() {
        let result = guarded(-1, || panic!("as {}", "expected"));
        assert_eq!(
            (result, sinterfs_last_errno()),
            (-1, Errno::IO.raw_os_error())
        );
        // SAFETY: the message is valid until the next failure of this thread
        let message = unsafe { CStr::from_ptr(sinterfs_last_message()) };
        assert_eq!(message, c"internal error: as expected");
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        let mut to = [9; 2];
        // SAFETY: the pointer and the size are those of an array
        let result = unsafe { copied(b"abc", to.as_mut_ptr(), to.len()) };
        assert!(result.is_err());
        assert_eq!(to, [9; 2]);
        // SAFETY: nothing is written for a size of 0
        let result = unsafe { copied(b"abc", std::ptr::null_mut(), 0) };
        assert_eq!(result.unwrap(), 3);
    }
}
