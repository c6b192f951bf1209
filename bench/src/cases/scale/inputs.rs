//! Inputs that grow: parts of sets picked by a hash of the path, so that the mixture is the same at
//! each size, and a million small files.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use crate::bench::remove;
use crate::harness::interrupt;
use crate::harness::sets::Set;
use crate::harness::texts::small_text;

/// Links files of all sets, picked by a hash of their path, into a directory until they
/// have `bytes` bytes; returns how many they have.
pub fn link_part(sets: &[Set], bytes: u64, dir: &Path) -> Result<u64, String> {
    let mut files = Vec::new();
    for set in sets {
        for file in &set.files {
            let mut hasher = DefaultHasher::new();
            (&set.name, &file.path).hash(&mut hasher);
            files.push((hasher.finish(), set, file));
        }
    }
    files.sort_by_key(|(hash, ..)| *hash);
    let mut total = 0;
    for (_, set, file) in files {
        interrupt::check()?;
        if total > bytes / 100 * 98 {
            break;
        }
        if total + file.size > bytes {
            continue;
        }
        let from = set.dir.join(&file.path);
        let to = dir.join(&set.name).join(&file.path);
        let error = |e: std::io::Error| format!("{}: {e}", to.display());
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(error)?;
        }
        if fs::hard_link(&from, &to).is_err() {
            fs::copy(&from, &to).map_err(error)?;
        }
        total += file.size;
    }
    Ok(total)
}

/// Makes a million files of 1 KB of words, unless they exist.
pub fn million_files(dir: &Path) -> Result<(), String> {
    let done = dir.with_extension("done");
    if done.exists() {
        return Ok(());
    }
    println!("making a million files");
    remove(dir);
    let error = |e: std::io::Error| format!("{}: {e}", dir.display());
    for sub in 0..1000_u32 {
        interrupt::check()?;
        let sub_dir = dir.join(format!("{sub:03}"));
        fs::create_dir_all(&sub_dir).map_err(error)?;
        for file in 0..1000_u32 {
            let text = small_text(u64::from(sub * 1000 + file), 1000);
            fs::write(sub_dir.join(format!("{file:03}.txt")), text).map_err(error)?;
        }
    }
    fs::write(done, "").map_err(error)
}
