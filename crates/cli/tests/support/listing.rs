//! What `lstat`, `readlink`, reads and attributes return for every file below a directory, one
//! text each.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// The facts of each path.
pub type Listing = BTreeMap<String, String>;

/// Lists a tree. Directories that are younger than `made` have no time: no source has one.
pub fn listing(root: &Path, made: i64) -> Listing {
    let mut listing = Listing::new();
    let mut linked = HashMap::new();
    let mut paths = vec![root.to_owned()];
    while let Some(path) = paths.pop() {
        let status = fs::symlink_metadata(&path).expect("a file");
        let name = path.strip_prefix(root).expect("below the root");
        let name = name.as_os_str().as_bytes().escape_ascii().to_string();
        let kind = status.file_type();
        let mut facts = format!(
            "{:o} {}:{} {}",
            status.mode(),
            status.uid(),
            status.gid(),
            status.len() * u64::from(kind.is_file()),
        );
        if kind.is_dir() {
            let below = fs::read_dir(&path).expect("a directory");
            let mut below: Vec<_> = below.map(|entry| entry.expect("an entry").path()).collect();
            // the walk goes over the last first
            below.sort_unstable_by(|a, b| b.cmp(a));
            paths.append(&mut below);
        } else if kind.is_symlink() {
            facts += &format!(" -> {:?}", fs::read_link(&path).expect("a symlink"));
        } else if kind.is_file() {
            let content = fs::read(&path).expect("a file");
            facts += &format!(" {:016x}", digest(&content));
        } else if kind.is_char_device() || kind.is_block_device() {
            facts += &format!(" device {}", status.rdev());
        }
        if !kind.is_dir() && status.nlink() > 1 {
            let first = linked.entry(status.ino()).or_insert_with(|| name.clone());
            facts += &format!(" of {} names like {first}", status.nlink());
        }
        if !(name.is_empty() || kind.is_dir() && status.mtime() >= made) {
            facts += &format!(" at {}.{:09}", status.mtime(), status.mtime_nsec());
        }
        facts += &attributes(&path);
        listing.insert(name, facts);
    }
    // the root is whoever made it
    listing.remove("");
    listing
}

fn attributes(path: &Path) -> String {
    let mut names = [0_u8; 4096];
    let len = rustix::fs::llistxattr(path, &mut names[..]).unwrap_or_default();
    let mut names: Vec<&[u8]> = names[..len].split(|&byte| byte == 0).collect();
    names.sort_unstable();
    let mut text = String::new();
    for name in names.into_iter().filter(|name| !name.is_empty()) {
        let mut value = vec![0_u8; 65536];
        let len = rustix::fs::lgetxattr(path, name, &mut value[..]).expect("an attribute");
        text += &format!(" {}={}", name.escape_ascii(), value[..len].escape_ascii());
    }
    text
}

/// Returns where two listings differ, a line each; nothing if they do not.
pub fn differences(expected: &Listing, found: &Listing) -> String {
    let mut text = String::new();
    for (path, facts) in expected {
        match found.get(path) {
            None => text += &format!("missing {path}: {facts}\n"),
            // a directory without a member has what time the reader likes
            Some(other)
                if !other.starts_with(facts) || (other != facts && !facts.starts_with('4')) =>
            {
                text += &format!("{path}:\n  expected {facts}\n  found    {other}\n");
            }
            Some(_) => {}
        }
    }
    for path in found.keys().filter(|path| !expected.contains_key(*path)) {
        text += &format!("not expected: {path}\n");
    }
    text
}

fn digest(content: &[u8]) -> u64 {
    use std::hash::{DefaultHasher, Hasher};
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    hasher.finish()
}
