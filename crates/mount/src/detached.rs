//! A FUSE mount that is detached from the tree: its descriptor and its open files keep it alive.
//!
//! Enters options; leaves the FUSE device and the mount. **Invariant:** when the descriptor and all
//! files are closed, the kernel ends the mount, so nothing is left if a process ends.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen,
};
use sinterfs_model::{Error, Result};

use crate::device::open_device;
use crate::options::MountOptions;

/// Opens a FUSE device and mounts it detached from the tree; returns both.
pub(crate) fn mount(options: &MountOptions) -> Result<(OwnedFd, OwnedFd)> {
    let device = open_device()?;
    let tree = make(&device, options).map_err(|errno| {
        let what = match errno {
            Errno::NODEV => "the kernel has no FUSE: load the module fuse",
            Errno::PERM | Errno::ACCESS => "only root can mount through the kernel",
            Errno::NOSYS => "the kernel is too old for a detached FUSE mount",
            _ => "cannot make a detached FUSE mount",
        };
        Error::io(what, errno)
    })?;
    Ok((device, tree))
}

fn make(device: &OwnedFd, options: &MountOptions) -> rustix::io::Result<OwnedFd> {
    let context = fsopen("fuse", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let set = |key: &str, value: &str| fsconfig_set_string(&context, key, value);
    set("source", "sinter")?;
    set("subtype", &options.subtype)?;
    set("fd", &device.as_raw_fd().to_string())?;
    set("rootmode", "40000")?;
    set("user_id", &rustix::process::getuid().as_raw().to_string())?;
    set("group_id", &rustix::process::getgid().as_raw().to_string())?;
    fsconfig_set_flag(&context, "ro")?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}
