//! Mounts that others hide: what hides them, and how to look at them.
//!
//! In: a mount of this namespace. Out: the mounts that hide it, or what a function finds where
//! nothing does. **Invariant:** nothing is taken away in a namespace of other threads.
//!
//! Source: mount_namespaces(7).

use std::collections::BTreeSet;

use rustix::mount::{UnmountFlags, unmount};

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

pub(crate) fn take_away(cover: &Mount) -> rustix::io::Result<()> {
    unmount(&cover.point, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)
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
    fn a_covering_mount_is_on_it_or_mounted_above_it_later() {
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
