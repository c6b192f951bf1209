//! What a new file takes over from the one that it replaces, besides its name.
//!
//! In: the old file, and the new one, open. Out: who may use the old file may use the new one:
//! owner, group, access control lists, labels, permissions. **Invariant:** what cannot be taken
//! over is replaced by less: nobody but the owner of the new file may do with it what they could
//! not do with the old one. Set-id bits and capabilities are of the old content, so only a file
//! with the same content has them.

use std::fs::{File, FileTimes, Metadata};
use std::io;
use std::path::Path;

use sinterfs_platform::files::SameOwners;
use sinterfs_platform::{files, xattrs};

/// Lets a new file be used by those who may use the old one.
pub(super) fn take_access(old: &Path, new: &File) -> io::Result<()> {
    let found = std::fs::metadata(old)?;
    let (_, mode) = copy_access(old, &found, new);
    new.set_permissions(files::with_mode(found.permissions(), mode))
}

/// Copies all attributes. An error is one that leaves other permissions than those of the old file.
pub(super) fn copy_attributes(old: &Path, new: &File) -> io::Result<()> {
    let file = File::open(old)?;
    let found = file.metadata()?;
    let (same, mut mode) = copy_access(old, &found, new);
    xattrs::copy(&file, new);
    if same.owner && same.group {
        // set-id bits are of the owner
        mode |= files::mode(&found) & 0o7000;
    }
    new.set_permissions(files::with_mode(found.permissions(), mode))?;
    let times = FileTimes::new().set_accessed(found.accessed()?);
    let _ = new.set_times(times.set_modified(found.modified()?));
    Ok(())
}

/// Copies owner, group and access control lists as far as possible; returns the permissions that
/// go with what was copied.
fn copy_access(old: &Path, found: &Metadata, new: &File) -> (SameOwners, u32) {
    let same = files::copy_owner(found, new);
    let lists = File::open(old).and_then(|old| {
        xattrs::copy_access(&old, new)?;
        xattrs::has_access_lists(new)
    });
    let mode = files::mode(found) & 0o777;
    let mode = match lists {
        Ok(false) => narrowed(mode, same),
        Ok(true) if same.owner && same.group => mode,
        // a list says who may less than others, too
        Ok(true) | Err(_) => {
            xattrs::remove_access_lists(new);
            mode & 0o700
        }
    };
    (same, mode)
}

/// Returns permissions for a file with another owner or group: the former owner, and the members of
/// the former group, are others now, and may not do more than before.
fn narrowed(mode: u32, same: SameOwners) -> u32 {
    let (owner, mut group, mut others) = (mode >> 6 & 7, mode >> 3 & 7, mode & 7);
    if !same.group {
        others &= group;
        group = others;
    }
    if !same.owner {
        others &= owner;
        group &= owner;
    }
    owner << 6 | group << 3 | others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_never_wider_for_another_owner_or_group() {
        let with = |mode, owner, group| narrowed(mode, SameOwners { owner, group });
        for mode in 0..=0o777 {
            assert_eq!(with(mode, true, true), mode);
            for owner in [false, true] {
                for group in [false, true] {
                    assert_eq!(with(mode, owner, group) & !mode & 0o707, 0);
                }
            }
        }
        assert_eq!(with(0o640, true, false), 0o600);
        assert_eq!(with(0o644, true, false), 0o644);
        assert_eq!(with(0o604, true, false), 0o600);
        assert_eq!(with(0o664, true, false), 0o644);
        assert_eq!(with(0o640, false, true), 0o640);
        assert_eq!(with(0o077, false, true), 0);
    }
}
