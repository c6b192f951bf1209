//! Mounts overlayfs on lower layers that are not in the tree.
//!
//! Enters detached mounts and the upper layer; leaves a detached mount of overlayfs. **Invariant:**
//! the lower mounts, and the file system with their mount points, are visible only in a mount
//! namespace that one thread of this process has for itself and that ends with the thread; from
//! then on only overlayfs keeps them alive, so umount(8) of it ends all of them.
//!
//! overlayfs takes layers that are in the mount namespace of the caller (Linux 5.14 to 6.14 refuse
//! all others), hence the namespace.
//!
//! Source: mount_namespaces(7), "Documentation/filesystems/overlayfs.rst" of Linux.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, StatVfsMountFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen, move_mount,
};
use sinterfs_model::{Error, Kind, Result};

use crate::backing_name::stack_name;
use crate::image_path::mount_attributes;
use crate::namespace::separate;
use crate::options::MountOptions;
use crate::upper::{Prepared, Upper};

/// The most bytes of a parameter of fsconfig(2), without the zero at the end.
const PARAMETER_MAX: usize = 255;

/// The message for a user without permission to mount.
const NEEDED: &str = "an upper layer and several images need overlayfs, and that CAP_SYS_ADMIN: \
                      mount as root, or in a shell of `unshare -rm`";

/// Fails if this process may not mount overlayfs, or the kernel has none.
pub(crate) fn check_possible() -> Result<()> {
    let opened = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC);
    opened.map(drop).map_err(|errno| match errno {
        Errno::PERM | Errno::ACCESS => Error::io(NEEDED, errno),
        Errno::NODEV => Error::io(
            "the kernel has no overlayfs: load the module overlay",
            errno,
        ),
        _ => Error::io("overlayfs cannot be used", errno),
    })
}

/// Mounts overlayfs on layers, the topmost first; returns the detached mount, and the directory of
/// the upper layer unless that is memory. `point`, an existing directory, is where it is going to
/// be mounted.
pub(crate) fn stack(
    lowers: &[&OwnedFd],
    upper: Option<&Upper>,
    point: &Path,
    options: &MountOptions,
) -> Result<(OwnedFd, Option<Prepared>)> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("namespace".into());
        let work = || in_namespace(lowers, upper, point, options);
        let thread = thread.spawn_scoped(scope, work);
        let thread = thread.map_err(|error| Error::io("cannot start a thread", error))?;
        let ended = thread.join();
        ended.unwrap_or_else(|_| Err(Error::new(Kind::Io, "the thread that mounts has failed")))
    })
}

fn in_namespace(
    lowers: &[&OwnedFd],
    upper: Option<&Upper>,
    point: &Path,
    options: &MountOptions,
) -> Result<(OwnedFd, Option<Prepared>)> {
    let first = lowers.first();
    let first = first.ok_or_else(|| Error::invalid("no image to mount"))?;
    let failed = |what| move |errno| Error::io(what, errno);
    separate().map_err(failed("cannot make a mount namespace"))?;
    // before a directory is covered: the paths of users mean what they meant
    let on_disk = match upper {
        Some(Upper::Directory(dir)) => Some(Prepared::directory(dir, point, first)?),
        Some(Upper::Memory) | None => None,
    };
    let count = gather(lowers, point).map_err(failed("cannot gather the layers"))?;
    let in_memory = match upper {
        Some(Upper::Memory) => Some(Prepared::memory(point, first)?),
        _ => None,
    };
    let prepared = on_disk.as_ref().or(in_memory.as_ref());
    let tree =
        overlay(count, prepared, options).map_err(failed("overlayfs cannot mount the layers"))?;
    if prepared.is_some() && is_read_only(&tree) {
        let what = "overlayfs cannot write to the file system of the upper layer: it has no \
                    extended attributes, no types in directories, or is read-only";
        return Err(Error::unsupported(what));
    }
    // its paths are valid only in this namespace
    in_memory.map(Prepared::complete);
    Ok((tree, on_disk))
}

/// Mounts the layers in a file system in memory that covers `point`, in directories named by their
/// numbers, and makes it the working directory. Returns how many there are.
fn gather(lowers: &[&OwnedFd], point: &Path) -> rustix::io::Result<usize> {
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&context, "mode", "0755")?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::empty();
    let memory = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(&memory, "", CWD, point, flags)?;
    rustix::process::chdir(point)?;
    for (number, lower) in lowers.iter().enumerate() {
        let name = number.to_string();
        rustix::fs::mkdirat(CWD, &name, Mode::RWXU)?;
        move_mount(lower, "", CWD, &name, flags)?;
    }
    Ok(lowers.len())
}

fn overlay(
    count: usize,
    upper: Option<&Prepared>,
    options: &MountOptions,
) -> rustix::io::Result<OwnedFd> {
    let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let set = |key: &str, value: &str| fsconfig_set_string(&context, key, value);
    set("source", &stack_name(options))?;
    let names: Vec<_> = (0..count).map(|number| number.to_string()).collect();
    let lowers = names.join(":");
    if lowers.len() <= PARAMETER_MAX {
        set("lowerdir", &lowers)?;
    } else {
        // one by one, since Linux 6.8
        for name in &names {
            match set("lowerdir+", name) {
                Err(Errno::INVAL) => return Err(Errno::TOOBIG),
                other => other?,
            }
        }
    }
    if let Some(prepared) = upper {
        let base = shown_path(prepared);
        set("upperdir", &format!("{base}/upper"))?;
        set("workdir", &format!("{base}/work"))?;
    } else {
        fsconfig_set_flag(&context, "ro")?;
    }
    if !in_first_user_namespace() {
        // there, attributes named trusted.* cannot be written
        fsconfig_set_flag(&context, "userxattr")?;
    }
    for (name, value) in &options.labels {
        set(name, value)?;
    }
    fsconfig_create(&context)?;
    let mut attributes = mount_attributes(options);
    attributes.set(MountAttrFlags::MOUNT_ATTR_RDONLY, upper.is_none());
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Returns the path of the upper layer's directory, by its descriptor if overlayfs would take the
/// path for another one.
fn shown_path(prepared: &Prepared) -> String {
    let plain = |path: &&str| path.len() < PARAMETER_MAX - 10 && !path.contains(['\\', ':', ',']);
    match (prepared.base.to_str().filter(plain), &prepared.lock) {
        (None, Some(lock)) => format!("/proc/self/fd/{}", lock.as_raw_fd()),
        // in memory: the working directory
        (None, None) => ".".to_owned(),
        (Some(path), _) => path.to_owned(),
    }
}

fn is_read_only(tree: &OwnedFd) -> bool {
    let found = rustix::fs::fstatvfs(tree);
    found.is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY))
}

fn in_first_user_namespace() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().eq(["0", "0", "4294967295"])
}
