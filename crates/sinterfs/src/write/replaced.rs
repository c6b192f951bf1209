//! What a new file takes over from the one that it replaces, besides its name.
//!
//! In: both files, open. Out: owner, group, xattrs (ACLs among them), permissions and times of the
//! old one on the new one, as far as this process may set them.

use std::fs::{File, FileTimes};
use std::io;

use sinterfs_platform::{files, xattrs};

/// Copies attributes. An error is one that leaves other permissions than those of the old file.
pub(super) fn copy_attributes(old: &File, new: &File) -> io::Result<()> {
    let found = old.metadata()?;
    let is_owned = files::copy_owner(&found, new);
    xattrs::copy(old, new);
    let mut permissions = found.permissions();
    if !is_owned {
        // set-id bits are of the owner
        permissions = files::with_mode(permissions, files::mode(&found) & 0o1777);
    }
    new.set_permissions(permissions)?;
    let times = FileTimes::new().set_accessed(found.accessed()?);
    let _ = new.set_times(times.set_modified(found.modified()?));
    Ok(())
}
