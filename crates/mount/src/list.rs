//! Lists the images that are mounted.
//!
//! In: the mounts of this process' namespace. Out: the mounts of images. **Invariant:** only mounts
//! that this crate makes are listed.

use std::path::{Path, PathBuf};

use sinterfs_model::Result;

use crate::backing_name;
use crate::detach::detach_covered;
use crate::mountinfo::{Mount, mounts};

/// A mounted image.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MountedImage {
    /// The path of the image, or the name that was given instead of it; of one that has no path, as
    /// those on servers, the last part of its name if the kernel shows no more.
    pub source: PathBuf,
    /// The mount point.
    pub point: PathBuf,
    /// The type of the file system as the kernel names it: `erofs`, `overlay` or `fuse.` with the
    /// subtype.
    pub kind: String,
    mount: Mount,
}

impl MountedImage {
    /// Unmounts this mount, also one that another one hides, which is then where it was. See
    /// `umount` for `lazy`.
    pub fn unmount(&self, lazy: bool) -> Result<()> {
        detach_covered(&self.mount, lazy).map_err(|error| error.path(&self.point))
    }
}

/// Returns the images that are mounted in the mount namespace of this process, in the order in
/// which they were mounted.
pub fn mounted_images() -> Result<Vec<MountedImage>> {
    let ours = mounts()?.into_iter().filter(backing_name::is_ours);
    let images = ours.map(|mount| MountedImage {
        source: match (mount.kind.as_str(), mount.source.file_name()) {
            ("overlay", _) => backing_name::without_prefix(&mount.source),
            ("erofs", Some(name)) if mount.source.starts_with("/proc/self/fd") => {
                backing_name::without_prefix(Path::new(name))
            }
            _ => mount.source.clone(),
        },
        point: mount.point.clone(),
        kind: mount.kind.clone(),
        mount,
    });
    Ok(images.collect())
}
