//! What directories have that an archive implies: it names files in them, and not them.
//!
//! In: options of the archive. Out: the attributes of such directories; one that is not set is what
//! the reader of archives takes by default.

/// Attributes of directories that an archive has no member for, and of its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImpliedDirectories {
    /// Their permissions; `None` means 0755.
    pub mode: Option<u16>,
    /// Their owner; `None` means 0.
    pub uid: Option<u32>,
    /// Their group; `None` means 0.
    pub gid: Option<u32>,
    /// Their time in seconds since 1970; `None` means that of the first member below.
    pub time: Option<i64>,
    /// Whether an archive of no bytes has no members, and so only a root; else it is an error.
    pub by_nothing: bool,
}
