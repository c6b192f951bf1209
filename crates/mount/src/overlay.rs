//! Mounts an image of metadata and a directory of content as one tree, with EROFS and overlayfs; no
//! process serves it.
//!
//! Enters the image file and the directory; leaves a mount. **Invariant:** only overlayfs is in the
//! tree, and only it keeps the EROFS mount alive, so unmounting ends both, and a failure leaves
//! neither.
//!
//! Source: "Documentation/filesystems/overlayfs.rst" of Linux, "Data-only lower layers", "fs-verity
//! support".

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen, move_mount,
};
use sinterfs_model::{Error, Result};

use crate::attach::mount_point;
use crate::backing_name::backing_name;
use crate::image_path::mount_attributes;
use crate::loop_device::with_loop_device;
use crate::options::MountOptions;

/// The parts of a tree that overlayfs combines.
#[derive(Debug, Clone, Copy)]
pub struct OverlayLayers<'a> {
    /// An EROFS image whose files refer to content by extended attributes of overlayfs.
    pub metadata: &'a Path,
    /// The directory with the content.
    pub content: &'a Path,
    /// Whether content without the fs-verity digest in the image is an error.
    pub verity: bool,
}

/// Mounts layers on a directory.
///
/// Only the name and the `dev`, `suid` and `exec` options apply. `Io` if the kernel cannot mount
/// it; nothing is mounted then. Needs Linux 6.6.
pub fn mount_overlay(layers: &OverlayLayers<'_>, dir: &Path, options: &MountOptions) -> Result<()> {
    let point = mount_point(dir, &options.subtype)?;
    let content = rustix::fs::open(
        layers.content,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    );
    let content = content
        .map_err(|errno| Error::io("cannot open the directory", errno).path(layers.content))?;
    let metadata = erofs(layers.metadata)?;
    let tree = overlay(&metadata, &content, layers.verity, options)
        .map_err(|errno| Error::io("overlayfs cannot mount it", errno))?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(&tree, "", CWD, &point, flags)
        .map_err(|errno| Error::io("cannot mount there", errno).path(dir))
}

fn overlay(
    metadata: &OwnedFd,
    content: &OwnedFd,
    verity: bool,
    options: &MountOptions,
) -> rustix::io::Result<OwnedFd> {
    let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let set = |key: &str, value: &str| fsconfig_set_string(&context, key, value);
    let path = |fd: &OwnedFd| format!("/proc/self/fd/{}", fd.as_raw_fd());
    set("source", &backing_name(options))?;
    set("metacopy", "on")?;
    set("redirect_dir", "on")?;
    if verity {
        set("verity", "require")?;
    }
    // two colons: a data-only layer, which is never listed
    set(
        "lowerdir",
        &format!("{}::{}", path(metadata), path(content)),
    )?;
    fsconfig_create(&context)?;
    fsmount(
        &context,
        FsMountFlags::FSMOUNT_CLOEXEC,
        mount_attributes(options),
    )
}

/// Mounts EROFS on an image file, detached from the tree.
fn erofs(image: &Path) -> Result<OwnedFd> {
    let file =
        File::open(image).map_err(|error| Error::io("cannot open the image", error).path(image))?;
    let errno = match erofs_on(&format!("/proc/self/fd/{}", file.as_raw_fd()), false) {
        Ok(tree) => return Ok(tree),
        Err(errno) => errno,
    };
    if matches!(errno, Errno::NODEV | Errno::PERM | Errno::ACCESS) {
        return Err(Error::io("the kernel's EROFS cannot be used", errno));
    }
    let full = std::path::absolute(image).unwrap_or_else(|_| image.to_owned());
    with_loop_device(&full, &[], |device| {
        erofs_on(device, false)
            .map_err(|errno| Error::io("EROFS cannot mount it", errno).path(image))
    })
}

/// Mounts EROFS on a file or a device, detached from the tree; `direct` bypasses the page cache of
/// the file.
pub(crate) fn erofs_on(source: &str, direct: bool) -> rustix::io::Result<OwnedFd> {
    let context = fsopen("erofs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&context, "source", source)?;
    fsconfig_set_flag(&context, "ro")?;
    if direct {
        fsconfig_set_flag(&context, "directio")?;
    }
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}
