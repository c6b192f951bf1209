//! The last failure of each thread: an `errno` and a message.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};

use sinterfs::errno::Errno;

/// Why a call failed.
#[derive(Debug)]
pub struct Failure {
    errno: Errno,
    message: String,
}

/// The result of the work of a function.
pub type Outcome<T> = Result<T, Failure>;

impl Failure {
    /// Makes a failure.
    pub fn new(errno: Errno, message: impl Into<String>) -> Self {
        Self {
            errno,
            message: message.into(),
        }
    }
}

impl From<sinterfs::Error> for Failure {
    fn from(error: sinterfs::Error) -> Self {
        Self::new(sinterfs::errno::errno(&error), error.to_string())
    }
}

thread_local! {
    static LAST: RefCell<(c_int, CString)> = RefCell::default();
}

/// Keeps a failure for the thread.
pub fn keep(failure: &Failure) {
    // a message has no NUL, but a name in it may
    let message = failure.message.replace('\0', "\\0");
    let message = CString::new(message).unwrap_or_default();
    // while a thread ends, a destructor may call when the value is gone
    let _ = LAST.try_with(|last| *last.borrow_mut() = (failure.errno.raw_os_error(), message));
}

/// Returns the errno of the last failure of a function in this thread; 0 if none failed.
///
/// EIO means that the image is damaged or could not be read, ENOENT that a path does not exist,
/// ENOTDIR that it leads through what is no directory, EOPNOTSUPP that the file is no image of a
/// known format or has something unsupported, EOVERFLOW that a limit would be exceeded, EINVAL that
/// an argument is invalid. A function that succeeds does not change it.
#[unsafe(no_mangle)]
pub extern "C" fn sinterfs_last_errno() -> c_int {
    // a destructor that runs while the thread ends may ask when the value is gone
    LAST.try_with(|last| last.borrow().0).unwrap_or_default()
}

/// Returns the message of the last failure of a function in this thread, with the place of damage
/// in the image; empty if none failed.
///
/// It is valid until the next function of this library fails in this thread.
#[unsafe(no_mangle)]
pub extern "C" fn sinterfs_last_message() -> *const c_char {
    LAST.try_with(|last| last.borrow().1.as_ptr())
        .unwrap_or(c"".as_ptr())
}
