//! Mounts that others hide: how to look at them, and to end them.
//!
//! Enters a mount of this namespace; leaves what is asked of it, or ends it. **Invariant:** what
//! hides a mount is where it was afterwards; it is taken away for a moment only, since umount2(2)
//! takes paths, and a path leads to what is on top.
//!
//! Source: mount_namespaces(7), `open_tree` and `move_mount` of mount_setattr(2).

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;

use rustix::fs::CWD;
use rustix::mount::{MoveMountFlags, OpenTreeFlags, UnmountFlags, move_mount, open_tree, unmount};
use sinterfs_model::{Error, Result};

use crate::detach::detach;
use crate::mountinfo::{Mount, mounts};
use crate::namespace::separate;

/// Returns the mounts that hide a mount point, the lowest first: those on the mount itself and on
/// directories above it that were made after it.
pub(crate) fn covers(all: &[Mount], mount: &Mount) -> Vec<Mount> {
    let mut below = BTreeSet::from([mount.id]);
    let mut parent = mount.parent;
    while let Some(next) = all.iter().find(|other| other.id == parent) {
        if !below.insert(next.id) {
            break;
        }
        parent = next.parent;
    }
    let mut covers = Vec::new();
    let hides = |other: &&Mount, below: &BTreeSet<u64>| {
        !below.contains(&other.id)
            && below.contains(&other.parent)
            && mount.point.starts_with(&other.point)
    };
    while let Some(next) = all.iter().find(|other| hides(other, &below)) {
        below.insert(next.id);
        covers.push(next.clone());
    }
    covers
}

/// Calls `look` where nothing hides the mount: if something does, in a mount namespace that a
/// thread has for itself. `None` where that is not allowed.
pub(crate) fn uncovered<T: Send>(mount: &Mount, look: impl FnOnce() -> T + Send) -> Option<T> {
    let covers = covers(&mounts().ok()?, mount);
    if covers.is_empty() {
        return Some(look());
    }
    let work = || {
        separate().ok()?;
        for cover in covers.iter().rev() {
            take_away(cover).ok()?;
        }
        Some(look())
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("namespace".into());
        let thread = thread.spawn_scoped(scope, work).ok()?;
        thread.join().ok()?
    })
}

fn take_away(cover: &Mount) -> rustix::io::Result<()> {
    unmount(&cover.point, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)
}

/// Unmounts a mount, also one that others hide. Those are taken away before that and put back
/// then, whatever comes of it: their file systems stay the same ones.
pub(crate) fn detach_covered(mount: &Mount, lazy: bool) -> Result<()> {
    let all = mounts()?;
    if !all.contains(mount) {
        // it went with another one
        return Ok(());
    }
    let mut lifted: Vec<(OwnedFd, Mount)> = Vec::new();
    let mut result = Ok(());
    for cover in covers(&all, mount).into_iter().rev() {
        match lift(&cover) {
            Ok(tree) => lifted.push((tree, cover)),
            Err(errno) => {
                let what = "another file system is mounted over the image";
                result = Err(Error::io(what, errno));
                break;
            }
        }
    }
    let mut result = result.and_then(|()| detach(mount, lazy));
    for (tree, cover) in lifted.iter().rev() {
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        if let Err(errno) = move_mount(tree, "", CWD, &cover.point, flags) {
            let what = format!(
                "cannot put back the {} that was mounted over it",
                cover.kind
            );
            result = result.and(Err(Error::io(what, errno)));
        }
    }
    result
}

/// Takes a mount away, with those in it; returns a copy of it.
fn lift(cover: &Mount) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, &cover.point, flags)?;
    take_away(cover)?;
    Ok(tree)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(id: u64, parent: u64, point: &str) -> Mount {
        Mount {
            id,
            parent,
            device: String::new(),
            point: point.into(),
            kind: "tmpfs".into(),
            source: "t".into(),
            max_read: None,
        }
    }

    #[test]
    fn what_hides_a_mount_is_on_it_or_was_mounted_above_it_later() {
        let all = [
            mount(1, 0, "/"),
            mount(2, 1, "/a"),
            mount(3, 2, "/a/b"),
            mount(4, 3, "/a/b"),
            mount(5, 4, "/a/b"),
            mount(6, 2, "/a/c"),
            mount(7, 3, "/a/b/deeper"),
            mount(8, 2, "/a"),
        ];
        let ids = |index: usize| {
            let covers = all.get(index).map(|mount| covers(&all, mount));
            covers
                .unwrap_or_default()
                .iter()
                .map(|cover| cover.id)
                .collect::<Vec<_>>()
        };
        assert_eq!(ids(0), [0_u64; 0]);
        assert_eq!(ids(1), [8]);
        assert_eq!(ids(2), [4, 5, 8]);
        assert_eq!(ids(4), [8]);
        assert_eq!(ids(5), [8]);
    }
}
