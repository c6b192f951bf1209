//! Mounting an image whose content is files of a directory, without a process that serves it.
//!
//! In: an image's file, and the options that name the directory. Out: a mount of the kernel.

use std::path::Path;

use sinterfs_model::Result;
use sinterfs_mount::MountOptions;

use crate::formats;
use crate::mount::object_verification::ObjectVerification;
use crate::open_options::OpenOptions;

/// Mounts an image of a format with a store of objects on a directory by overlayfs, with content
/// from the store that the options name.
///
/// # Errors
/// `Invalid` for options that overlayfs does not have, `Corrupt` for an object that differs from
/// what the image names, `Io` where the kernel cannot do it.
pub fn mount_overlay(
    image: &Path,
    open: &OpenOptions,
    dir: &Path,
    options: &MountOptions,
) -> Result<ObjectVerification> {
    formats::mount_overlay(image, open, dir, options)
}
