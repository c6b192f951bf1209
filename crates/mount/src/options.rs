//! What a caller can ask of a mount.

use std::fmt;
use std::sync::Arc;

use sinterfs_model::{Observer, Quiet};

/// Is shown one line for each request of the kernel.
#[derive(Clone)]
pub struct Trace(pub Arc<dyn Fn(&str) + Send + Sync>);

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trace")
    }
}

/// Says how an image is mounted.
#[derive(Clone)]
pub struct MountOptions {
    /// The number of threads that answer requests; 0 means what suits the machine.
    pub threads: usize,
    /// Lets users other than the one who mounts use the files. Ordinary users may ask for it only
    /// where `/etc/fuse.conf` says `user_allow_other`.
    pub allow_other: bool,
    /// Lets the kernel check permission bits and owners.
    pub default_permissions: bool,
    /// What `mount` and `df` show as the source.
    pub fsname: String,
    /// The type that `mount` shows after `fuse.`; letters, digits, `-` and `_`.
    pub subtype: String,
    /// The owner that all files show instead of their own.
    pub uid: Option<u32>,
    /// The group that all files show instead of their own.
    pub gid: Option<u32>,
    /// Permission bits that no file shows.
    pub umask: u16,
    /// Honours device files; only for root.
    pub dev: bool,
    /// Honours set-id bits; only for root.
    pub suid: bool,
    /// Lets programs be run.
    pub exec: bool,
    /// How far the kernel reads ahead, in bytes; more than 128 KiB only where root mounts. `None`
    /// means what suits the image.
    pub read_ahead: Option<u32>,
    /// Uses the program `fusermount3` even where it is not needed.
    pub helper: bool,
    /// Mounts through the kernel by way of a loop device even where that is not needed.
    pub loop_device: bool,
    /// Catches SIGINT, SIGTERM and SIGHUP from before the mount on, for `Session::serve`: a signal
    /// in between would leave a mount that nobody serves.
    pub catch_signals: bool,
    /// Is told of every read that failed.
    pub observer: Arc<dyn Observer>,
    /// Is shown every request.
    pub trace: Option<Trace>,
}

impl Default for MountOptions {
    fn default() -> Self {
        let root = rustix::process::geteuid().is_root();
        Self {
            threads: 0,
            allow_other: root,
            default_permissions: true,
            fsname: "sinter".into(),
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

/// How far the kernel reads ahead.
const READ_AHEAD: u32 = 1 << 20;
/// How far where some blocks are decoded in that: one request's are decoded one after the other, and
/// the next request only comes when the first of them are there (measured with blocks of 128 KiB).
const READ_AHEAD_SMALL: u32 = 256 << 10;

impl MountOptions {
    /// How far the kernel is to read ahead in an image with blocks of so many bytes.
    pub(crate) fn read_ahead(&self, block_size: u64) -> u32 {
        let suits = match block_size {
            0x1_0000..=0x2_0000 => READ_AHEAD_SMALL,
            _ => READ_AHEAD,
        };
        self.read_ahead.unwrap_or(suits)
    }

    /// The number of threads to start: enough that a slow read does not hold up everything else.
    pub(crate) fn thread_count(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(4, |count| count.get().clamp(4, 16)),
            count => count.min(256),
        }
    }
}
