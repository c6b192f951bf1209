//! The entries of a directory, and their order.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::ControlFlow;

use sinterfs::model::{Cursor, Dirent, Image, Ino};
use sinterfs::platform::names;
use sinterfs::{FileType, Result};

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedEntry {
    pub name: Vec<u8>,
    pub ino: Ino,
    pub kind: FileType,
    /// Bytes of a file; 0 of others.
    pub size: u64,
    /// Seconds since 1970.
    pub modified: i64,
    /// Where a symlink points.
    pub target: Option<Vec<u8>>,
}

/// The size of an entry with everything below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sizes {
    /// Bytes of the files.
    pub apparent: u64,
    /// Their share of the image.
    pub stored: u64,
}

/// The known sizes of entries, by path.
pub type KnownSizes = HashMap<Vec<u8>, Sizes>;

/// The order of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// The largest share of the image first.
    #[default]
    Image,
    /// The most bytes first.
    Apparent,
    /// By name.
    Name,
    /// The newest first.
    Time,
}

impl Sort {
    /// Returns the next one, in a circle.
    pub fn next(self) -> Self {
        match self {
            Self::Image => Self::Apparent,
            Self::Apparent => Self::Name,
            Self::Name => Self::Time,
            Self::Time => Self::Image,
        }
    }

    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Image => "size in the image",
            Self::Apparent => "size",
            Self::Name => "name",
            Self::Time => "time",
        }
    }
}

/// Reads the entries of a directory as far as that is possible; returns the first error, too. An
/// entry whose inode cannot be read is listed by its name and type.
pub fn read(image: &dyn Image, dir: Ino) -> (Vec<ListedEntry>, Result<()>) {
    let mut entries = Vec::new();
    let mut read = Ok(());
    let listed = image.read_dir(dir, Cursor::START, &mut |dirent: Dirent<'_>| {
        let found = entry(image, &dirent).unwrap_or_else(|error| {
            if read.is_ok() {
                let error = error.into_corrupt_entry();
                read = Err(error.path(names::path(dirent.name)));
            }
            ListedEntry {
                name: dirent.name.to_vec(),
                ino: dirent.ino,
                kind: dirent.kind,
                size: 0,
                modified: 0,
                target: None,
            }
        });
        entries.push(found);
        ControlFlow::Continue(())
    });
    (entries, read.and(listed))
}

fn entry(image: &dyn Image, dirent: &Dirent<'_>) -> Result<ListedEntry> {
    let inode = image.inode(dirent.ino)?;
    let is_link = inode.kind == FileType::Symlink;
    Ok(ListedEntry {
        name: dirent.name.to_vec(),
        ino: dirent.ino,
        kind: inode.kind,
        size: if inode.kind == FileType::File {
            inode.size
        } else {
            0
        },
        modified: inode.meta.times.modified.secs,
        target: is_link.then(|| image.read_link(dirent.ino)).transpose()?,
    })
}

/// Returns the path of an entry of a directory.
pub fn joined(dir: &[u8], name: &[u8]) -> Vec<u8> {
    if dir.is_empty() {
        name.to_vec()
    } else {
        [dir, b"/", name].concat()
    }
}

/// Returns the numbers of the entries whose names contain `search`, in order. A search without
/// capital letters finds both.
pub fn ordered(
    entries: &[ListedEntry],
    sort: Sort,
    search: &str,
    sizes: &dyn Fn(&ListedEntry) -> Option<Sizes>,
) -> Vec<usize> {
    let matches = |entry: &ListedEntry| {
        let name = String::from_utf8_lossy(&entry.name);
        if search.chars().any(char::is_uppercase) {
            name.contains(search)
        } else {
            name.to_lowercase().contains(search)
        }
    };
    let found = entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| matches(entry));
    let measured = found.map(|(number, entry)| (number, entry, sizes(entry).unwrap_or_default()));
    let mut found: Vec<(usize, &ListedEntry, Sizes)> = measured.collect();
    found.sort_by(|(_, a, size_a), (_, b, size_b)| {
        let order = match sort {
            Sort::Image => size_b.stored.cmp(&size_a.stored),
            Sort::Apparent => size_b.apparent.cmp(&size_a.apparent),
            Sort::Name => Ordering::Equal,
            Sort::Time => b.modified.cmp(&a.modified),
        };
        order.then_with(|| a.name.cmp(&b.name))
    });
    found.into_iter().map(|(number, ..)| number).collect()
}
