//! The FUSE device.
//!
//! **Invariant:** a descriptor of the device is closed when a program is started.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use sinterfs_model::{Error, Result};

const DEVICE: &str = "/dev/fuse";

/// Its major and minor number, which the kernel assigns.
const NUMBER: (u32, u32) = (10, 229);

/// Opens the FUSE device.
pub(crate) fn open_device() -> Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let device = rustix::fs::open(DEVICE, flags, Mode::empty()).map_err(|errno| {
        let what = match errno {
            Errno::NOENT | Errno::NODEV | Errno::NXIO => {
                "FUSE is missing: load the module fuse, or give the container the device"
            }
            _ => "cannot open the FUSE device",
        };
        Error::io(what, errno).path(DEVICE)
    })?;
    check_number(&device)?;
    Ok(device)
}

/// Fails if another device has the name of the FUSE device: mount(2) would say `EINVAL`.
fn check_number(device: &OwnedFd) -> Result<()> {
    let failed = |errno| Error::io("cannot examine the FUSE device", errno).path(DEVICE);
    let found = rustix::fs::fstat(device).map_err(failed)?.st_rdev;
    let (major, minor) = (rustix::fs::major(found), rustix::fs::minor(found));
    if (major, minor) == NUMBER {
        return Ok(());
    }
    let what =
        format!("this is not the FUSE device: expected device 10:229, found {major}:{minor}");
    Err(Error::unsupported(what).path(DEVICE))
}

/// Returns whether this process may open the FUSE device itself.
pub(crate) fn device_can_be_opened() -> bool {
    open_device().is_ok()
}
