//! Mounts a FUSE device on a directory: with mount(2) if that is allowed, else with the program
//! `fusermount3`, which passes the open device back through a socket.
//!
//! Enters a directory and options; leaves the open device. **Invariant:** on failure nothing stays
//! mounted.

use std::ffi::CString;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::io::Errno;
use rustix::mount::MountFlags;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType,
};
use sinterfs_model::{Error, Kind, Result};

use crate::backing_name;
use crate::device::open_device;
use crate::fusermount::{fusermount, spawn, wait};
use crate::mountinfo::{Mount, mounted_at};
use crate::options::MountOptions;

/// The environment variable with the descriptor of `fusermount3`'s end of the socket.
const SOCKET_VARIABLE: &str = "_FUSE_COMMFD";

/// Checks a mount point and returns its full path.
pub(crate) fn mount_point(dir: &Path, subtype: &str) -> Result<PathBuf> {
    let found = dir
        .canonicalize()
        .and_then(|path| Ok((path.metadata()?.is_dir(), path)));
    let (is_dir, path) = found.map_err(|error| {
        let error = match error.kind() {
            io::ErrorKind::NotFound => Error::not_found("the mount point does not exist"),
            io::ErrorKind::NotConnected => Error::io(
                "there is a mount whose server has ended; unmount it first",
                error,
            ),
            _ => Error::io("cannot use the mount point", error),
        };
        error.path(dir)
    })?;
    if !is_dir {
        return Err(Error::invalid("the mount point is not a directory").path(dir));
    }
    let is_ours = |mount: &Mount| {
        mount.kind.strip_prefix("fuse.") == Some(subtype) || backing_name::is_ours(mount)
    };
    if mounted_at(&path)?.is_some_and(|mount| is_ours(&mount)) {
        let busy = io::Error::from(Errno::BUSY);
        return Err(Error::io("an image is already mounted there", busy).path(dir));
    }
    Ok(path)
}

/// A FUSE device that is mounted.
pub(crate) struct Attached {
    pub(crate) device: OwnedFd,
    /// The socket by which `fusermount3` notices that this process has ended, and unmounts.
    pub(crate) helper: Option<OwnedFd>,
}

/// Opens a FUSE device and mounts it on a directory.
pub(crate) fn attach(dir: &Path, options: &MountOptions) -> Result<Attached> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if options.subtype.is_empty() || !options.subtype.bytes().all(plain) {
        return Err(Error::invalid(
            "the subtype may have only letters, digits, - and _",
        ));
    }
    if options.helper || options.auto_unmount || !rustix::process::geteuid().is_root() {
        return mount_by_helper(dir, options);
    }
    match mount_by_system_call(dir, options) {
        // root without the capability, for example in a container
        Err(error) if error.io_source().and_then(Errno::from_io_error) == Some(Errno::PERM) => {
            mount_by_helper(dir, options).map_err(|_| error)
        }
        other => other,
    }
}

/// Returns the flags for what the options do not allow.
pub(crate) fn mount_flags(options: &MountOptions) -> MountFlags {
    let mut flags = MountFlags::RDONLY;
    flags.set(MountFlags::NODEV, !options.dev);
    flags.set(MountFlags::NOSUID, !options.suid);
    flags.set(MountFlags::NOEXEC, !options.exec);
    flags
}

/// Returns the SELinux labels as the end of the data of mount(2), each after a comma; values are in
/// quotes, since the levels of a label may contain commas.
pub(crate) fn label_data(options: &MountOptions) -> String {
    let labels = options.labels.iter();
    labels
        .map(|(name, value)| format!(",{name}=\"{value}\""))
        .collect()
}

fn mount_by_system_call(dir: &Path, options: &MountOptions) -> Result<Attached> {
    let device = open_device()?;
    let mut data = format!(
        "fd={},rootmode=40000,user_id={},group_id={}",
        device.as_raw_fd(),
        rustix::process::getuid().as_raw(),
        rustix::process::getgid().as_raw(),
    );
    if options.default_permissions {
        data.push_str(",default_permissions");
    }
    if options.allow_other || options.allow_root {
        data.push_str(",allow_other");
    }
    if let Some(bytes) = backing_name::marked_max_read(options) {
        data.push_str(&format!(",max_read={bytes}"));
    }
    data.push_str(&label_data(options));
    let flags = mount_flags(options);
    let text = |text: String| {
        CString::new(text).map_err(|_| Error::invalid("a mount option contains a zero byte"))
    };
    let (source, data) = (text(options.fsname.clone())?, text(data)?);
    let kind = text(format!("fuse.{}", options.subtype))?;
    rustix::mount::mount(&*source, dir, &*kind, flags, &*data).map_err(|errno| {
        let what = match errno {
            Errno::BUSY => "the mount point is busy",
            Errno::NODEV => "the kernel has no FUSE: load the module fuse",
            _ => "mount failed",
        };
        Error::io(what, errno).path(dir)
    })?;
    Ok(Attached {
        device,
        helper: None,
    })
}

fn mount_by_helper(dir: &Path, options: &MountOptions) -> Result<Attached> {
    let (ours, theirs) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .map_err(|errno| Error::io("cannot make a socket", errno))?;
    let mut command = fusermount();
    // the socket replaces standard input, so that no other descriptor is inherited
    command
        .arg("-o")
        .arg(helper_options(options))
        .arg("--")
        .arg(dir);
    command
        .env(SOCKET_VARIABLE, "0")
        .stdin(theirs)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let child = spawn(&mut command)?;
    // closes our copy of the other end, so that the stream ends with the helper
    drop(command);
    let device = receive(&ours);
    if options.auto_unmount
        && let Ok(Some(device)) = device
    {
        // the helper runs until the socket is closed
        return Ok(Attached {
            device,
            helper: Some(ours),
        });
    }
    let complaint = wait(child)?;
    match (device, complaint) {
        (Ok(Some(device)), None) => Ok(Attached {
            device,
            helper: None,
        }),
        (_, Some(complaint)) => Err(Error::new(Kind::Io, complaint).path(dir)),
        (Err(errno), None) => Err(Error::io("no answer from fusermount3", errno).path(dir)),
        (Ok(None), None) => Err(Error::new(Kind::Io, "no device from fusermount3").path(dir)),
    }
}

fn helper_options(options: &MountOptions) -> String {
    let mut all = vec!["ro".to_owned()];
    let mut flag = |name: &str, wanted| {
        if wanted {
            all.push(name.to_owned());
        }
    };
    flag(if options.dev { "dev" } else { "nodev" }, true);
    flag(if options.suid { "suid" } else { "nosuid" }, true);
    flag("noexec", !options.exec);
    flag("default_permissions", options.default_permissions);
    flag("allow_other", options.allow_other || options.allow_root);
    flag("auto_unmount", options.auto_unmount);
    let name = options.fsname.replace('\\', "\\\\").replace(',', "\\,");
    all.push(format!("fsname={name}"));
    all.push(format!("subtype={}", options.subtype));
    let max_read = backing_name::marked_max_read(options);
    all.extend(max_read.map(|bytes| format!("max_read={bytes}")));
    all.join(",")
}

/// Receives one descriptor; `None` if the stream ends without one.
fn receive(socket: &OwnedFd) -> rustix::io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut parts = [IoSliceMut::new(&mut byte)];
    let flags = RecvFlags::CMSG_CLOEXEC;
    rustix::io::retry_on_intr(|| rustix::net::recvmsg(socket, &mut parts, &mut ancillary, flags))?;
    let rights = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    Ok(rights)
}
