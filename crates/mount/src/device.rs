//! The FUSE device.
//!
//! **Invariant:** a descriptor of the device is closed when a program is started.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use sinterfs_model::{Error, Result};

const DEVICE: &str = "/dev/fuse";

/// Opens the FUSE device.
pub(crate) fn open_device() -> Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    rustix::fs::open(DEVICE, flags, Mode::empty()).map_err(|errno| {
        let what = match errno {
            Errno::NOENT | Errno::NODEV | Errno::NXIO => {
                "FUSE is missing: load the module fuse, or give the container the device"
            }
            _ => "cannot open the FUSE device",
        };
        Error::io(what, errno).path(DEVICE)
    })
}

/// Returns whether this process may open the FUSE device itself.
pub(crate) fn device_can_be_opened() -> bool {
    open_device().is_ok()
}
