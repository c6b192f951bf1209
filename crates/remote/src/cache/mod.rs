//! The cache on disk: stored bytes of remote objects, shared by all processes of a user.
//!
//! In: an object's URL and version. Out: its leaves, as far as they are there. Layout, below the
//! directory of the cache:
//!
//! ```text
//! v1/ID/data     sparse file: the object's bytes at their own offsets
//! v1/ID/leaves   8 bytes a leaf: XXH3-64 of it, little-endian; 0 for one that is absent
//! v1/ID/about    JSON: URL without query, entity tag, length; its time of change is the last use
//! v1/by-url/URL  JSON: the version that the URL had last
//! ```
//!
//! ID is the SHA-256 of URL, entity tag and length, URL is the SHA-256 of the URL.
//!
//! **Invariant:** a leaf is returned only if its sum matches; leftovers of a crash, a full disk or
//! another process are a miss, never wrong bytes. Nothing is mapped.

mod directory;
mod store;
mod sum;
mod tidy;

use std::path::PathBuf;

use sinterfs_model::Error;
use sinterfs_platform::process;

pub(crate) use directory::{CacheDirectory, Known, PATIENCE};
pub(crate) use store::{LeafLock, Store};
pub use tidy::{CachedObject, LeafDamage, clear, collect, list, verify};

/// The place for remote bytes on disk, and its size.
#[derive(Debug, Clone)]
pub struct CacheOptions {
    /// The directory of the cache. It is made if it is missing.
    pub directory: PathBuf,
    /// Bytes that all objects together may take.
    pub limit: u64,
    /// The part of the cache's file system that stays free, in percent: the cache takes nothing
    /// more where less is.
    pub free_percent: u8,
    /// Gets once the reason why the cache cannot be used; reads then go to the server.
    pub warn: fn(&Error),
}

impl CacheOptions {
    /// The default of `limit`.
    pub const LIMIT: u64 = 10 << 30;

    /// The default of `free_percent`.
    pub const FREE_PERCENT: u8 = 5;

    /// Returns options for a directory.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        Self {
            // a daemon changes its working directory
            directory: std::path::absolute(&directory).unwrap_or(directory),
            limit: Self::LIMIT,
            free_percent: Self::FREE_PERCENT,
            warn: |_| {},
        }
    }

    /// Returns the directory that is used unless another one is named: `/var/cache/sinterfs` for
    /// root, else `sinterfs` in `$XDG_CACHE_HOME` or in `~/.cache` (`~/Library/Caches` on macOS,
    /// `%LOCALAPPDATA%` on Windows); `None` without a home.
    pub fn default_directory() -> Option<PathBuf> {
        if process::is_root() {
            return Some("/var/cache/sinterfs".into());
        }
        process::cache_directory().map(|base| base.join("sinterfs"))
    }
}
