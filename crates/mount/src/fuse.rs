//! Adapts `View` to the FUSE protocol; the only file that uses the library `fuser`.
//!
//! Enters an open FUSE device and a `View`; leaves replies to the kernel's requests. **Invariant:**
//! no file system logic here; a panic in the view fails only its request, with `EIO`.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fmt::Arguments;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    Config, Errno, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyDirectoryPlus,
    ReplyEntry, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyXattr, Request, Session, SessionACL,
};
use sinterfs_model::{FileType, Inode, Time};

use crate::device::device_can_be_opened;
use crate::view::{Attr, NAME_MAX, View};

/// The time for which the kernel may cache replies: an image never changes. (A century; kernel
/// versions differ in how they truncate larger times.)
const TTL: Duration = Duration::from_secs(100 * 365 * 86_400);
/// Inode numbers are never reused.
const GENERATION: Generation = Generation(0);
/// The largest request: 256 pages, the default limit of the kernel.
const MAX_REQUEST: u32 = 1 << 20;
const STATFS_BLOCK: u32 = 4096;
const SEEK_DATA: i32 = 3;
const SEEK_HOLE: i32 = 4;

thread_local! {
    /// The read buffer of a thread; grows to the largest request.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Does the handshake (`FUSE_INIT`) with the kernel on an open FUSE device.
pub(crate) fn handshake(
    device: OwnedFd,
    view: View,
    requests: Arc<AtomicU64>,
) -> io::Result<Server> {
    let mut config = Config::default();
    config.n_threads = Some(view.options().thread_count());
    // each thread opens the device itself if that is allowed: `fusermount3` may have opened it with
    // other rights
    config.clone_fd = device_can_be_opened();
    // otherwise the kernel decides which users may use the files: see `allow_other`
    let acl = if view.options().allow_root {
        SessionACL::RootAndOwner
    } else {
        SessionACL::All
    };
    // the server refuses others, whom the kernel must ask about each time
    let ttl = if view.options().allow_root {
        Duration::ZERO
    } else {
        TTL
    };
    let fs = FuseAdapter {
        view,
        requests,
        ttl,
        no_open: false,
        no_open_dir: false,
    };
    Session::from_fd(fs, device, acl, config).map(Server)
}

/// A mounted file system that is not served yet.
pub(crate) struct Server(Session<FuseAdapter>);

impl Server {
    /// Serves requests until the file system is unmounted.
    pub(crate) fn run(self) -> io::Result<()> {
        self.0.run()
    }
}

struct FuseAdapter {
    view: View,
    /// Counts requests, to find whether the mount is in use.
    requests: Arc<AtomicU64>,
    /// The time for which the kernel may use entries and attributes.
    ttl: Duration,
    no_open: bool,
    no_open_dir: bool,
}

impl FuseAdapter {
    fn trace(&self, line: Arguments<'_>) {
        if let Some(trace) = &self.view.options().trace {
            (trace.0)(&line.to_string());
        }
    }

    /// Serves one request; on a panic the dropped reply sends `EIO`.
    fn guard(&self, line: Arguments<'_>, answer: impl FnOnce()) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.trace(line);
        if catch_unwind(AssertUnwindSafe(answer)).is_err() {
            self.view.report_lost_request("a request ended in a panic");
        }
    }
}

fn error(errno: rustix::io::Errno) -> Errno {
    Errno::from_i32(errno.raw_os_error())
}

fn system_time(time: Time) -> SystemTime {
    let whole = Duration::from_secs(time.secs.unsigned_abs());
    let nanos = Duration::from_nanos(u64::from(time.nanos));
    let start = match time.secs {
        0.. => UNIX_EPOCH.checked_add(whole),
        _ => UNIX_EPOCH.checked_sub(whole),
    };
    start
        .and_then(|start| start.checked_add(nanos))
        .unwrap_or(UNIX_EPOCH)
}

fn file_type(kind: FileType) -> fuser::FileType {
    match kind {
        FileType::Directory => fuser::FileType::Directory,
        FileType::File => fuser::FileType::RegularFile,
        FileType::Symlink => fuser::FileType::Symlink,
        FileType::CharDevice => fuser::FileType::CharDevice,
        FileType::BlockDevice => fuser::FileType::BlockDevice,
        FileType::Fifo => fuser::FileType::NamedPipe,
        FileType::Socket => fuser::FileType::Socket,
    }
}

fn file_attr(Attr { number, inode }: &Attr) -> FileAttr {
    let Inode {
        kind,
        meta,
        nlink,
        size,
        allocated,
        rdev,
        ..
    } = inode;
    FileAttr {
        ino: INodeNo(*number),
        size: *size,
        blocks: allocated.div_ceil(512),
        atime: system_time(meta.times.accessed),
        mtime: system_time(meta.times.modified),
        ctime: system_time(meta.times.changed),
        crtime: UNIX_EPOCH,
        kind: file_type(*kind),
        perm: meta.mode,
        nlink: *nlink,
        uid: meta.uid,
        gid: meta.gid,
        // the kernel has 12 bits for the major and 20 for the minor number: the low 32
        rdev: u32::try_from(rdev.to_dev_t() & 0xffff_ffff).unwrap_or_default(),
        blksize: STATFS_BLOCK,
        flags: 0,
    }
}

/// Returns the attributes that mean "no such name" in a reply that the kernel may cache.
fn negative_entry() -> FileAttr {
    FileAttr {
        ino: INodeNo(0),
        size: 0,
        blocks: 0,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: fuser::FileType::RegularFile,
        perm: 0,
        nlink: 0,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 0,
        flags: 0,
    }
}

fn send_xattr(reply: ReplyXattr, size: u32, value: Result<Vec<u8>, rustix::io::Errno>) {
    let value = match value {
        Ok(value) => value,
        Err(errno) => return reply.error(error(errno)),
    };
    match u32::try_from(value.len()) {
        Ok(len) if size == 0 => reply.size(len),
        Ok(len) if len <= size => reply.data(&value),
        _ => reply.error(Errno::ERANGE),
    }
}

impl Filesystem for FuseAdapter {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let offered = config.capabilities();
        let mut wanted = InitFlags::FUSE_PARALLEL_DIROPS
            | InitFlags::FUSE_ASYNC_DIO
            | InitFlags::FUSE_EXPORT_SUPPORT;
        if !self.view.options().allow_root {
            wanted |= InitFlags::FUSE_DO_READDIRPLUS
                | InitFlags::FUSE_READDIRPLUS_AUTO
                | InitFlags::FUSE_CACHE_SYMLINKS
                | InitFlags::FUSE_NO_OPEN_SUPPORT
                | InitFlags::FUSE_NO_OPENDIR_SUPPORT;
        }
        if self.view.options().default_permissions && self.view.has_xattrs() {
            // an access list denies what the bits of the group, which are its mask then, allow
            wanted |= InitFlags::FUSE_POSIX_ACL;
        }
        let missing = |_| io::Error::other("the kernel withdrew a capability that it offered");
        config.add_capabilities(wanted & offered).map_err(missing)?;
        let used = wanted & offered;
        self.no_open = used.contains(InitFlags::FUSE_NO_OPEN_SUPPORT);
        self.no_open_dir = used.contains(InitFlags::FUSE_NO_OPENDIR_SUPPORT);
        // if a number is too large, the setters return the largest allowed one
        let read_ahead = self
            .view
            .options()
            .read_ahead(self.view.totals().block_size);
        if let Err(most) = config.set_max_readahead(read_ahead.max(1)) {
            let _ = config.set_max_readahead(most);
        }
        if let Err(most) = config.set_max_write(MAX_REQUEST) {
            let _ = config.set_max_write(most);
        }
        let _ = config.set_max_background(64);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.guard(format_args!("lookup {parent} {name:?}"), || {
            match self.view.lookup(parent.0, name.as_bytes()) {
                Ok(Some(attr)) => reply.entry(&self.ttl, &file_attr(&attr), GENERATION),
                Ok(None) => reply.entry(&self.ttl, &negative_entry(), GENERATION),
                Err(errno) => reply.error(error(errno)),
            }
        });
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.guard(format_args!("getattr {ino}"), || {
            match self.view.attr(ino.0) {
                Ok(attr) => reply.attr(&self.ttl, &file_attr(&attr)),
                Err(errno) => reply.error(error(errno)),
            }
        });
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        self.guard(format_args!("readlink {ino}"), || {
            match self.view.read_link(ino.0) {
                Ok(target) => reply.data(&target),
                Err(errno) => reply.error(error(errno)),
            }
        });
    }

    fn open(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.guard(format_args!("open {ino}"), || {
            if self.no_open {
                // the kernel never sends this request again, and keeps its cache
                reply.error(Errno::ENOSYS);
            } else {
                reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE);
            }
        });
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.guard(format_args!("read {ino} {offset} +{size}"), || {
            BUFFER.with_borrow_mut(|buffer| {
                let size = usize::try_from(size).unwrap_or_default();
                if buffer.len() < size {
                    buffer.resize(size, 0);
                }
                let buffer = buffer.split_at_mut(size).0;
                let direct = flags.0 & rustix::fs::OFlags::DIRECT.bits().cast_signed() != 0;
                let read = if direct {
                    self.view.read_until_damage(ino.0, offset, buffer)
                } else {
                    self.view.read(ino.0, offset, buffer)
                };
                match read {
                    Ok(count) => reply.data(buffer.get(..count).unwrap_or_default()),
                    Err(errno) => reply.error(error(errno)),
                }
            });
        });
    }

    fn opendir(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let flags = FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_CACHE_DIR;
        self.guard(format_args!("opendir {ino}"), || {
            if self.no_open_dir {
                reply.error(Errno::ENOSYS);
            } else {
                reply.opened(FileHandle(0), flags);
            }
        });
    }

    fn readdir(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        self.guard(format_args!("readdir {ino} {offset}"), || {
            let done = self.view.read_dir(ino.0, offset, false, &mut |out| {
                let (number, name) = (INodeNo(out.number), OsStr::from_bytes(out.name));
                break_if(reply.add(number, out.next, file_type(out.kind), name))
            });
            match done {
                Ok(()) => reply.ok(),
                Err(errno) => reply.error(error(errno)),
            }
        });
    }

    fn readdirplus(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        self.guard(format_args!("readdirplus {ino} {offset}"), || {
            let done = self.view.read_dir(ino.0, offset, true, &mut |out| {
                let (number, name) = (INodeNo(out.number), OsStr::from_bytes(out.name));
                let attr = out.attr.as_ref().map_or_else(negative_entry, file_attr);
                break_if(reply.add(number, out.next, name, &self.ttl, &attr, GENERATION))
            });
            match done {
                Ok(()) => reply.ok(),
                Err(errno) => reply.error(error(errno)),
            }
        });
    }

    fn statfs(&self, _: &Request, ino: INodeNo, reply: ReplyStatfs) {
        self.guard(format_args!("statfs {ino}"), || {
            let totals = self.view.totals();
            let bytes = totals.bytes.unwrap_or(totals.stored);
            let blocks = bytes.div_ceil(u64::from(STATFS_BLOCK));
            reply.statfs(
                blocks,
                0,
                0,
                totals.inodes,
                0,
                STATFS_BLOCK,
                NAME_MAX,
                STATFS_BLOCK,
            );
        });
    }

    fn getxattr(&self, _: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        self.guard(format_args!("getxattr {ino} {name:?} {size}"), || {
            if self.view.has_xattrs() {
                send_xattr(reply, size, self.view.xattr(ino.0, name.as_bytes()));
            } else {
                // the kernel never sends this request again
                reply.error(Errno::ENOSYS);
            }
        });
    }

    fn listxattr(&self, _: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        self.guard(format_args!("listxattr {ino} {size}"), || {
            if self.view.has_xattrs() {
                send_xattr(reply, size, self.view.xattr_names(ino.0));
            } else {
                reply.error(Errno::ENOSYS);
            }
        });
    }

    fn lseek(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        self.guard(format_args!("lseek {ino} {offset} {whence}"), || {
            let hole = match whence {
                SEEK_DATA => false,
                SEEK_HOLE => true,
                _ => return reply.error(Errno::EINVAL),
            };
            let Ok(offset) = u64::try_from(offset) else {
                return reply.error(Errno::ENXIO);
            };
            match self.view.seek(ino.0, offset, hole).map(i64::try_from) {
                Ok(Ok(found)) => reply.offset(found),
                Ok(Err(_)) => reply.error(Errno::EOVERFLOW),
                Err(errno) => reply.error(error(errno)),
            }
        });
    }
}

fn break_if(full: bool) -> ControlFlow<()> {
    if full {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}
