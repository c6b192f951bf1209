//! Mounts the kernel's EROFS on a file that this process computes: names and attributes are the kernel's
//! business then, only content is asked for.
//!
//! In: a `Backing` with an EROFS image. Out: a `Session`. **Invariant:** the FUSE mount that holds the file
//! is out of sight and lives as long as EROFS has it open, so that unmounting EROFS, by whomever, ends all.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;
use rustix::mount::MountFlags;
use sinterfs_model::{Error, Kind, Result};

use crate::attach::{mount_flags, mount_point};
use crate::backing::{Backing, OneFile};
use crate::detached;
use crate::mountinfo::{Mount, mounted_at};
use crate::options::MountOptions;
use crate::session::{Session, catch_signals, greet_and_run, raise_read_ahead};

/// How far the kernel reads ahead: requests are as long then.
const READ_AHEAD: u32 = 1 << 20;

/// The most bytes of metadata that are read at once.
const WARM: u64 = 64 << 20;

/// What the name of the file begins with, by which a mount is known as ours.
const PREFIX: &str = "sinter:";

/// The most bytes of an image's name in that of the file.
const NAME_MAX: usize = 100;

/// Mounts an EROFS image that is computed, and serves it from threads of its own.
///
/// Of the options, owners and permissions are for who computes the image; `allow_other` and
/// `default_permissions` are always so. Fails as `mount` does, and with `Io` or `Unsupported` where the
/// kernel cannot do it: nothing is mounted then.
pub fn mount_kernel(file: Arc<dyn Backing>, dir: &Path, options: &MountOptions) -> Result<Session> {
    let point = mount_point(dir, &options.subtype)?;
    let signals = options.catch_signals.then(catch_signals).transpose()?;
    let (device, tree) = detached::mount(options)?;
    let name = name(options);
    let plain = MountOptions {
        uid: None,
        gid: None,
        umask: 0,
        ..options.clone()
    };
    let (sender, events) = channel();
    let metadata = file.metadata();
    let image = Arc::new(OneFile::new(file, name.as_bytes()));
    greet_and_run(image, device, &plain, &sender)?;
    let mount = attach_and_tune(&tree, &name, &point, options);
    let mount = mount.map_err(|error| error.path(dir))?;
    warm(&tree, &name, metadata);
    // from now on EROFS holds it
    drop(tree);
    Ok(Session::new(mount, events, sender, signals))
}

/// Reads metadata into the page cache, in the background: EROFS asks for it page by page, and each page
/// would wait for us. Whatever fails here is read later.
fn warm(tree: &OwnedFd, name: &str, metadata: Vec<Range<u64>>) {
    let Ok(file) = File::open(format!("/proc/self/fd/{}/{name}", tree.as_raw_fd())) else {
        return;
    };
    if let Ok(stat) = rustix::fs::fstat(&file) {
        let device = stat.st_dev;
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        raise_read_ahead(&format!("{major}:{minor}"), READ_AHEAD);
    }
    let read = move || {
        let (mut buffer, mut room) = (vec![0; READ_AHEAD as usize], WARM);
        for range in metadata {
            let mut place = range.start;
            while place < range.end && room > 0 {
                let count = (range.end - place).min(u64::from(READ_AHEAD)).min(room);
                let buffer = buffer.split_at_mut(count as usize).0;
                if file.read_exact_at(buffer, place).is_err() {
                    return;
                }
                place += count;
                room -= count;
            }
        }
    };
    let thread = std::thread::Builder::new().name("warm".into()).spawn(read);
    drop(thread);
}

/// Mounts EROFS, and raises how far it reads ahead.
fn attach_and_tune(
    tree: &OwnedFd,
    name: &str,
    point: &Path,
    options: &MountOptions,
) -> Result<Mount> {
    // so that what is new is that of this mount
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let before = read_aheads();
    attach(tree, name, point, options)?;
    let mount = mounted_at(point)?;
    let mount = mount.ok_or_else(|| Error::new(Kind::Io, "the mount vanished at once"))?;
    let read_ahead = options.read_ahead.unwrap_or(READ_AHEAD);
    raise_read_ahead(&mount.device, read_ahead);
    let after = read_aheads();
    let mut new = after.difference(&before);
    if let (Some(only), None) = (new.next(), new.next()) {
        raise_read_ahead(only, read_ahead);
    }
    Ok(mount)
}

/// Lists where the kernel is told how far to read ahead for EROFS on files: by numbers that nothing else
/// tells.
fn read_aheads() -> BTreeSet<String> {
    let entries = std::fs::read_dir("/sys/class/bdi").into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.starts_with("erofs-")).collect()
}

/// Makes the name of the file, which `mount` and `df` show: it says whose it is, and of which image.
pub(crate) fn name(options: &MountOptions) -> String {
    let image = options.fsname.rsplit('/').next().unwrap_or_default();
    let clean: String = image.chars().filter(|c| !c.is_control()).collect();
    let mut end = clean.len().min(NAME_MAX);
    while !clean.is_char_boundary(end) {
        end -= 1;
    }
    format!("{PREFIX}{}", clean.split_at(end).0)
}

/// Returns whether a mount is one of these.
pub(crate) fn is_ours(mount: &Mount) -> bool {
    let is_named = |path: &Path| {
        let name = path.file_name().map(OsStrExt::as_bytes);
        name.is_some_and(|name| name.starts_with(PREFIX.as_bytes()))
    };
    let source = mount.source.as_path();
    match mount.kind.as_str() {
        "overlay" => is_named(source),
        "erofs" => match source.strip_prefix("/dev") {
            Ok(device) => backing_file(device).is_some_and(|file| is_named(&file)),
            Err(_) => source.starts_with("/proc/self/fd") && is_named(source),
        },
        _ => false,
    }
}

/// Returns the file of a loop device.
fn backing_file(device: &Path) -> Option<PathBuf> {
    let path = Path::new("/sys/block")
        .join(device)
        .join("loop/backing_file");
    let text = std::fs::read(path).ok()?;
    let line = text.strip_suffix(b"\n").unwrap_or(&text);
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(line)))
}

/// Mounts EROFS on the file, or on a loop device where the kernel wants a device.
fn attach(tree: &OwnedFd, name: &str, point: &Path, options: &MountOptions) -> Result<()> {
    let file = |process: &str| format!("/proc/{process}/fd/{}/{name}", tree.as_raw_fd());
    let flags = mount_flags(options);
    let on_file = match options.loop_device {
        true => Err(Errno::NOTBLK),
        false => match erofs(&file("self"), point, flags, "directio") {
            // an older kernel, which caches content twice
            Err(Errno::INVAL) => erofs(&file("self"), point, flags, ""),
            other => other,
        },
    };
    let Err(errno) = on_file else { return Ok(()) };
    match errno {
        Errno::NODEV => Err(Error::io("the kernel has no EROFS", errno)),
        Errno::PERM | Errno::ACCESS => Err(Error::io("only root can mount EROFS", errno)),
        Errno::BUSY => Err(Error::io("the mount point is busy", errno)),
        _ => {
            let pid = rustix::process::getpid().as_raw_nonzero();
            on_loop(&file(&pid.to_string()), point, flags).map_err(|error| {
                let what = format!(
                    "the kernel mounts EROFS neither from a file ({errno}) nor from a loop device \
                     ({error})"
                );
                Error::unsupported(what)
            })
        }
    }
}

fn erofs(source: &str, point: &Path, flags: MountFlags, data: &str) -> rustix::io::Result<()> {
    let text = |text: &str| CString::new(text).map_err(|_| Errno::INVAL);
    rustix::mount::mount(&*text(source)?, point, c"erofs", flags, &*text(data)?)
}

/// Makes a loop device that vanishes with the mount.
fn on_loop(file: &str, point: &Path, flags: MountFlags) -> Result<()> {
    let device = losetup(&["--direct-io=on", "--show", "-f", "-r"], Path::new(file))?;
    let device = device.trim();
    let mounted = erofs(device, point, flags, "");
    // the kernel waits with that until nobody uses it
    let freed = losetup(&["-d"], Path::new(device));
    mounted.map_err(|errno| Error::io("mount failed", errno))?;
    freed.map(drop)
}

/// Runs losetup(8) for a file or a device, and tells what it prints.
pub(crate) fn losetup(arguments: &[&str], path: &Path) -> Result<String> {
    let mut command = Command::new("losetup");
    command.args(arguments).arg(path).stdin(Stdio::null());
    let output = command
        .output()
        .map_err(|error| Error::io("can't run losetup", error))?;
    let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(Error::new(Kind::Io, complaint)),
    }
}
