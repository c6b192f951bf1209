//! The layout of inodes: the common header, and the record of each type.
//!
//! In: decoded metadata. Out: typed records, some of them followed by lists.
//!
//! **Invariant:** only layout. A record of a type starts after the `InodeHeader`.
//! Format: `docs/formats/squashfs.md`, "Inodes".

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The type of an inode; any value is valid.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(transparent)]
pub struct InodeType(pub U16);

impl InodeType {
    /// A directory: `Directory`.
    pub const DIRECTORY: u16 = 1;
    /// A regular file: `FileInode`.
    pub const FILE: u16 = 2;
    /// A symlink: `Symlink`.
    pub const SYMLINK: u16 = 3;
    /// A block device: `Device`.
    pub const BLOCK_DEVICE: u16 = 4;
    /// A character device: `Device`.
    pub const CHAR_DEVICE: u16 = 5;
    /// A named pipe: `Ipc`.
    pub const FIFO: u16 = 6;
    /// A socket: `Ipc`.
    pub const SOCKET: u16 = 7;
    /// The difference of a type's extended and basic form.
    pub const EXTENDED: u16 = 7;
    /// A directory: `ExtendedDirectory`.
    pub const EXTENDED_DIRECTORY: u16 = 8;
    /// A regular file: `ExtendedFile`.
    pub const EXTENDED_FILE: u16 = 9;
    /// A symlink: `Symlink`, with an `xattr` after its target.
    pub const EXTENDED_SYMLINK: u16 = 10;
    /// A block device: `ExtendedDevice`.
    pub const EXTENDED_BLOCK_DEVICE: u16 = 11;
    /// A character device: `ExtendedDevice`.
    pub const EXTENDED_CHAR_DEVICE: u16 = 12;
    /// A named pipe: `ExtendedIpc`.
    pub const EXTENDED_FIFO: u16 = 13;
    /// A socket: `ExtendedIpc`.
    pub const EXTENDED_SOCKET: u16 = 14;
}

/// The header of every inode.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct InodeHeader {
    /// The type of the record that follows.
    pub kind: InodeType,
    /// The low 12 bits of `st_mode`.
    pub mode: U16,
    /// The owner: an index into the id table.
    pub uid: U16,
    /// The group: an index into the id table.
    pub gid: U16,
    /// Modification time in seconds since 1970.
    pub modified: U32,
    /// The number of the inode: 1 to the number of inodes.
    pub number: U32,
}

const _: () = assert!(size_of::<InodeHeader>() == 16);

/// A directory of less than 64 KiB without index and extended attributes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Directory {
    /// The distance of the listing's metadata block from the start of the directory table.
    pub block: U32,
    /// Link count: two, and one for each subdirectory.
    pub nlink: U32,
    /// The length of the listing in bytes, plus `DIRECTORY_SIZE_EXTRA`.
    pub size: U16,
    /// The offset of the listing in its decoded metadata block.
    pub offset: U16,
    /// The inode number of the parent; for the root, the number of inodes plus one.
    pub parent: U32,
}

const _: () = assert!(size_of::<Directory>() == 16);

/// Any directory; `index_count` entries of its index follow.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct ExtendedDirectory {
    /// Link count: two, and one for each subdirectory.
    pub nlink: U32,
    /// The length of the listing in bytes, plus `DIRECTORY_SIZE_EXTRA`.
    pub size: U32,
    /// The distance of the listing's metadata block from the start of the directory table.
    pub block: U32,
    /// The inode number of the parent; for the root, the number of inodes plus one.
    pub parent: U32,
    /// The number of `DirectoryIndex`.
    pub index_count: U16,
    /// The offset of the listing in its decoded metadata block.
    pub offset: U16,
    /// The id of its attribute list, or `NO_XATTR`.
    pub xattr: U32,
}

const _: () = assert!(size_of::<ExtendedDirectory>() == 24);

/// A file with one link, and with size and position below 4 GiB; a `BlockWord` per block follows.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct FileInode {
    /// The position of the first block.
    pub start: U32,
    /// The fragment block of its tail, or `NO_FRAGMENT`.
    pub fragment: U32,
    /// The offset of the tail in the decoded fragment block.
    pub fragment_offset: U32,
    /// The size of the content in bytes.
    pub size: U32,
}

const _: () = assert!(size_of::<FileInode>() == 16);

/// Any file; a `BlockWord` per block follows.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct ExtendedFile {
    /// The position of the first block.
    pub start: U64,
    /// The size of the content in bytes.
    pub size: U64,
    /// The bytes of content in holes.
    pub sparse: U64,
    /// The link count.
    pub nlink: U32,
    /// The fragment block of its tail, or `NO_FRAGMENT`.
    pub fragment: U32,
    /// The offset of the tail in the decoded fragment block.
    pub fragment_offset: U32,
    /// The id of its attribute list, or `NO_XATTR`.
    pub xattr: U32,
}

const _: () = assert!(size_of::<ExtendedFile>() == 40);

/// A symlink; the target follows and, in the extended form, the id of its attribute list (`U32`).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Symlink {
    /// The link count.
    pub nlink: U32,
    /// The length of the target in bytes.
    pub size: U32,
}

const _: () = assert!(size_of::<Symlink>() == 8);

/// A device.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Device {
    /// The link count.
    pub nlink: U32,
    /// The device number as Linux's 32-bit `dev_t`.
    pub rdev: DeviceNumber,
}

const _: () = assert!(size_of::<Device>() == 8);

/// A device with extended attributes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct ExtendedDevice {
    /// The link count.
    pub nlink: U32,
    /// The device number as Linux's 32-bit `dev_t`.
    pub rdev: DeviceNumber,
    /// The id of its attribute list, or `NO_XATTR`.
    pub xattr: U32,
}

const _: () = assert!(size_of::<ExtendedDevice>() == 12);

/// A named pipe or a socket.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Ipc {
    /// The link count.
    pub nlink: U32,
}

const _: () = assert!(size_of::<Ipc>() == 4);

/// A named pipe or a socket with extended attributes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct ExtendedIpc {
    /// The link count.
    pub nlink: U32,
    /// The id of its attribute list, or `NO_XATTR`.
    pub xattr: U32,
}

const _: () = assert!(size_of::<ExtendedIpc>() == 8);

/// A device number with 12 bits of major and 20 of minor: bits 0-7 of the minor, the major, bits
/// 8-19 of the minor.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(transparent)]
pub struct DeviceNumber(pub U32);

impl DeviceNumber {
    /// Packs a device number; `None` if major or minor are too large.
    pub const fn new(major: u32, minor: u32) -> Option<Self> {
        if major > 0xfff || minor > 0xf_ffff {
            return None;
        }
        let packed = (minor & 0xff) | (major << 8) | ((minor & 0xf_ff00) << 12);
        Some(Self(U32::new(packed)))
    }

    /// Returns the major number.
    pub const fn major(self) -> u32 {
        (self.0.get() >> 8) & 0xfff
    }

    /// Returns the minor number.
    pub const fn minor(self) -> u32 {
        let packed = self.0.get();
        (packed & 0xff) | ((packed >> 12) & 0xf_ff00)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers_keep_32_bits() {
        for (major, minor) in [(0, 0), (8, 1), (259, 70_000), (0xfff, 0xf_ffff)] {
            let packed = DeviceNumber::new(major, minor).unwrap();
            assert_eq!((packed.major(), packed.minor()), (major, minor));
        }
        assert_eq!(DeviceNumber::new(8, 1).unwrap().0.get(), 0x801);
        assert!(DeviceNumber::new(0x1000, 0).is_none());
        assert!(DeviceNumber::new(0, 0x10_0000).is_none());
    }
}
