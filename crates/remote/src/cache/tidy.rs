//! The cache as a whole: what is in it, its bound, its damage.
//!
//! **Invariant:** an object that a process has open is never removed.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sinterfs_model::{Error, Result};
use sinterfs_platform::{FileAt, files};

use super::directory::{CacheDirectory, open_file, read_description, require_own};
use super::sum::sum_of;
use crate::plan::{self, LEAF};

/// An object in the cache.
#[derive(Debug, Clone)]
pub struct CachedObject {
    /// The URL, without its query; `None` if its description is damaged.
    pub url: Option<String>,
    /// The length of the object in bytes.
    pub len: u64,
    /// Bytes that it takes on disk.
    pub stored: u64,
    /// When it was used last.
    pub used: SystemTime,
    dir: PathBuf,
}

/// The result of comparing leaves with their sums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeafDamage {
    /// Leaves that were compared.
    pub checked: u64,
    /// Leaves that did not match, and are forgotten now.
    pub damaged: u64,
}

/// Lists the objects of a cache, the one used last first. A cache that is not there is empty.
///
/// # Errors
/// `Io` if the directory cannot be read; `Invalid` if it belongs to another user, or others may
/// write there.
pub fn list(directory: &Path) -> Result<Vec<CachedObject>> {
    let Some(cache) = CacheDirectory::existing(directory)? else {
        return Ok(Vec::new());
    };
    let mut objects = Vec::new();
    for entry in entries(&cache.root)? {
        // a symlink is no object
        if is_object(&entry) && entry.file_type().is_ok_and(|found| found.is_dir()) {
            objects.push(object(entry.path()));
        }
    }
    objects.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.dir.cmp(&b.dir)));
    Ok(objects)
}

fn entries(dir: &Path) -> Result<Vec<DirEntry>> {
    let io = |error| Error::io("cannot read the cache", error).path(dir);
    let entries = std::fs::read_dir(dir).map_err(io)?;
    entries.collect::<std::io::Result<_>>().map_err(io)
}

/// Returns whether a name belongs to an object.
fn is_object(entry: &DirEntry) -> bool {
    entry.file_name().len() == 64
}

fn object(dir: PathBuf) -> CachedObject {
    let about = dir.join("about");
    let described = read_description(&about);
    let used = std::fs::symlink_metadata(&about).and_then(|found| found.modified());
    let stored = ["data", "leaves", "about"]
        .iter()
        .filter_map(|name| std::fs::symlink_metadata(dir.join(name)).ok())
        .map(|found| files::allocated(&found))
        .sum();
    CachedObject {
        len: described.as_ref().map_or(0, |(_, version)| version.len),
        url: described.map(|(url, _)| url),
        stored,
        used: used.unwrap_or(SystemTime::UNIX_EPOCH),
        dir,
    }
}

/// Removes the objects that nobody has open, those used longest ago first, until the rest takes at
/// most `limit` bytes; returns the bytes that were freed.
///
/// # Errors
/// `Io` if the directory cannot be read.
pub fn collect(directory: &Path, limit: u64) -> Result<u64> {
    let objects = list(directory)?;
    let mut total: u64 = objects.iter().map(|object| object.stored).sum();
    let mut freed = 0_u64;
    for object in objects.iter().rev() {
        if total <= limit {
            break;
        }
        if remove(object) {
            total = total.saturating_sub(object.stored);
            freed = freed.saturating_add(object.stored);
        }
    }
    Ok(freed)
}

/// Removes all objects that nobody has open; returns the bytes that were freed.
///
/// # Errors
/// `Io` if the directory cannot be read.
pub fn clear(directory: &Path) -> Result<u64> {
    let mut freed = 0_u64;
    for object in list(directory)? {
        if remove(&object) {
            freed = freed.saturating_add(object.stored);
        }
    }
    if let Some(cache) = CacheDirectory::existing(directory)? {
        for note in entries(&cache.notes())? {
            // a note that stays costs a few bytes
            let _ = std::fs::remove_file(note.path());
        }
        for other in entries(&cache.root)?
            .iter()
            .filter(|entry| is_object(entry))
        {
            // what is left under the name of an object is open, or no directory
            let _ = std::fs::remove_file(other.path());
        }
    }
    Ok(freed)
}

/// Makes the cache smaller than a bound, and keeps `reserve` bytes of its file system free. Returns
/// whether there is room now.
pub(super) fn make_room(directory: &Path, limit: u64, reserve: u64) -> bool {
    let Ok(objects) = list(directory) else {
        return false;
    };
    let total: u64 = objects.iter().map(|object| object.stored).sum();
    let aim = limit.min(total.saturating_sub(reserve));
    if total <= aim {
        return true;
    }
    collect(directory, aim).is_ok_and(|freed| total.saturating_sub(freed) <= aim)
}

/// Removes an object unless a process has it open.
fn remove(object: &CachedObject) -> bool {
    if require_own(&object.dir).is_err() {
        return false;
    }
    // without a lock no process can have it open
    let lock = open_file(&object.dir.join("lock"), true);
    if lock.is_ok_and(|lock| lock.try_lock().is_err()) {
        return false;
    }
    // the sums first: bytes without them are nothing
    let _ = std::fs::remove_file(object.dir.join("leaves"));
    std::fs::remove_dir_all(&object.dir).is_ok()
}

/// Compares all leaves with their sums, and forgets those that do not match.
///
/// # Errors
/// `Io` if the directory cannot be read, or a damaged leaf not be forgotten.
pub fn verify(directory: &Path) -> Result<Vec<(CachedObject, LeafDamage)>> {
    let objects = list(directory)?.into_iter();
    let all = objects.map(|object| Ok((object.clone(), verify_object(&object)?)));
    all.collect()
}

fn verify_object(object: &CachedObject) -> Result<LeafDamage> {
    let path = object.dir.join("leaves");
    let io = |error| Error::io("cannot verify the cache", error).path(&path);
    require_own(&object.dir)?;
    let (Ok(data), Ok(sums)) = (
        open_file(&object.dir.join("data"), false),
        open_file(&path, true),
    ) else {
        return Ok(LeafDamage::default());
    };
    let mut damage = LeafDamage::default();
    for leaf in 0..object.len.div_ceil(LEAF) {
        let mut sum = [0; 8];
        if sums
            .read_exact_at(&mut sum, leaf.saturating_mul(8))
            .is_err()
        {
            break;
        }
        let sum = u64::from_le_bytes(sum);
        if sum == 0 {
            continue;
        }
        let range = plan::bytes(&(leaf..leaf.saturating_add(1)), object.len);
        let len = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0);
        let mut bytes = vec![0; len];
        let read = data.read_exact_at(&mut bytes, range.start);
        damage.checked = damage.checked.saturating_add(1);
        if read.is_err() || sum_of(&bytes) != sum {
            damage.damaged = damage.damaged.saturating_add(1);
            sums.write_all_at(&[0; 8], leaf.saturating_mul(8))
                .map_err(io)?;
        }
    }
    Ok(damage)
}
