//! The inputs: directories with a name, and their files in a fixed order.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::options::BenchOptions;

/// A directory to measure with.
#[derive(Debug)]
pub struct Set {
    pub name: String,
    pub dir: PathBuf,
    /// Regular files by path; of hard links, the first name.
    pub files: Vec<File>,
    /// Their bytes, holes included.
    pub bytes: u64,
}

/// A regular file of a tree.
#[derive(Debug, Clone)]
pub struct File {
    /// Relative to the root of the tree.
    pub path: PathBuf,
    pub size: u64,
}

impl Set {
    /// Lists the files of a directory.
    pub fn open(name: String, dir: &Path) -> Result<Self, String> {
        let dir = dir
            .canonicalize()
            .map_err(|e| format!("{}: {e}", dir.display()))?;
        let files = files(&dir)?;
        Ok(Self {
            name,
            bytes: files.iter().map(|file| file.size).sum(),
            files,
            dir,
        })
    }
}

/// Finds the sets that are asked for, or else those of `usual` that exist, and prints which are
/// missing.
pub fn find(options: &BenchOptions, usual: &[&str]) -> Result<Vec<Set>, String> {
    let place = |name: &str| -> Option<PathBuf> {
        let below = options.data.as_ref().map(|data| data.join(name));
        [Some(PathBuf::from(name)), below]
            .into_iter()
            .flatten()
            .find(|dir| dir.is_dir())
    };
    let mut sets = Vec::new();
    if options.sets.is_empty() {
        let data = options.data.as_ref();
        let data = data.ok_or("name a SET, or the directory of sets with --data")?;
        for name in usual {
            let dir = data.join(name);
            if dir.is_dir() {
                sets.push(Set::open((*name).to_owned(), &dir)?);
            } else {
                println!("{name}: not in {}, left out", data.display());
            }
        }
    }
    for word in &options.sets {
        match place(word) {
            Some(dir) => sets.push(Set::open(short(&dir), &dir)?),
            None => println!("{word}: no such directory, left out"),
        }
    }
    if sets.is_empty() {
        return Err("none of the sets exists".into());
    }
    Ok(sets)
}

fn short(dir: &Path) -> String {
    let full = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    full.file_name().map_or_else(
        || "root".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Returns the regular files of a tree by path, each inode once.
fn files(dir: &Path) -> Result<Vec<File>, String> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    walk(dir, Path::new(""), &mut seen, &mut found)?;
    Ok(found)
}

fn walk(
    root: &Path,
    below: &Path,
    seen: &mut BTreeSet<(u64, u64)>,
    found: &mut Vec<File>,
) -> Result<(), String> {
    let dir = root.join(below);
    let error = |e: std::io::Error| format!("{}: {e}", dir.display());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&dir).map_err(error)? {
        names.push(entry.map_err(error)?.file_name());
    }
    names.sort();
    for name in names {
        let path = below.join(&name);
        let status = std::fs::symlink_metadata(root.join(&path)).map_err(error)?;
        if status.is_dir() {
            walk(root, &path, seen, found)?;
        } else if status.is_file()
            && (status.nlink() == 1 || seen.insert((status.dev(), status.ino())))
        {
            found.push(File {
                path,
                size: status.len(),
            });
        }
    }
    Ok(())
}
