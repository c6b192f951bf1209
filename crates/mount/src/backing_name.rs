//! The name of the computed file under a kernel mount, by which such mounts are recognized.
//!
//! **Invariant:** `is_ours` is true of every mount on a file named by `backing_name`, also on a
//! loop device, and of every mount whose superblock has [`IMAGE_UUID`].

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::mountinfo::Mount;
use crate::options::MountOptions;

/// The UUID of the EROFS that is computed for a mount, by which such mounts are recognized.
pub const IMAGE_UUID: [u8; 16] = *b"sinterfs\0\0\0\0\0\0\0\0";

/// What statfs(2) returns as the id of a file system with that UUID: its halves, combined by
/// exclusive or (`uuid_to_fsid` of Linux).
const IMAGE_FSID: u64 = u64::from_le_bytes(*b"sinterfs");

/// The prefix of the name, by which mounts are recognized.
const PREFIX: &str = "sinter:";

/// The most bytes of the image's name in it.
const NAME_MAX: usize = 100;

/// The most bytes of a parameter of fsconfig(2), which ends with a zero.
const PARAMETER_MAX: usize = 255;

/// Returns the source of a stack of images on overlayfs: the prefix and the name that was given,
/// usually the full path, as far as the kernel takes it.
pub(crate) fn stack_name(options: &MountOptions) -> String {
    let clean: String = options.fsname.chars().filter(|c| !c.is_control()).collect();
    match format!("{PREFIX}{clean}") {
        name if name.len() <= PARAMETER_MAX => name,
        _ => backing_name(options),
    }
}

/// Returns the source of a mount of overlayfs without the prefix.
pub(crate) fn without_prefix(source: &Path) -> PathBuf {
    let bytes = source.as_os_str().as_bytes();
    let name = bytes.strip_prefix(PREFIX.as_bytes()).unwrap_or(bytes);
    PathBuf::from(std::ffi::OsStr::from_bytes(name))
}

/// Returns the name, which `mount` and `df` show: the prefix and the name of the image.
pub(crate) fn backing_name(options: &MountOptions) -> String {
    let image = options.fsname.rsplit('/').next().unwrap_or_default();
    let clean: String = image.chars().filter(|c| !c.is_control()).collect();
    let mut end = clean.len().min(NAME_MAX);
    while !clean.is_char_boundary(end) {
        end -= 1;
    }
    format!("{PREFIX}{}", clean.split_at(end).0)
}

/// Returns whether a mount is one of EROFS, or of overlayfs, that this crate made.
pub(crate) fn is_ours(mount: &Mount) -> bool {
    let is_named = |path: &Path| {
        let name = path.file_name().map(OsStrExt::as_bytes);
        name.is_some_and(|name| name.starts_with(PREFIX.as_bytes()))
    };
    let source = mount.source.as_path();
    match mount.kind.as_str() {
        "overlay" => source.as_os_str().as_bytes().starts_with(PREFIX.as_bytes()),
        "erofs" => {
            let on_loop_device = || {
                let file = source.strip_prefix("/dev").ok().and_then(backing_file);
                file.is_some_and(|file| is_named(&file))
            };
            (source.starts_with("/proc/self/fd") && is_named(source))
                || on_loop_device()
                || has_image_uuid(&mount.point)
        }
        _ => false,
    }
}

/// Returns whether the file system that is topmost at a mount point has [`IMAGE_UUID`].
fn has_image_uuid(point: &Path) -> bool {
    rustix::fs::statvfs(point).is_ok_and(|found| found.f_fsid == IMAGE_FSID)
}

/// Returns the file under a loop device.
fn backing_file(device: &Path) -> Option<PathBuf> {
    let path = Path::new("/sys/block")
        .join(device)
        .join("loop/backing_file");
    let text = std::fs::read(path).ok()?;
    let line = text.strip_suffix(b"\n").unwrap_or(&text);
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(line)))
}
