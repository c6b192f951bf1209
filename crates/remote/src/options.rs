//! Options for reading remote images, as plain data.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sinterfs_model::Error;

use crate::cache::CacheOptions;
use crate::recorded_reads::{ReadRecorder, RecordedReads};

/// The way in which the rest of an image is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FillOptions {
    /// Bytes a second, on the average; `None` fetches them as fast as they come.
    pub rate: Option<u64>,
}

/// Options for reading a remote image.
#[derive(Debug, Clone)]
pub struct RemoteOptions {
    /// The time limit of a read with all its retries.
    pub deadline: Duration,
    /// The time for which a server may send nothing before the request is retried.
    pub stall: Duration,
    /// Bytes of memory for what was fetched.
    pub memory: u64,
    /// Whether an object may be read whose server sends no strong entity tag, so that a change
    /// might go unnoticed.
    pub unpinned: bool,
    /// Whether to send no requests: bytes that are not in the cache are an error.
    pub offline: bool,
    /// Whether registries are reached without TLS. Registries on this machine always are.
    pub plain_http: bool,
    /// The directory with a `hosts.toml` for each registry, as containerd has it in
    /// `/etc/containerd/certs.d`: where the registry is, its authorities, its mirrors.
    pub registry_hosts: Option<PathBuf>,
    /// Whether to use the mirrors that are named there.
    pub mirrors: bool,
    /// Gets what is read.
    pub recorder: Option<Arc<ReadRecorder>>,
    /// Earlier reads of the image: they are fetched at once, and nothing ahead of them.
    pub recorded: Option<Arc<RecordedReads>>,
    /// Whether the rest of the image is fetched into the cache while it is open.
    pub fill: Option<FillOptions>,
    /// Returns whether the work should stop: whoever waits for a server then gets `Cancelled`.
    pub stop: fn() -> bool,
    /// Gets once the reason why recorded reads or an older image cannot be used, and why a fill
    /// ends early.
    pub warn: fn(&Error),
    /// The place for bytes on disk; `None` keeps them only in memory.
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
