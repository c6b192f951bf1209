//! The differences that a comparison reports.

use std::str::FromStr;

use sinterfs_model::{Error, FileType, Result};

/// A field in which nodes can differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Field {
    /// The type.
    Type,
    /// Permission bits.
    Mode,
    /// The owner.
    Uid,
    /// The group.
    Gid,
    /// The length of a file.
    Size,
    /// When the content was last changed.
    Mtime,
    /// A symlink's target.
    Target,
    /// A device's number.
    Device,
    /// The number of names, or the grouping of names by inode.
    Links,
    /// Extended attributes.
    Xattrs,
    /// The bytes of a file.
    Content,
}

impl Field {
    /// All fields with their names.
    pub const ALL: [(Self, &'static str); 11] = [
        (Self::Type, "type"),
        (Self::Mode, "mode"),
        (Self::Uid, "uid"),
        (Self::Gid, "gid"),
        (Self::Size, "size"),
        (Self::Mtime, "mtime"),
        (Self::Target, "target"),
        (Self::Device, "device"),
        (Self::Links, "links"),
        (Self::Xattrs, "xattrs"),
        (Self::Content, "content"),
    ];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(field, _)| *field == self);
        named.map_or("", |(_, name)| name)
    }
}

impl FromStr for Field {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let named = Self::ALL.iter().find(|(_, name)| *name == text);
        named.map(|(field, _)| *field).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|(_, name)| *name).collect();
            Error::invalid(format!("no field `{text}`; there are {}", names.join(", ")))
        })
    }
}

/// A field that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The field.
    pub field: Field,
    /// The old value as text; empty for content.
    pub old: Vec<u8>,
    /// The new value as text.
    pub new: Vec<u8>,
}

impl Difference {
    pub(super) fn content() -> Self {
        Self {
            field: Field::Content,
            old: Vec::new(),
            new: Vec::new(),
        }
    }
}

/// The change of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// The path is in the second tree only.
    Added,
    /// The path is in the first tree only.
    Removed,
    /// It is in both, and some fields differ.
    Changed(Vec<Difference>),
    /// A file with the same bytes, and no other new name, is at this path in the second tree; some
    /// fields may differ, too.
    Renamed(Vec<u8>, Vec<Difference>),
}

/// A path and its change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The path without a leading slash; empty for the root.
    pub path: Vec<u8>,
    /// The type, in the first tree if it is there.
    pub kind: FileType,
    /// The kind of change.
    pub what: What,
}
