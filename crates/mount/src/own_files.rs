//! A table of open files for one thread.
//!
//! A process that reads a file which it serves itself must not be killed with the read under way:
//! the kernel waits for the answer, and the descriptors of `/dev/fuse`, whose closing would end the
//! wait, are in the table that the waiting thread shares. In: a file of the process. Out: the same
//! file in a table without any other. **Invariant:** nothing else holds a descriptor of the new
//! table, so all others can be closed; the old table is not touched.

#![allow(
    unsafe_code,
    reason = "rustix marks unshare(2) and closing by number as unsafe because descriptors that \
              others own could be meant; a table that was just copied has no owners"
)]

use std::fs::{File, read_dir};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};

use rustix::thread::UnshareFlags;

/// Replaces the calling thread's table of open files by one with a single file of the process.
pub(crate) fn keep_only(file: RawFd) -> io::Result<File> {
    // SAFETY: the thread has no objects that own descriptors but those that are made here
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FILES)? };
    // SAFETY: the copy of the descriptor in the new table belongs to nobody
    let file = unsafe { File::from_raw_fd(file) };
    let names = read_dir("/proc/thread-self/fd")?.map_while(Result::ok);
    let numbers = names.filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
    for number in numbers.collect::<Vec<_>>() {
        if number != file.as_raw_fd() {
            // SAFETY: as above; the listing's own descriptor is closed already, so close(2) fails
            unsafe { rustix::io::close(number) };
        }
    }
    Ok(file)
}
