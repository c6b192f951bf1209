//! Mounts the kernel's EROFS on a computed file under the path of the image, so that the path is
//! the source which `findmnt`, `df` and `mount` show, and by which `mount -a` recognizes it.
//!
//! Enters the detached FUSE mount with the computed file; leaves a detached EROFS mount.
//! **Invariant:** nobody else ever sees the computed file at that path: the FUSE mount covers the
//! directory of the image only in a mount namespace that one thread of this process has for itself,
//! and that ends with the thread.
//!
//! Source: mount_namespaces(7), `fsopen`, `fsmount` and `move_mount` of mount_setattr(2).

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen, move_mount,
};

use crate::namespace::separate;
use crate::options::MountOptions;

/// Returns the name that the computed file needs for [`mount_at_image_path`].
pub(crate) fn file_name(options: &MountOptions) -> Option<&[u8]> {
    let image = options.image.as_deref()?;
    image.file_name().map(OsStr::as_bytes)
}

/// Mounts EROFS on the file in `tree` that has the image's name, detached from the tree of
/// directories. Fails if the options name no image, and as fsconfig(2) does.
pub(crate) fn mount_at_image_path(
    tree: &OwnedFd,
    options: &MountOptions,
) -> rustix::io::Result<OwnedFd> {
    let image = options.image.as_deref().ok_or(Errno::INVAL)?;
    let parent = image.parent().filter(|parent| parent.parent().is_some());
    // a mount on `/` would not change what absolute paths mean
    let parent = parent.ok_or(Errno::INVAL)?;
    std::thread::scope(|scope| {
        let work = || {
            cover(tree, parent)?;
            match erofs(image, true, options) {
                // an older kernel, which caches content twice
                Err(Errno::INVAL) => erofs(image, false, options),
                other => other,
            }
        };
        let thread = std::thread::Builder::new().name("namespace".into());
        let thread = thread.spawn_scoped(scope, work);
        let thread =
            thread.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))?;
        thread.join().unwrap_or(Err(Errno::IO))
    })
}

/// Mounts `tree` on a directory in a mount namespace that only this thread has.
fn cover(tree: &OwnedFd, dir: &Path) -> rustix::io::Result<()> {
    separate()?;
    move_mount(tree, "", CWD, dir, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

fn erofs(image: &Path, direct: bool, options: &MountOptions) -> rustix::io::Result<OwnedFd> {
    let context = fsopen("erofs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&context, "source", image)?;
    fsconfig_set_flag(&context, "ro")?;
    if direct {
        fsconfig_set_flag(&context, "directio")?;
    }
    for (name, value) in &options.labels {
        fsconfig_set_string(&context, name, value)?;
    }
    fsconfig_create(&context)?;
    fsmount(
        &context,
        FsMountFlags::FSMOUNT_CLOEXEC,
        mount_attributes(options),
    )
}

/// Returns the flags for what the options do not allow.
pub(crate) fn mount_attributes(options: &MountOptions) -> MountAttrFlags {
    let mut flags = MountAttrFlags::MOUNT_ATTR_RDONLY;
    flags.set(MountAttrFlags::MOUNT_ATTR_NODEV, !options.dev);
    flags.set(MountAttrFlags::MOUNT_ATTR_NOSUID, !options.suid);
    flags.set(MountAttrFlags::MOUNT_ATTR_NOEXEC, !options.exec);
    flags
}
