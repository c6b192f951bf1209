//! The names of one directory, and the content that EROFS makes of them.
//!
//! In: a directory of an image. Out: blocks of entries. **Invariant:** entries are sorted across
//! all blocks, `.` and `..` among them; names that no kernel accepts are an error.

#![expect(
    clippy::cast_possible_truncation,
    reason = "every region of the address space is limited before a value is stored"
)]

use std::ops::ControlFlow;

use sinterfs_model::{Cursor, Error, FileType, Image, Ino, Kind, Result};

use crate::layout::NAME_MAX;
use crate::write::directories::{first_block, write_block};
use crate::write::{BLOCK, BlockSize};

#[derive(Debug, Clone, Copy)]
struct Entry {
    start: usize,
    len: usize,
    ino: Ino,
    kind: FileType,
    nid: u64,
}

/// The names of a directory, in the order of the image.
#[derive(Debug, Default)]
pub(super) struct DirectoryListing {
    names: Vec<u8>,
    entries: Vec<Entry>,
    /// Whether that order is the one that EROFS needs.
    is_sorted: bool,
}

impl DirectoryListing {
    /// Reads the names of a directory, up to its end or the first damage.
    pub(super) fn of(image: &dyn Image, dir: Ino) -> Result<Self> {
        let mut listing = Self::default();
        let mut wrong = None;
        let listed = image.read_dir(dir, Cursor::START, &mut |dirent| {
            let name = dirent.name;
            if !is_name(name) {
                wrong = Some(name.len());
                return ControlFlow::Break(());
            }
            listing.entries.push(Entry {
                start: listing.names.len(),
                len: name.len(),
                ino: dirent.ino,
                kind: dirent.kind,
                nid: 0,
            });
            listing.names.extend_from_slice(name);
            ControlFlow::Continue(())
        });
        match listed {
            Err(error) if !is_damage(&error) => return Err(error),
            // whoever gave the image counts its errors, and names what cannot be read
            _ => {}
        }
        if let Some(len) = wrong {
            let what = format!("a name of {len} bytes that no file can have");
            return Err(Error::corrupt(what).path(format!("inode {}", dir.0)));
        }
        let names = listing.entries.iter().map(|entry| listing.name(entry));
        listing.is_sorted = names.is_sorted();
        Ok(listing)
    }

    /// Returns the number of names.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the inode and the type of a name.
    pub(super) fn inode(&self, at: usize) -> (Ino, FileType) {
        let entry = self.entries.get(at);
        entry.map_or((Ino(0), FileType::File), |entry| (entry.ino, entry.kind))
    }

    /// Sets the number of the inode of a name.
    pub(super) fn set_nid(&mut self, at: usize, nid: u64) {
        if let Some(entry) = self.entries.get_mut(at) {
            entry.nid = nid;
        }
    }

    /// Returns the bytes of memory that the names take.
    pub(super) fn memory(&self) -> usize {
        self.names.capacity() + self.entries.capacity() * size_of::<Entry>()
    }

    fn name(&self, entry: &Entry) -> &[u8] {
        let name = self.names.get(entry.start..entry.start + entry.len);
        name.unwrap_or_default()
    }

    /// Lists all names with `.` and `..`, sorted.
    fn all(&self, own: u64, parent: u64) -> Vec<(&[u8], (u64, FileType))> {
        let mut all = Vec::with_capacity(self.entries.len() + 2);
        let names = self.entries.iter();
        all.extend(names.map(|entry| (self.name(entry), (entry.nid, entry.kind))));
        if !self.is_sorted {
            all.sort_by_key(|entry| entry.0);
        }
        for (dot, nid) in [(&b"."[..], own), (b"..", parent)] {
            let at = all.partition_point(|entry| entry.0 < dot);
            all.insert(at, (dot, (nid, FileType::Directory)));
        }
        all
    }

    /// Returns the length of the content.
    pub(super) fn content_len(&self) -> u64 {
        let all = self.all(0, 0);
        let (mut rest, mut len) = (&all[..], 0_u64);
        while !rest.is_empty() {
            let (count, used) = first_block(rest, BlockSize::default());
            len = len.next_multiple_of(BLOCK) + used;
            rest = rest.get(count..).unwrap_or_default();
        }
        len
    }

    /// Makes the content of a directory with these numbers.
    pub(super) fn content(&self, own: u64, parent: u64) -> Vec<u8> {
        let all = self.all(own, parent);
        let (mut rest, mut bytes) = (&all[..], Vec::new());
        while !rest.is_empty() {
            let (block, after) = rest.split_at(first_block(rest, BlockSize::default()).0);
            bytes.resize(bytes.len().next_multiple_of(BLOCK as usize), 0);
            write_block(block, |inode| *inode, &mut bytes);
            rest = after;
        }
        bytes
    }
}

/// Returns whether an error is about a part of an image without which the rest can be shown.
pub(super) fn is_damage(error: &Error) -> bool {
    let kind = error.kind();
    matches!(kind, Kind::Corrupt | Kind::Unsupported | Kind::NotFound)
}

/// Returns whether a kernel accepts a name.
fn is_name(name: &[u8]) -> bool {
    let length = (1..=NAME_MAX).contains(&name.len());
    length && !name.contains(&b'/') && !name.contains(&0) && !matches!(name, b"." | b"..")
}
