//! The directory of the cache: its permissions, and the last known version of each URL.
//!
//! **Invariant:** each directory of the cache is one and no symlink, belongs to this user, and no
//! other may write there; each file is a regular one of one name, and no symlink is followed to it.
//! So nothing outside of the cache is read or written, even after a restored backup.

use std::fs::{File, TryLockError};
use std::io::{Read, Write};
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

/// The directory of the versions that URLs had last.
const BY_URL: &str = "by-url";

/// The time for which another process may hold a lock before this one continues without it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// The interval of tries for a lock that another process holds.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The longest file that describes an object.
const MAX_FILE_LEN: u64 = 64 << 10;

/// A cache directory that only its owner can write to.
#[derive(Debug, Clone)]
pub(crate) struct CacheDirectory {
    pub(crate) root: PathBuf,
}

/// The known version of a URL.
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
        let root = path.join(LAYOUT);
        for dir in [path, &root, &root.join(BY_URL)] {
            let made = files::make_private_dir(dir);
            if let Err(error) = made
                && !dir.is_dir()
            {
                return Err(Error::io("cannot use the cache", error).path(path));
            }
            require_own(dir)?;
        }
        Ok(Self { root })
    }

    /// Opens the directory of a cache that is there; `None` if it is not.
    ///
    /// # Errors
    /// `Io` if it cannot be looked at; `Invalid` if other users may write there, or own it.
    pub(crate) fn existing(path: &Path) -> Result<Option<Self>> {
        let root = path.join(LAYOUT);
        let cache = Self { root };
        for dir in [path, &cache.root, &cache.notes()] {
            let found = std::fs::symlink_metadata(dir);
            if found.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
                return Ok(None);
            }
            require_own(dir)?;
        }
        Ok(Some(cache))
    }

    /// Returns the directory of the versions that URLs had last.
    pub(crate) fn notes(&self) -> PathBuf {
        self.root.join(BY_URL)
    }

    /// Returns the directory of an object.
    pub(crate) fn object(&self, url: &str, version: &ObjectVersion) -> PathBuf {
        let etag = version.etag.as_deref().unwrap_or_default();
        let name = format!("{url}\n{etag}\n{}", version.len);
        self.root.join(hex(&sha256(name.as_bytes())))
    }

    fn by_url(&self, url: &str) -> PathBuf {
        self.notes().join(hex(&sha256(url.as_bytes())))
    }

    /// Returns the version that a URL had last. If there is none, the first process gets the lock,
    /// and all others wait for it, so that only one sends a request; one that is stopped is waited
    /// for as long as for a leaf.
    pub(crate) fn known(&self, url: &str, may_wait: bool) -> Known {
        let path = self.by_url(url);
        if let Some(version) = read_version(&path) {
            return Known::Version(version);
        }
        let Ok(lock) = open_file(&path.with_extension("lock"), true) else {
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

/// Fails unless a directory is this user's own.
pub(crate) fn require_own(dir: &Path) -> Result<()> {
    let found = std::fs::symlink_metadata(dir);
    let found = found.map_err(|error| Error::io("cannot use the cache", error).path(dir))?;
    if files::is_own_dir(&found) {
        return Ok(());
    }
    let what = if found.is_symlink() {
        "a symlink in the place of a directory of the cache is not followed"
    } else {
        "the cache belongs to another user, or other users may write to it"
    };
    Err(Error::invalid(what).path(dir))
}

/// Opens a file of the cache; to write it, too, makes it if it is missing.
pub(crate) fn open_file(path: &Path, writes: bool) -> std::io::Result<File> {
    let mut options = File::options();
    files::without_following(options.read(true));
    if writes {
        options.write(true).create(true).truncate(false);
    }
    let file = options.open(path)?;
    // what has another name is somebody else's, too
    let is_own = file.metadata()?.is_file() && files::name_count(&file)? <= 1;
    if is_own {
        return Ok(file);
    }
    let what = "it is not a regular file with one name";
    Err(std::io::Error::new(std::io::ErrorKind::InvalidData, what))
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
    let file = open_file(path, false).ok()?;
    let mut text = Vec::new();
    file.take(MAX_FILE_LEN).read_to_end(&mut text).ok()?;
    let value: Value = serde_json::from_slice(&text).ok()?;
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
    let written = files::make(&temporary, 0o600).and_then(|mut file| {
        // an existing file stays as it is
        file.write_all(content.as_bytes())
    });
    let renamed = written.and_then(|()| std::fs::rename(&temporary, path));
    renamed.map_err(|error| {
        // what could not be written need not be there
        let _ = std::fs::remove_file(&temporary);
        Error::io("cannot write to the cache", error).path(path)
    })
}
