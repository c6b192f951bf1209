//! A FUSE mount that is nowhere in the tree: only who holds its descriptor, or has a file of it open,
//! keeps it.
//!
//! In: names for what shows them. Out: the FUSE device and the mount. **Invariant:** when the descriptor is
//! closed and no file is open, the kernel ends the mount: there is nothing to clean up, whoever dies.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen,
};
use sinterfs_model::{Error, Result};

use crate::attach::open_device;
use crate::options::MountOptions;

/// Opens a FUSE device and mounts it nowhere; tells both.
pub(crate) fn mount(options: &MountOptions) -> Result<(OwnedFd, OwnedFd)> {
    let device = open_device()?;
    let tree = make(&device, options).map_err(|errno| {
        let what = match errno {
            Errno::NODEV => "the kernel has no FUSE: load the module fuse",
            Errno::PERM | Errno::ACCESS => "only root can mount through the kernel",
            Errno::NOSYS => "the kernel is too old to mount FUSE out of sight",
            _ => "can't mount FUSE out of sight",
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
