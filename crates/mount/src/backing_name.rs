//! The name of the computed file under a kernel mount, and other marks by which the mounts of this
//! crate are recognized.
//!
//! **Invariant:** `is_ours` is true of every mount on a file named by `backing_name`, also on a
//! loop device, of every mount whose superblock has [`IMAGE_UUID`], even if another mount hides it,
//! and of FUSE mounts of any subtype.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::covered::uncovered;
use crate::mountinfo::Mount;
use crate::options::MountOptions;
use crate::start::device_of;

/// The UUID of the EROFS that is computed for a mount, by which such mounts are recognized.
pub const IMAGE_UUID: [u8; 16] = *b"sinterfs\0\0\0\0\0\0\0\0";

/// The file system id that statfs(2) returns for that UUID: its halves, combined by exclusive or
/// (`uuid_to_fsid` of Linux).
const IMAGE_FSID: u64 = u64::from_le_bytes(*b"sinterfs");

/// The type of a mount through FUSE, unless another subtype is requested.
const FUSE_KIND: &str = "fuse.sinter";

/// The remainder of `max_read` divided by [`PAGE`] that marks a FUSE mount of another subtype: the
/// kernel shows this option to all users, and nothing else that we could choose.
const MARK: u32 = 0x51e;
const PAGE: u32 = 4096;

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

/// Returns `max_read` with the mark of this crate for a subtype that does not show whose mount it
/// is; no more than the requested value. A value that is too small is not changed.
pub(crate) fn marked_max_read(options: &MountOptions) -> Option<u32> {
    if FUSE_KIND.strip_prefix("fuse.") == Some(&options.subtype) {
        return options.max_read;
    }
    let most = options.max_read.unwrap_or(u32::MAX);
    match most.checked_sub(MARK).map(|rest| rest / PAGE * PAGE) {
        Some(pages @ PAGE..) => Some(pages + MARK),
        _ => options.max_read,
    }
}

/// Returns whether this crate made a mount.
pub(crate) fn is_ours(mount: &Mount) -> bool {
    let is_named = |path: &Path| {
        let name = path.file_name().map(OsStrExt::as_bytes);
        name.is_some_and(|name| name.starts_with(PREFIX.as_bytes()))
    };
    let source = mount.source.as_path();
    match mount.kind.as_str() {
        FUSE_KIND => true,
        kind if kind.starts_with("fuse.") => mount.max_read.is_some_and(|max| max % PAGE == MARK),
        "overlay" => source.as_os_str().as_bytes().starts_with(PREFIX.as_bytes()),
        "erofs" => {
            let on_loop_device = || {
                let file = source.strip_prefix("/dev").ok().and_then(backing_file);
                file.is_some_and(|file| is_named(&file))
            };
            (source.starts_with("/proc/self/fd") && is_named(source))
                || on_loop_device()
                || has_image_uuid(mount)
        }
        _ => false,
    }
}

/// Returns whether the file system of a mount has [`IMAGE_UUID`], also if another one hides it.
fn has_image_uuid(mount: &Mount) -> bool {
    let look = || {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(&mount.point, flags, Mode::empty()).ok()?;
        let is_it = device_of(&dir)? == mount.device;
        Some(is_it && rustix::fs::fstatvfs(&dir).ok()?.f_fsid == IMAGE_FSID)
    };
    uncovered(mount, look).flatten().unwrap_or(false)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_subtype_is_marked_within_the_requested_limit() {
        let marked = |subtype: &str, max_read| {
            marked_max_read(&MountOptions {
                subtype: subtype.into(),
                max_read,
                ..MountOptions::default()
            })
        };
        assert_eq!(
            [marked("sinter", None), marked("sinter", Some(8192))],
            [None, Some(8192)]
        );
        assert_eq!(marked("foo", None), Some(u32::MAX / PAGE * PAGE + MARK));
        assert_eq!(marked("foo", Some(131_072)), Some(126_976 + MARK));
        assert_eq!(marked("foo", Some(4096)), Some(4096));
    }
}
