//! The directory of the cache: who may write there, and which version a URL had last.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sinterfs_block::checksum::sha256;
use sinterfs_block::verity::hex;
use sinterfs_model::{Error, Result};
use sinterfs_platform::files;

use crate::version::ObjectVersion;

/// The version of the layout.
const LAYOUT: &str = "v1";

/// How long another process may hold a lock before this one goes on without it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// How often a lock that somebody else holds is tried.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The longest file that describes an object.
const LONGEST: u64 = 64 << 10;

/// A cache directory that only its owner can write to.
#[derive(Debug, Clone)]
pub(crate) struct CacheDirectory {
    pub(crate) root: PathBuf,
}

/// What is known about the version of a URL.
pub(crate) enum Known {
    /// It had this one last.
    Version(ObjectVersion),
    /// Nothing; the caller keeps the lock until it has found out.
    Nothing(#[allow(dead_code, reason = "held, not read")] Option<File>),
}

impl CacheDirectory {
    /// Opens the directory of a cache, making it if it is missing.
    ///
    /// # Errors
    /// `Io` if that fails; `Invalid` if other users may write there, or own it.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let io = |error| Error::io("cannot use the cache", error).path(path);
        let root = path.join(LAYOUT);
        for dir in [path, &root, &root.join("by-url")] {
            let made = files::make_private_dir(dir);
            if let Err(error) = made
                && !dir.is_dir()
            {
                return Err(io(error));
            }
            let found = std::fs::symlink_metadata(dir).map_err(io)?;
            if !files::is_own_dir(&found) {
                let what = "the cache belongs to another user, or others may write there";
                return Err(Error::invalid(what).path(dir));
            }
        }
        Ok(Self { root })
    }

    /// Returns the directory of an object.
    pub(crate) fn object(&self, url: &str, version: &ObjectVersion) -> PathBuf {
        let etag = version.etag.as_deref().unwrap_or_default();
        let name = format!("{url}\n{etag}\n{}", version.len);
        self.root.join(hex(&sha256(name.as_bytes())))
    }

    fn by_url(&self, url: &str) -> PathBuf {
        self.root.join("by-url").join(hex(&sha256(url.as_bytes())))
    }

    /// Returns the version that a URL had last. If there is none, the first process that asks gets
    /// the lock, and all others wait for it, so that one alone asks the server; one that is stopped
    /// is waited for as long as for a leaf.
    pub(crate) fn known(&self, url: &str, may_wait: bool) -> Known {
        let path = self.by_url(url);
        if let Some(version) = read_version(&path) {
            return Known::Version(version);
        }
        let mut options = File::options();
        let lock = options
            .create(true)
            .append(true)
            .open(path.with_extension("lock"));
        let Ok(lock) = lock else {
            return Known::Nothing(None);
        };
        if may_wait && !locked(&lock) {
            return Known::Nothing(None);
        }
        match read_version(&path) {
            Some(version) => Known::Version(version),
            None => Known::Nothing(Some(lock)),
        }
    }

    /// Notes the version of a URL.
    pub(crate) fn note(&self, url: &str, version: &ObjectVersion) -> Result<()> {
        let about = describe(url, version);
        write_whole(&self.by_url(url), &about)
    }
}

/// Locks a file, waiting for a while; returns whether that succeeded.
fn locked(file: &File) -> bool {
    let begin = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return true,
            Err(TryLockError::WouldBlock) if begin.elapsed() < PATIENCE => {
                std::thread::sleep(LOOK_AGAIN);
            }
            Err(_) => return false,
        }
    }
}

/// Returns a description of an object as it is stored.
pub(crate) fn describe(url: &str, version: &ObjectVersion) -> String {
    json!({ "url": url, "etag": version.etag, "length": version.len }).to_string()
}

/// Reads the URL and the version in a description; `None` if it is damaged or missing.
pub(crate) fn read_description(path: &Path) -> Option<(String, ObjectVersion)> {
    if std::fs::metadata(path).ok()?.len() > LONGEST {
        return None;
    }
    let value: Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let version = ObjectVersion {
        len: value.get("length")?.as_u64()?,
        etag: Some(value.get("etag")?.as_str()?.to_owned()),
    };
    Some((value.get("url")?.as_str()?.to_owned(), version))
}

fn read_version(path: &Path) -> Option<ObjectVersion> {
    read_description(path).map(|(_, version)| version)
}

/// Replaces a file by one with this content, so that no reader sees a half.
pub(crate) fn write_whole(path: &Path, content: &str) -> Result<()> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    // processes in containers may have the same number
    let moment = std::time::UNIX_EPOCH
        .elapsed()
        .map_or(0, |time| time.as_nanos());
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let process = std::process::id();
    let temporary = path.with_extension(format!("new-{process}-{number}-{moment:x}"));
    let written = std::fs::write(&temporary, content);
    let renamed = written.and_then(|()| std::fs::rename(&temporary, path));
    renamed.map_err(|error| {
        // what could not be written need not be there
        let _ = std::fs::remove_file(&temporary);
        Error::io("cannot write to the cache", error).path(path)
    })
}
