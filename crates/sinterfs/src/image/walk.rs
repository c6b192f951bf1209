//! Everything that an image holds, one entry after the other.

use std::collections::HashSet;

use sinterfs_model::{Error, Ino, Result};

use super::directory::{Directory, Entries, Entry};

/// Visits everything below a directory: a directory before its entries.
///
/// Memory is of the order of the depth. A directory that cannot be listed is an error, after which
/// the walk continues after it.
#[derive(Debug)]
pub struct Walk {
    /// The directories above the next entry, the root first.
    stack: Vec<Entries>,
    /// Their inode numbers: an image whose directories form a cycle must not hang a reader.
    above: HashSet<Ino>,
    /// The directory to list next.
    pending: Option<Directory>,
    /// Directories that may still be entered.
    left: u64,
}

impl Walk {
    /// Starts at a directory of an image with this many inodes.
    pub(super) fn new(directory: Directory, inodes: u64) -> Self {
        Self {
            stack: Vec::new(),
            above: HashSet::new(),
            pending: Some(directory),
            left: inodes.max(1),
        }
    }

    /// Skips the contents of the directory that the walk returned last.
    pub fn skip_directory(&mut self) {
        self.pending = None;
    }

    fn enter(&mut self, directory: &Directory) -> Result<()> {
        let cycle = self.left == 0 || self.above.contains(&directory.ino());
        if cycle {
            let error = Error::corrupt("a directory is in more than one place");
            return Err(error.path(directory.path()));
        }
        let entries = directory.entries();
        let entries = entries.map_err(|error| error.into_corrupt_entry().path(directory.path()))?;
        self.left -= 1;
        self.above.insert(directory.ino());
        self.stack.push(entries);
        Ok(())
    }
}

impl Iterator for Walk {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(directory) = self.pending.take()
            && let Err(error) = self.enter(&directory)
        {
            return Some(Err(error));
        }
        loop {
            let entries = self.stack.last_mut()?;
            match entries.next() {
                Some(Ok(entry)) => {
                    if entry.is_dir() {
                        self.pending = entry.directory().ok();
                    }
                    return Some(Ok(entry));
                }
                Some(Err(error)) => return Some(Err(error)),
                None => {
                    self.above.remove(&entries.ino());
                    self.stack.pop();
                }
            }
        }
    }
}
