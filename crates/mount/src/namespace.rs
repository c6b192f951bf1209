//! A mount namespace for one thread.
//!
//! **Invariant:** what the thread mounts afterwards is seen by nobody else, and is gone, as far as
//! nothing else holds it, when the thread ends.
//!
//! Source: mount_namespaces(7).

#![allow(
    unsafe_code,
    reason = "rustix marks unshare(2) as unsafe because it can give a thread a table of files of \
              its own; only the mount namespace is unshared here"
)]

use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::UnshareFlags;

/// Makes a mount namespace for this thread, from which nothing is passed on to others.
pub(crate) fn separate() -> rustix::io::Result<()> {
    // SAFETY: the table of files stays shared; only what paths mean changes, for this thread
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS | UnshareFlags::FS)? };
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private)
}
