//! The options of a mount.
//!
//! **Invariant:** options are plain data; the defaults suit the user of the process.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use sinterfs_model::{Observer, Quiet};

/// A function that receives one line for each request of the kernel.
#[derive(Clone)]
pub struct Trace(pub Arc<dyn Fn(&str) + Send + Sync>);

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trace")
    }
}

/// Options for mounting an image.
#[derive(Clone)]
pub struct MountOptions {
    /// The number of threads that serve requests; 0 for a number that suits the machine.
    pub threads: usize,
    /// Allows access by users other than the one that mounts. Ordinary users may request it only if
    /// `/etc/fuse.conf` has `user_allow_other`.
    pub allow_other: bool,
    /// Allows access by root in addition to the user that mounts; only through FUSE.
    pub allow_root: bool,
    /// Unmounts also if this process is killed, by `fusermount3`; only through FUSE.
    pub auto_unmount: bool,
    /// The largest read that the kernel requests, in bytes; only through FUSE.
    pub max_read: Option<u32>,
    /// Makes the kernel check permission bits and owners.
    pub default_permissions: bool,
    /// The source that `mount` and `df` show.
    pub fsname: String,
    /// The full path of the image without symlinks, which `mount` and `df` show as the source of a
    /// mount through the kernel's EROFS, in place of `fsname`.
    pub image: Option<PathBuf>,
    /// SELinux labels that are passed on to the kernel: options of mount(8) (`context`,
    /// `fscontext`, `defcontext`, `rootcontext`) with their values.
    pub labels: Vec<(String, String)>,
    /// The type that `mount` shows after `fuse.`; letters, digits, `-` and `_`.
    pub subtype: String,
    /// The owner of all files, instead of the image's owners.
    pub uid: Option<u32>,
    /// The group of all files, instead of the image's groups.
    pub gid: Option<u32>,
    /// Permission bits that are cleared in all files.
    pub umask: u16,
    /// Honours device files; only for root.
    pub dev: bool,
    /// Honours set-id bits; only for root.
    pub suid: bool,
    /// Allows programs to be run.
    pub exec: bool,
    /// Bytes that the kernel reads ahead; more than 128 KiB only if root mounts. `None` for a value
    /// that suits the image.
    pub read_ahead: Option<u32>,
    /// Uses the program `fusermount3` even if it is not needed.
    pub helper: bool,
    /// Uses a loop device for mounts of the kernel's EROFS even if it is not needed.
    pub loop_device: bool,
    /// Catches SIGINT, SIGTERM and SIGHUP from before the mount on, for `Session::serve`: a signal
    /// between both would leave a mount without a server.
    pub catch_signals: bool,
    /// Receives every read that failed.
    pub observer: Arc<dyn Observer>,
    /// Receives every request.
    pub trace: Option<Trace>,
}

impl Default for MountOptions {
    fn default() -> Self {
        let root = rustix::process::geteuid().is_root();
        Self {
            threads: 0,
            allow_other: root,
            allow_root: false,
            auto_unmount: false,
            max_read: None,
            default_permissions: true,
            fsname: "sinter".into(),
            image: None,
            labels: Vec::new(),
            subtype: "sinter".into(),
            uid: None,
            gid: None,
            umask: 0,
            dev: false,
            suid: false,
            exec: true,
            read_ahead: None,
            helper: false,
            loop_device: false,
            catch_signals: false,
            observer: Arc::new(Quiet),
            trace: None,
        }
    }
}

impl fmt::Debug for MountOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MountOptions")
            .field("threads", &self.threads)
            .field("allow_other", &self.allow_other)
            .field("fsname", &self.fsname)
            .field("subtype", &self.subtype)
            .finish_non_exhaustive()
    }
}

/// Bytes that the kernel reads ahead.
const READ_AHEAD: u32 = 1 << 20;
/// The same for small blocks: the blocks of one request are decoded one after the other, and the
/// kernel sends the next request only then (measured with blocks of 128 KiB).
const READ_AHEAD_SMALL: u32 = 256 << 10;

impl MountOptions {
    /// Returns the name of an option that is set and that only FUSE has, if there is one.
    pub fn needs_fuse(&self) -> Option<&'static str> {
        let options = [
            (self.allow_root, "allow_root"),
            (self.auto_unmount, "auto_unmount"),
            (self.max_read.is_some(), "max_read"),
        ];
        let mut set = options.into_iter().filter(|(is_set, _)| *is_set);
        set.next().map(|(_, name)| name)
    }

    /// Returns the bytes that the kernel should read ahead in an image with blocks of `block_size`
    /// bytes.
    pub(crate) fn read_ahead(&self, block_size: u64) -> u32 {
        let suitable = match block_size {
            0x1_0000..=0x2_0000 => READ_AHEAD_SMALL,
            _ => READ_AHEAD,
        };
        self.read_ahead.unwrap_or(suitable)
    }

    /// Returns the number of threads to start: enough that a slow read does not delay all others.
    pub fn thread_count(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(4, |count| count.get().clamp(4, 16)),
            count => count.min(256),
        }
    }
}
