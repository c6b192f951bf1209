//! Flags of commands that read remote images: the cache on disk, and what a server must promise.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use std::sync::Arc;

use sinterfs::cache::CacheOptions;
use sinterfs::{
    Error, FillOptions, OpenOptions, ReadRecorder, RecordedReads, RemoteOptions, Result,
};

use crate::args::fetch::FetchWishes;

use crate::{size, text};

/// The heading of these flags.
const REMOTE: &str = "Remote images";

/// How a remote image is read.
#[derive(Debug, clap::Args)]
pub struct RemoteArgs {
    /// The directory of the cache of remote images, or `none` (default: /var/cache/sinterfs for
    /// root, else sinterfs in $XDG_CACHE_HOME or ~/.cache).
    #[arg(long, help_heading = REMOTE, value_name = "DIR")]
    cache: Option<OsString>,

    /// The size of the cache. Images used longest ago are removed; 5 % of the file system stay
    /// free.
    #[arg(long, help_heading = REMOTE, value_name = "SIZE", default_value = "10G",
          value_parser = size::parse)]
    cache_limit: u64,

    /// Read only what is in the cache, and connect to no server.
    #[arg(long, help_heading = REMOTE)]
    offline: bool,

    /// Read a remote image whose server sends no strong ETag. If the image is replaced while it is
    /// read, that may go unnoticed.
    #[arg(long, help_heading = REMOTE)]
    unpinned: bool,

    #[command(flatten)]
    servers: ServerArgs,
}

/// How registries are reached.
#[derive(Debug, clap::Args)]
pub struct ServerArgs {
    /// Reach registries without TLS. Those of this machine always are.
    #[arg(long, help_heading = REMOTE)]
    plain_http: bool,

    /// The directory with containerd's hosts.toml for each registry (as /etc/containerd/certs.d):
    /// its mirrors, and its authorities of TLS.
    #[arg(long, help_heading = REMOTE, value_name = "DIR")]
    hosts: Option<PathBuf>,
}

impl RemoteArgs {
    /// Returns the default options for opening images, with those for remote ones.
    pub fn open_options(&self) -> OpenOptions {
        OpenOptions {
            remote: self.options(),
            ..OpenOptions::default()
        }
    }

    /// Returns the options for remote images.
    pub fn options(&self) -> RemoteOptions {
        let directory = directory(self.cache.as_ref());
        RemoteOptions {
            unpinned: self.unpinned,
            offline: self.offline,
            cache: directory.map(|directory| CacheOptions {
                limit: self.cache_limit,
                warn,
                ..CacheOptions::new(directory)
            }),
            warn: |error| text::warn(&error.to_string()),
            ..self.servers.options()
        }
    }
}

impl ServerArgs {
    /// Returns the options for remote images, without a cache.
    pub fn options(&self) -> RemoteOptions {
        RemoteOptions {
            plain_http: self.plain_http,
            // a daemon changes its working directory
            registry_hosts: self.hosts.as_ref().map(|dir| absolute(dir)),
            stop: crate::interrupt::requested,
            ..RemoteOptions::default()
        }
    }
}

/// What is read of a remote image.
#[derive(Debug, Clone)]
pub struct ReadNotes(Arc<ReadRecorder>);

impl ReadNotes {
    /// Begins to record the reads of the image that will be opened with these options.
    pub fn begin(options: &mut OpenOptions) -> Self {
        let recorder = Arc::new(ReadRecorder::default());
        options.remote.recorder = Some(Arc::clone(&recorder));
        Self(recorder)
    }

    /// Returns the number of bytes that were read.
    pub fn bytes(&self) -> u64 {
        self.0.reads().map_or(0, |reads| reads.bytes())
    }
}

/// Starts the requested prefetch. `Invalid` for a list without reads.
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "only mounts fetch ahead")
)]
pub fn fetch(wishes: &FetchWishes, options: &mut OpenOptions) -> Result<()> {
    let remote = &mut options.remote;
    if let Some(path) = &wishes.prefetch {
        remote.recorded = Some(Arc::new(recorded(path)?));
    }
    remote.fill = wishes.fill.map(|fill| FillOptions { rate: fill.rate });
    Ok(())
}

/// Reads recorded reads from a list.
pub fn recorded(path: &Path) -> Result<RecordedReads> {
    let list = std::fs::read(path).map_err(|error| Error::io("cannot read", error));
    let none = || {
        let what = "it does not say what was read of a remote image (`mount --record`)";
        Error::invalid(what)
    };
    let found = list.and_then(|list| RecordedReads::find(&list)?.ok_or_else(none));
    found.map_err(|error| error.path(path))
}

/// Returns the directory that a flag names, or else the default one.
pub fn directory(flag: Option<&OsString>) -> Option<PathBuf> {
    match flag {
        Some(word) if word == "none" => None,
        Some(directory) => Some(directory.into()),
        None => CacheOptions::default_directory(),
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn warn(error: &Error) {
    text::warn(&format!("not cached: {error}"));
}
