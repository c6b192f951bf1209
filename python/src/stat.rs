//! The metadata of an inode as a tuple, in the order that `os.stat_result` is made of.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use sinterfs::image::{Metadata, Time};

/// Mode, inode number, number of names, owner, group, size, bytes not in holes, device number;
/// times of access, of change of content and of change of the inode in nanoseconds.
pub type StatTuple = (u32, u64, u32, u32, u32, u64, u64, u64, (i128, i128, i128));

/// Returns the tuple of metadata.
pub fn stat_tuple(metadata: &Metadata) -> StatTuple {
    let times = metadata.times();
    (
        metadata.mode(),
        metadata.ino(),
        metadata.nlink(),
        metadata.uid(),
        metadata.gid(),
        metadata.len(),
        metadata.allocated(),
        metadata.rdev().to_dev_t(),
        (
            nanoseconds(times.accessed),
            nanoseconds(times.modified),
            nanoseconds(times.changed),
        ),
    )
}

fn nanoseconds(time: Time) -> i128 {
    i128::from(time.secs) * 1_000_000_000 + i128::from(time.nanos)
}

/// Returns bytes of a path as the system's string, which Python decodes as `os.fsdecode` does.
pub fn path_text(bytes: &[u8]) -> OsString {
    OsStr::from_bytes(bytes).to_owned()
}
