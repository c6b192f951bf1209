//! Mounts a FUSE device on a directory: by mount(2) where that is allowed, else by the program
//! `fusermount3`, which hands the open device back through a socket.
//!
//! Enters a directory and options, leaves the open device. **Invariant:** on failure nothing
//! stays mounted.

use std::ffi::CString;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::MountFlags;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType,
};
use sinterfs_model::{Error, Kind, Result};

use crate::kernel;
use crate::mountinfo::{Mount, mounted_at};
use crate::options::MountOptions;

const DEVICE: &str = "/dev/fuse";
/// `fusermount3` finds its end of the socket by this variable.
const SOCKET_VARIABLE: &str = "_FUSE_COMMFD";

/// Checks a mount point and tells its full path.
pub(crate) fn mount_point(dir: &Path, subtype: &str) -> Result<PathBuf> {
    let found = dir
        .canonicalize()
        .and_then(|path| Ok((path.metadata()?.is_dir(), path)));
    let (is_dir, path) = found.map_err(|error| {
        let error = match error.kind() {
            io::ErrorKind::NotFound => Error::not_found("the mount point does not exist"),
            io::ErrorKind::NotConnected => Error::io(
                "a mount whose server has ended is in the way; unmount it first",
                error,
            ),
            _ => Error::io("can't use the mount point", error),
        };
        error.path(dir)
    })?;
    if !is_dir {
        return Err(Error::invalid("the mount point is not a directory").path(dir));
    }
    let ours = |kind: &str| {
        kind.strip_prefix("fuse.")
            .is_some_and(|kind| kind == subtype)
    };
    let ours = |mount: &Mount| ours(&mount.kind) || kernel::is_ours(mount);
    if mounted_at(&path)?.is_some_and(|mount| ours(&mount)) {
        let busy = io::Error::from(Errno::BUSY);
        return Err(Error::io("an image is already mounted there", busy).path(dir));
    }
    Ok(path)
}

/// Mounts a FUSE device on a directory and opens it.
pub(crate) fn attach(dir: &Path, options: &MountOptions) -> Result<OwnedFd> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if options.subtype.is_empty() || !options.subtype.bytes().all(plain) {
        return Err(Error::invalid(
            "the subtype must be of letters, digits, - and _",
        ));
    }
    if options.helper || !rustix::process::geteuid().is_root() {
        return by_helper(dir, options);
    }
    match by_system_call(dir, options) {
        // Root without the capability, in a container for example.
        Err(error) if error.io_source().and_then(Errno::from_io_error) == Some(Errno::PERM) => {
            by_helper(dir, options).map_err(|_| error)
        }
        other => other,
    }
}

/// Opens the FUSE device.
pub(crate) fn open_device() -> Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    rustix::fs::open(DEVICE, flags, Mode::empty()).map_err(|errno| {
        let what = match errno {
            Errno::NOENT | Errno::NODEV | Errno::NXIO => {
                "FUSE is missing: load the module fuse, or give the container the device"
            }
            _ => "can't open the FUSE device",
        };
        Error::io(what, errno).path(DEVICE)
    })
}

/// Returns whether this process may open the FUSE device itself.
pub(crate) fn device_can_be_opened() -> bool {
    open_device().is_ok()
}

/// Returns what a mount does not allow.
pub(crate) fn mount_flags(options: &MountOptions) -> MountFlags {
    let mut flags = MountFlags::RDONLY;
    flags.set(MountFlags::NODEV, !options.dev);
    flags.set(MountFlags::NOSUID, !options.suid);
    flags.set(MountFlags::NOEXEC, !options.exec);
    flags
}

fn by_system_call(dir: &Path, options: &MountOptions) -> Result<OwnedFd> {
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
    if options.allow_other {
        data.push_str(",allow_other");
    }
    let flags = mount_flags(options);
    let text = |text: String| {
        CString::new(text).map_err(|_| Error::invalid("a mount option has a zero byte in it"))
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
    Ok(device)
}

fn by_helper(dir: &Path, options: &MountOptions) -> Result<OwnedFd> {
    let (ours, theirs) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .map_err(|errno| Error::io("can't make a socket", errno))?;
    let mut command = helper();
    // The socket takes the place of standard input: that needs no descriptor that could leak.
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
    // Closes our copy of their end, so that the end of the helper is the end of the stream.
    drop(command);
    let device = receive(&ours);
    let complaint = finish(child)?;
    match (device, complaint) {
        (Ok(Some(device)), None) => Ok(device),
        (_, Some(complaint)) => Err(Error::new(Kind::Io, complaint).path(dir)),
        (Err(errno), None) => Err(Error::io("no answer from fusermount3", errno).path(dir)),
        (Ok(None), None) => Err(Error::new(Kind::Io, "no device from fusermount3").path(dir)),
    }
}

/// The program that mounts and unmounts for ordinary users.
pub(crate) fn helper() -> Command {
    Command::new("fusermount3")
}

/// Starts the helper with a clear error if it is not installed.
pub(crate) fn spawn(command: &mut Command) -> Result<Child> {
    command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Error::not_found("fusermount3 is missing: install the package fuse3, or mount as root")
        }
        _ => Error::io("can't run fusermount3", error),
    })
}

/// Waits for the helper; tells what it complains of if it failed.
pub(crate) fn finish(child: Child) -> Result<Option<String>> {
    let output = child.wait_with_output();
    let output = output.map_err(|error| Error::io("can't wait for fusermount3", error))?;
    if output.status.success() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Ok(Some(if text.is_empty() {
        format!("fusermount3: {}", output.status)
    } else {
        text
    }))
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
    flag("allow_other", options.allow_other);
    let name = options.fsname.replace('\\', "\\\\").replace(',', "\\,");
    all.push(format!("fsname={name}"));
    all.push(format!("subtype={}", options.subtype));
    all.join(",")
}

/// Receives one descriptor; `None` if the stream ends before.
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
