//! What a new file takes over from the one that it replaces, besides its name.
//!
//! In: both files, open. Out: owner, group, xattrs (ACLs among them), permissions and times of the
//! old one on the new one, as far as this process may set them.

use std::fs::{File, FileTimes};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};

/// The most bytes that the kernel takes for the names of xattrs, or for a value.
const MOST: usize = 64 << 10;

/// Copies attributes. An error is one that leaves other permissions than those of the old file.
pub(super) fn copy_attributes(old: &File, new: &File) -> io::Result<()> {
    let found = old.metadata()?;
    // who may not give a file away keeps it; a group may be possible even then
    let is_owned = fchown(new, Some(found.uid()), Some(found.gid())).is_ok();
    if !is_owned {
        let _ = fchown(new, None, Some(found.gid()));
    }
    copy_xattrs(old, new);
    let mut permissions = found.permissions();
    if !is_owned {
        // set-id bits are of the owner
        permissions.set_mode(permissions.mode() & 0o1777);
    }
    new.set_permissions(permissions)?;
    let times = FileTimes::new().set_accessed(found.accessed()?);
    let _ = new.set_times(times.set_modified(found.modified()?));
    Ok(())
}

/// Copies the xattrs that can be read and set.
fn copy_xattrs(old: &File, new: &File) {
    let (mut names, mut value) = (vec![0; MOST], vec![0; MOST]);
    let Ok(len) = flistxattr(old, &mut names[..]) else {
        return;
    };
    let names = names.get(..len).unwrap_or_default();
    for name in names
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
    {
        if let Ok(len) = fgetxattr(old, name, &mut value[..]) {
            let value = value.get(..len).unwrap_or_default();
            let _ = fsetxattr(new, name, value, XattrFlags::empty());
        }
    }
}
