//! A file that Python has open, by its number.
//!
//! In: a descriptor. Out: another one of the same open file, which is ours. **Invariant:** the
//! caller's stays open, and nothing is opened anew, for which the process may lack permission.
#![allow(
    unsafe_code,
    reason = "only a number tells which descriptor of the caller's is meant"
)]

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;
use sinterfs::{Error, Result};

/// Duplicates a descriptor.
pub fn duplicate(descriptor: i32) -> Result<File> {
    if descriptor < 0 {
        return Err(Error::io("no descriptor", io::Error::from(Errno::BADF)));
    }
    // SAFETY: borrowed for one call, which fails if nothing is open by that number.
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let own = borrowed.try_clone_to_owned();
    Ok(own
        .map_err(|error| Error::io("cannot duplicate the descriptor", error))?
        .into())
}
