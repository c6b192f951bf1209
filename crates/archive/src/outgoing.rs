//! One name that goes into an archive or a list, as writers receive it.
//!
//! **Invariant:** nothing here is read from disk; a writer makes bytes of it and no I/O.

use std::ops::Range;

use sinterfs_model::Inode;

/// A name on its way out, with all that is known of its inode.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    /// The path without a slash at either end; empty for the root.
    pub path: &'a [u8],
    /// Type, permissions, owner, times, size, device number; the number of names in the archive.
    pub inode: &'a Inode,
    /// The other name of the same file that this name refers to.
    pub link: LinkTarget<'a>,
    /// Extended attributes, sorted by name.
    pub xattrs: &'a [(Vec<u8>, Vec<u8>)],
    /// The data ranges of a file, if it has holes and the archive keeps them.
    pub data: Option<&'a [Range<u64>]>,
}

/// The target of a name that has no inode of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkTarget<'a> {
    /// Nothing else.
    None,
    /// A path of the archive that the inode has already.
    Hard(&'a [u8]),
    /// The target of a symlink.
    Symbolic(&'a [u8]),
}

/// The bytes that must follow a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Follows {
    /// The number of content bytes; for a file with a map of holes, of its data only.
    pub content: u64,
    /// The number of zeros after the content.
    pub padding: u64,
}

impl Follows {
    /// Returns what follows where content is padded to a multiple of `unit`.
    pub(crate) fn of(content: u64, unit: u64) -> Self {
        Self {
            content,
            padding: content.next_multiple_of(unit) - content,
        }
    }
}
