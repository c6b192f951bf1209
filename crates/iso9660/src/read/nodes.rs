//! All inodes and names of an image, in memory.
//!
//! **Invariant:** the entries of a directory are adjacent and sorted by name; names are unique, and
//! none is empty, `.`, `..` or has a `/` or NUL. An inode of a directory has one entry.
//!
//! Memory: 112 bytes per inode, 12 bytes and the name per entry, and 24 bytes per section of files
//! that have several.

use std::borrow::Cow;
use std::ops::Range;

use sinterfs_model::{FileType, ListingErrors, Rdev};

use super::rock_ridge::ContentEncoding;

/// The names of directories for moved directories.
const MOVED: [&[u8]; 2] = [b"rr_moved", b".rr_moved"];

/// Results of the walk in addition to the inodes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WalkFacts {
    /// Files that belong to other files, which are left out.
    pub(super) associated: u64,
    /// Inodes that are in no directory.
    pub(super) hidden: u64,
    /// Records with a time of creation.
    pub(super) births: u64,
    /// Records with times of backup, of expiration or of effect.
    pub(super) more_times: u64,
    /// Whether there are times with hundredths of seconds.
    pub(super) long_times: bool,
    /// Whether there are access or inode change times in addition to modification times.
    pub(super) other_times: bool,
    /// Whether there are entries of zisofs.
    pub(super) zisofs_entries: bool,
}

/// An inode.
#[derive(Debug, Clone)]
pub(crate) struct IsoNode {
    pub(crate) kind: FileType,
    pub(crate) mode: u16,
    pub(super) has_attributes: bool,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Times of modification, access and change in hundredths of seconds since 1970.
    pub(super) times: [i64; 3],
    /// The number of entries that refer to the inode.
    pub(super) links: u32,
    /// The index of the directory that has the inode; the root has its own index.
    pub(super) parent: u32,
    /// The indexes of the entries of a directory.
    pub(super) entries: Range<u32>,
    /// The position of the first record of the inode.
    pub(crate) record: u64,
    /// Bytes of a directory, of the decoded content of a file, or of the target of a symlink.
    pub(crate) size: u64,
    pub(super) rdev: Rdev,
    /// The first logical block of a directory or of a file with one section.
    pub(super) block: u32,
    /// The index of the rest that is known of the content of a file.
    pub(super) extra: Option<u32>,
}

/// The content of a file that is not one section of plain bytes.
#[derive(Debug, Clone)]
pub(super) struct ExtraContent {
    /// Its sections.
    pub(super) sections: Range<u32>,
    /// Its encoding.
    pub(super) encoding: Option<ContentEncoding>,
}

/// A contiguous or interleaved part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Section {
    /// The first logical block.
    pub(crate) block: u32,
    /// Bytes.
    pub(crate) len: u32,
    /// Logical blocks of a unit, 0 if the section is contiguous, and those between units.
    pub(super) interleaving: (u8, u8),
    /// The end of the section in the file.
    pub(crate) end: u64,
}

/// A name in a directory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IsoEntry {
    name: u32,
    name_len: u8,
    /// The index of the inode.
    pub(crate) node: u32,
}

/// The tables of an image; the inode with index 0 is the root.
#[derive(Debug, Default)]
pub(crate) struct IsoNodes {
    pub(super) all: Vec<IsoNode>,
    pub(super) entries: Vec<IsoEntry>,
    pub(super) names: Vec<u8>,
    pub(super) extras: Vec<ExtraContent>,
    pub(super) sections: Vec<Section>,
    /// Entries that no listing shows.
    pub(crate) left_out: ListingErrors,
}

impl IsoNodes {
    /// Returns the inode with an index.
    pub(crate) fn get(&self, index: u32) -> Option<&IsoNode> {
        self.all.get(index as usize)
    }

    /// Returns all inodes in the order of the walk.
    pub(crate) fn all(&self) -> &[IsoNode] {
        &self.all
    }

    /// Returns the entries of a directory; none for other inodes.
    pub(crate) fn entries(&self, dir: &IsoNode) -> &[IsoEntry] {
        let Range { start, end } = dir.entries;
        self.entries
            .get(start as usize..end as usize)
            .unwrap_or_default()
    }

    /// Returns the name of an entry.
    pub(crate) fn name(&self, entry: &IsoEntry) -> &[u8] {
        let start = entry.name as usize;
        let end = start + usize::from(entry.name_len);
        self.names.get(start..end).unwrap_or_default()
    }

    /// Finds the index of the inode of a name in a directory.
    pub(super) fn find(&self, dir: &IsoNode, name: &[u8]) -> Option<u32> {
        let entries = self.entries(dir);
        let found = entries.binary_search_by(|entry| self.name(entry).cmp(name));
        entries.get(found.ok()?).map(|entry| entry.node)
    }

    /// Appends a name, of at most 255 bytes, for an inode; `None` if there are too many.
    pub(super) fn push_entry(&mut self, name: &[u8], node: u32) -> Option<()> {
        let start = u32::try_from(self.names.len()).ok()?;
        self.entries.push(IsoEntry {
            name: start,
            name_len: u8::try_from(name.len()).ok()?,
            node,
        });
        self.names.extend_from_slice(name);
        Some(())
    }

    /// Returns the known facts about the content of a file, beyond its first block and size.
    pub(super) fn extra(&self, node: &IsoNode) -> Option<&ExtraContent> {
        self.extras.get(node.extra? as usize)
    }

    /// Returns the sections of a file.
    pub(crate) fn sections(&self, node: &IsoNode) -> Cow<'_, [Section]> {
        match self.extra(node) {
            Some(extra) => {
                let Range { start, end } = extra.sections;
                let found = self.sections.get(start as usize..end as usize);
                Cow::Borrowed(found.unwrap_or_default())
            }
            None => {
                let len = u32::try_from(node.size).unwrap_or(u32::MAX);
                Cow::Owned(vec![Section {
                    block: node.block,
                    len,
                    interleaving: (0, 0),
                    end: len.into(),
                }])
            }
        }
    }

    /// Takes the directory for moved ones out of the root, if nothing else is in it; returns
    /// whether it did.
    pub(super) fn hide_moved(&mut self) -> bool {
        let Some(root) = self.all.first() else {
            return false;
        };
        let found = self.entries(root).iter().position(|entry| {
            let node = self.get(entry.node);
            let is_empty = node.is_some_and(|node| {
                node.kind == FileType::Directory && node.entries.is_empty() && node.size > 0
            });
            is_empty && MOVED.contains(&self.name(entry))
        });
        // the entries of the root are the first ones
        let count = root.entries.end as usize;
        let (Some(at), Some(root)) = (found, self.all.first_mut()) else {
            return false;
        };
        root.entries.end -= 1;
        let rest = self.entries.get_mut(at..count).unwrap_or_default();
        rest.rotate_left(1);
        true
    }
}
