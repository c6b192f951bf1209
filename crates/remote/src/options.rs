//! How remote images are read: plain data.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sinterfs_model::Error;

use crate::cache::CacheOptions;
use crate::recorded_reads::{ReadRecorder, RecordedReads};

/// How the rest of an image is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FillOptions {
    /// Bytes a second, on the average; `None` fetches them as fast as they come.
    pub rate: Option<u64>,
}

/// How to read a remote image.
#[derive(Debug, Clone)]
pub struct RemoteOptions {
    /// How long a read may take with all its retries.
    pub deadline: Duration,
    /// How long a server may send nothing before the request is made again.
    pub stall: Duration,
    /// Bytes of memory for what was fetched.
    pub memory: u64,
    /// Whether an object may be read whose server sends no strong entity tag, so that a change
    /// might go unnoticed.
    pub unpinned: bool,
    /// Whether nothing is asked of servers: what is not in the cache is an error.
    pub offline: bool,
    /// Whether registries are reached without TLS. Those of this machine always are.
    pub plain_http: bool,
    /// The directory with a `hosts.toml` for each registry, as containerd has it in
    /// `/etc/containerd/certs.d`: where the registry is, its authorities, its mirrors.
    pub registry_hosts: Option<PathBuf>,
    /// Whether the mirrors that are named there are asked.
    pub mirrors: bool,
    /// Gets what is read.
    pub recorder: Option<Arc<ReadRecorder>>,
    /// What was read of the image before: it is fetched at once, and nothing ahead of its reads.
    pub recorded: Option<Arc<RecordedReads>>,
    /// Whether the rest of the image is fetched into the cache while it is open.
    pub fill: Option<FillOptions>,
    /// Returns whether the work should stop: whoever waits for a server then gets `Cancelled`.
    pub stop: fn() -> bool,
    /// Gets once the reason why recorded reads or an older image cannot be used, and why a fill
    /// ends early.
    pub warn: fn(&Error),
    /// Where bytes are kept on disk; `None` keeps them in memory alone.
    pub cache: Option<CacheOptions>,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(60),
            stall: Duration::from_secs(15),
            memory: 64 << 20,
            unpinned: false,
            offline: false,
            plain_http: false,
            registry_hosts: None,
            mirrors: true,
            recorder: None,
            recorded: None,
            fill: None,
            stop: || false,
            warn: |_| {},
            cache: None,
        }
    }
}
