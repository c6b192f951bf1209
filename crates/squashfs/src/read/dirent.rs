//! Headers and entries of directory listings of any version, decoded.
//!
//! Format: `docs/formats/squashfs.md`, "Directories".

/// A directory header: properties shared by the entries after it.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntryGroup {
    /// The number of entries that follow.
    pub(super) left: u32,
    /// The distance of the inodes' block from the start of the inode table.
    pub(super) block: u64,
    /// The base of the entries' inode numbers.
    pub(super) number: u32,
}

/// An entry without its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntryHeader {
    pub(super) offset: u16,
    pub(super) kind: u16,
    pub(super) name_len: u16,
    pub(super) delta: i16,
}
