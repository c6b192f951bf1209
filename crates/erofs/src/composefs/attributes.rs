//! Extended attributes of a written image: the files' attributes, escaped if overlayfs would
//! mistake them for its own, and the attributes by which overlayfs finds content in the store.
//!
//! In: files. Out: the attribute area of each inode, and the shared attributes.
//!
//! **Invariant:** attributes are sorted by their full names; one that two inodes have is shared,
//! the shared ones are sorted backwards by name, length and value.

use std::collections::HashMap;

use sinterfs_block::checksum::xxh3_64;
use sinterfs_model::{Error, FileType, Result};
use zerocopy::IntoBytes;
use zerocopy::little_endian::U32;

use super::files::{Body, Files, Inode, ObjectPath};
use super::object_path;
use crate::layout::{XATTR_WORD, XattrHeader, xattr_prefix};
use crate::overlay_attributes::{ESCAPED, METACOPY, TRUSTED, USER};
use crate::write::xattrs::{filter_bit, write_entry};

/// The most shared attributes that an inode refers to.
const SHARED_MAX: usize = 128;

/// The prefixes that have a number.
const PREFIXES: [u8; 5] = [1, 2, 3, 4, 6];

/// Full names and values.
pub(super) type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// The role of an inode in overlayfs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Role {
    pub(super) is_root: bool,
    /// A device 0:0, which overlayfs would take for a whiteout.
    pub(super) is_whiteout: bool,
    /// A directory with whiteouts in it.
    pub(super) has_whiteouts: bool,
    /// Whether such a directory is marked as opaque, too: version 1 of the format.
    pub(super) marks_opaque: bool,
}

/// Returns all attributes of an inode.
pub(super) fn attributes(files: &Files, inode: &Inode, role: Role) -> Pairs {
    let own = files.xattrs().pairs(inode.xattrs);
    let mut pairs: Pairs = own
        .map(|(name, value)| (escaped(name), value.to_vec()))
        .collect();
    let mut set = |parts: &[&[u8]], value: &[u8]| {
        let name = parts.concat();
        pairs.retain(|(known, _)| *known != name);
        pairs.push((name, value.to_vec()));
    };
    if role.is_root {
        // hides the object store below
        set(&[TRUSTED, b"opaque"], b"y");
    }
    if role.is_whiteout {
        set(&[TRUSTED, ESCAPED, b"whiteout"], b"");
        set(&[USER, b"whiteout"], b"");
    }
    if role.has_whiteouts {
        set(&[TRUSTED, ESCAPED, b"whiteouts"], b"");
        set(&[USER, b"whiteouts"], b"");
        if role.marks_opaque {
            set(&[TRUSTED, ESCAPED, b"opaque"], b"x");
            set(&[USER, b"opaque"], b"x");
        }
    }
    if let (FileType::File, Body::Object { path, digest, .. }) = (inode.kind, &inode.body) {
        let metacopy = digest.map(|digest| [&METACOPY, &digest[..]].concat());
        set(&[TRUSTED, b"metacopy"], &metacopy.unwrap_or_default());
        let path = match (path, digest) {
            (ObjectPath::Named(path), _) => Some(path.to_vec()),
            (ObjectPath::OfDigest, Some(digest)) => Some(object_path(digest).into_bytes()),
            _ => None,
        };
        if let Some(path) = path {
            set(&[TRUSTED, b"redirect"], &[b"/", &path[..]].concat());
        }
    }
    pairs.sort_unstable();
    pairs
}

fn escaped(name: &[u8]) -> Vec<u8> {
    match name.strip_prefix(TRUSTED) {
        Some(rest) => [TRUSTED, ESCAPED, rest].concat(),
        None => name.to_vec(),
    }
}

/// Counts attributes to find those that are shared: first by a hash of each, then by name and
/// value, so that attributes of a single inode take no memory.
#[derive(Debug, Default)]
pub(super) struct XattrCounts {
    hashes: HashMap<u64, u32>,
}

impl XattrCounts {
    /// Takes the attributes of an inode.
    pub(super) fn add(&mut self, pairs: &Pairs) {
        for pair in pairs {
            *self.hashes.entry(hash(pair)).or_default() += 1;
        }
    }

    /// Makes the table of shared attributes; `all` are the attributes of all inodes once more.
    pub(super) fn share(self, all: impl Iterator<Item = Pairs>) -> Result<SharedXattrs> {
        let mut counts: HashMap<(Vec<u8>, Vec<u8>), u32> = HashMap::new();
        for pair in all.flatten() {
            if self
                .hashes
                .get(&hash(&pair))
                .is_some_and(|count| *count > 1)
            {
                *counts.entry(pair).or_default() += 1;
            }
        }
        let mut shared: Vec<_> = counts
            .into_iter()
            .filter_map(|(pair, count)| (count > 1).then_some(pair))
            .collect();
        shared.sort_unstable_by(|(a, x), (b, y)| (b, y.len(), y).cmp(&(a, x.len(), x)));
        let (mut bytes, mut places) = (Vec::new(), HashMap::new());
        for pair in shared {
            let place = u32::try_from(bytes.len() as u64 / XATTR_WORD);
            let place = place.map_err(|_| Error::limit("16 GiB of shared attributes"))?;
            let (prefix, rest) = split(&pair.0);
            write_entry(prefix, rest, &pair.1, &mut bytes);
            places.insert(pair, place);
        }
        Ok(SharedXattrs { bytes, places })
    }
}

fn hash((name, value): &(Vec<u8>, Vec<u8>)) -> u64 {
    xxh3_64(&[&name.len().to_le_bytes(), &name[..], value].concat())
}

/// Splits the prefix off a name, by its number.
fn split(name: &[u8]) -> (u8, &[u8]) {
    let known = PREFIXES.iter().find_map(|&number| {
        let rest = name.strip_prefix(xattr_prefix(number)?.as_bytes())?;
        Some((number, rest))
    });
    known.unwrap_or((0, name))
}

/// The attributes that several inodes have.
#[derive(Debug, Default)]
pub(super) struct SharedXattrs {
    /// As they are in the image.
    pub(super) bytes: Vec<u8>,
    /// The position of each of them, in words from the first.
    places: HashMap<(Vec<u8>, Vec<u8>), u32>,
}

impl SharedXattrs {
    /// Makes the attribute area of an inode; `first` is the number of the first shared attribute.
    pub(super) fn inline(&self, pairs: &Pairs, first: u32) -> Vec<u8> {
        if pairs.is_empty() {
            return Vec::new();
        }
        let (mut numbers, mut own, mut filter) = (Vec::new(), Vec::new(), 0);
        for pair in pairs {
            let (prefix, rest) = split(&pair.0);
            filter |= filter_bit(prefix, rest);
            match self.places.get(pair) {
                Some(place) if numbers.len() < SHARED_MAX => {
                    numbers.push(U32::new(first.saturating_add(*place)));
                }
                _ => write_entry(prefix, rest, &pair.1, &mut own),
            }
        }
        let header = XattrHeader {
            name_filter: U32::new(!filter),
            shared_count: u8::try_from(numbers.len()).unwrap_or(u8::MAX),
            reserved: [0; 7],
        };
        [header.as_bytes(), numbers.as_bytes(), &own].concat()
    }
}
