//! Attributes that the options of a mount set for all files.

/// Attributes that replace the attributes of all files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shown {
    /// The owner of all files.
    pub uid: Option<u32>,
    /// The group of all files.
    pub gid: Option<u32>,
    /// Permission bits that no file has.
    pub umask: u16,
    /// The UUID of the file system.
    pub uuid: [u8; 16],
}
