//! Mounts the kernel's EROFS on a file that this process computes: the kernel then serves names and
//! attributes itself and reads only content from this process.
//!
//! Enters a `Backing` with an EROFS image; leaves a `Session`. **Invariant:** the FUSE mount with
//! the file is detached and lives as long as EROFS has the file open, so that unmounting EROFS ends
//! both.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{MountFlags, MoveMountFlags, move_mount};
use sinterfs_model::{Backing, Error, Result};

use crate::attach::{label_data, mount_flags, mount_point};
use crate::backing::OneFile;
use crate::backing_name::{self, backing_name};
use crate::detach::undo;
use crate::detached;
use crate::image_path::{file_name, mount_at_image_path};
use crate::loop_device::{DIRECT, with_loop_device};
use crate::mountinfo::{Mount, made_at};
use crate::options::MountOptions;
use crate::own_files::keep_only;
use crate::session::{Session, catch_signals};
use crate::start::{device_of, raise_read_ahead, serve_in_background};

/// Bytes that the kernel reads ahead, and so the size of its requests.
pub(crate) const READ_AHEAD: u32 = 1 << 20;

/// The most bytes of metadata that are read in advance.
const WARM_MAX: u64 = 64 << 20;

/// Mounts an EROFS image that is computed on demand, and serves it with its own threads.
///
/// The options for owners and permissions have to be applied when the image is computed;
/// `allow_other` and `default_permissions` are always on. Fails as `mount` does, and with `Io` or
/// `Unsupported` if the kernel cannot mount it; nothing is mounted then.
pub fn mount_kernel(file: Arc<dyn Backing>, dir: &Path, options: &MountOptions) -> Result<Session> {
    let point = mount_point(dir, &options.subtype)?;
    let signals = options.catch_signals.then(catch_signals).transpose()?;
    let (device, tree) = detached::mount(options)?;
    let name = backing_name(options);
    let plain = MountOptions {
        uid: None,
        gid: None,
        umask: 0,
        ..options.clone()
    };
    let metadata = file.metadata();
    let mut names = vec![name.clone().into_bytes()];
    names.extend(file_name(options).map(<[u8]>::to_vec));
    let image = Arc::new(OneFile::new(file, names));
    let serving = serve_in_background(image, device, &plain)?;
    let mount = attach_and_tune(&tree, &name, &point, options);
    let mount = mount.map_err(|error| error.path(dir))?;
    warm(&tree, &name, metadata);
    // from now on EROFS keeps it alive
    drop(tree);
    Session::new(mount, serving, signals).map_err(|error| error.path(dir))
}

/// Reads metadata into the page cache in the background, since EROFS reads it page by page and
/// would wait for each. Errors are ignored: what was not read is read on demand. The thread has a
/// table of open files with nothing else in it, so that the process can end at any time.
pub(crate) fn warm(tree: &OwnedFd, name: &str, metadata: Vec<Range<u64>>) {
    let Ok(file) = File::open(format!("/proc/self/fd/{}/{name}", tree.as_raw_fd())) else {
        return;
    };
    if let Some(device) = device_of(&file) {
        raise_read_ahead(&device, READ_AHEAD);
    }
    let (kept, is_kept) = mpsc::channel();
    let number = file.as_raw_fd();
    let read = move || {
        let Ok(file) = keep_only(number) else {
            return;
        };
        drop(kept);
        let (mut buffer, mut left) = (vec![0; READ_AHEAD as usize], WARM_MAX);
        for range in metadata {
            let mut offset = range.start;
            while offset < range.end && left > 0 {
                let count = (range.end - offset).min(u64::from(READ_AHEAD)).min(left);
                let buffer = buffer.split_at_mut(count as usize).0;
                if file.read_exact_at(buffer, offset).is_err() {
                    return;
                }
                offset += count;
                left -= count;
            }
        }
    };
    // without a thread, metadata is read on demand
    drop(std::thread::Builder::new().name("warm".into()).spawn(read));
    // the file stays open until the thread has it
    let _: std::result::Result<(), mpsc::RecvError> = is_kept.recv();
}

/// Mounts EROFS and raises its read-ahead.
fn attach_and_tune(
    tree: &OwnedFd,
    name: &str,
    point: &Path,
    options: &MountOptions,
) -> Result<Mount> {
    let read_ahead = options.read_ahead.unwrap_or(READ_AHEAD);
    with_read_ahead(read_ahead, || {
        attach(tree, name, point, options)?;
        let mount = made_at(point).inspect_err(|_| undo(point, backing_name::is_ours))?;
        raise_read_ahead(&mount.device, read_ahead);
        Ok(mount)
    })
}

/// Calls `mount`, which mounts EROFS on a file, and raises the read-ahead of that EROFS.
pub(crate) fn with_read_ahead<T>(bytes: u32, mount: impl FnOnce() -> Result<T>) -> Result<T> {
    // one at a time, so that a new entry belongs to this mount
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let before = read_aheads();
    let mounted = mount()?;
    let after = read_aheads();
    let mut new = after.difference(&before);
    if let (Some(only), None) = (new.next(), new.next()) {
        raise_read_ahead(only, bytes);
    }
    Ok(mounted)
}

/// Lists the kernel's read-ahead settings of EROFS on files, whose numbers occur nowhere else.
fn read_aheads() -> BTreeSet<String> {
    let entries = std::fs::read_dir("/sys/class/bdi").into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.starts_with("erofs-")).collect()
}

/// Mounts EROFS on the file, under the path of the image if possible, or on a loop device if the
/// kernel requires a device.
fn attach(tree: &OwnedFd, name: &str, point: &Path, options: &MountOptions) -> Result<()> {
    if !options.loop_device
        && let Ok(mount) = mount_at_image_path(tree, options)
    {
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        return move_mount(&mount, "", CWD, point, flags)
            .map_err(|errno| Error::io("cannot mount there", errno));
    }
    let file = |process: &str| format!("/proc/{process}/fd/{}/{name}", tree.as_raw_fd());
    let flags = mount_flags(options);
    let on_file = if options.loop_device {
        Err(Errno::NOTBLK)
    } else {
        let labels = label_data(options);
        match erofs(&file("self"), point, flags, &format!("directio{labels}")) {
            // an older kernel, which caches content twice
            Err(Errno::INVAL) => erofs(&file("self"), point, flags, labels.trim_start_matches(',')),
            other => other,
        }
    };
    let Err(errno) = on_file else { return Ok(()) };
    match errno {
        Errno::NODEV => Err(Error::io("the kernel has no EROFS", errno)),
        Errno::PERM | Errno::ACCESS => Err(Error::io("only root can mount EROFS", errno)),
        Errno::BUSY => Err(Error::io("the mount point is busy", errno)),
        _ => {
            let pid = rustix::process::getpid().as_raw_nonzero();
            mount_on_loop_device(&file(&pid.to_string()), point, options).map_err(|error| {
                let what = format!(
                    "the kernel mounts EROFS neither on a file ({errno}) nor on a loop device \
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

fn mount_on_loop_device(file: &str, point: &Path, options: &MountOptions) -> Result<()> {
    let labels = label_data(options);
    with_loop_device(Path::new(file), &[DIRECT], |device| {
        erofs(
            device,
            point,
            mount_flags(options),
            labels.trim_start_matches(','),
        )
        .map_err(|errno| Error::io("mount failed", errno))
    })
}
