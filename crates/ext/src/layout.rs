//! The bytes of ext2, ext3 and ext4: the superblock, features, inodes.
//!
//! In: bytes of an image. Out: fields. Only `ExtSuperblock::decode` checks what it decodes.
//!
//! Format: `docs/formats/ext.md`.

use sinterfs_model::{Error, Rdev, Result, Time, Times};

/// The position of the superblock.
pub const SUPERBLOCK_AT: u64 = 1024;

/// The bytes of the superblock that are read.
pub const SUPERBLOCK_LEN: usize = 0x158;

/// The magic number in the superblock.
pub const MAGIC: u16 = 0xef53;

/// The number of the root's inode.
pub const ROOT: u32 = 2;

/// The bytes of an inode in every version.
pub const INODE_LEN: usize = 128;

/// The bytes of an inode that are decoded: up to the number of a project.
pub const INODE_READ: usize = 0xa0;

/// The bytes of an inode with block pointers, an extent tree, or the target of a symlink.
pub const POINTERS_LEN: usize = 60;

/// Features that a reader must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Incompat(pub u32);

impl Incompat {
    /// Entries of directories have types.
    pub const FILE_TYPES: u32 = 0x2;
    /// The journal has to be replayed.
    pub const RECOVER: u32 = 0x4;
    /// Group descriptors are spread over the device.
    pub const META_GROUPS: u32 = 0x10;
    /// Files may have extent trees.
    pub const EXTENTS: u32 = 0x40;
    /// Block numbers of more than 32 bits.
    pub const WIDE: u32 = 0x80;
    /// The features that are read: the above, features that concern only writers (multiple mount
    /// protection, flexible groups, checksum seeds, large directories), and features that are
    /// refused if an inode uses them (values in inodes, inline data, encryption, folded case).
    pub const READ: u32 = Self::FILE_TYPES | Self::EXTENTS | Self::WIDE | 0x3_f700;

    /// Returns whether a feature is set.
    pub const fn has(self, feature: u32) -> bool {
        self.0 & feature != 0
    }
}

/// The decoded superblock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtSuperblock {
    /// The number of inodes.
    pub inodes: u32,
    /// The number of inodes that are not used; 0 if the file system was not closed, whose number
    /// may be an old one.
    pub free_inodes: u32,
    /// The number of blocks.
    pub blocks: u64,
    /// The number of the first block of the first group.
    pub first_block: u32,
    /// The block size in bytes.
    pub block_size: u32,
    /// Clusters in a group; a cluster is a block, or several of them.
    pub group_clusters: u32,
    /// Inodes in a group.
    pub group_inodes: u32,
    /// Bytes of an inode.
    pub inode_len: u16,
    /// Bytes of a group descriptor.
    pub descriptor_len: u16,
    /// Features that anybody may ignore.
    pub compat: u32,
    /// Features that a reader must know.
    pub incompat: Incompat,
    /// The UUID.
    pub uuid: [u8; 16],
    /// The label, padded with NUL.
    pub label: [u8; 16],
}

impl ExtSuperblock {
    /// Decodes a superblock. `Invalid` if there is none.
    pub fn decode(bytes: &[u8; SUPERBLOCK_LEN]) -> Result<Self> {
        let word = |at| u32::from_le_bytes(part(bytes, at));
        let half = |at| u16::from_le_bytes(part(bytes, at));
        let scale = word(0x18);
        if half(0x38) != MAGIC || scale > 6 || word(0x4c) > 1 {
            return Err(Error::invalid("no ext2, ext3 or ext4 file system"));
        }
        let is_dynamic = word(0x4c) == 1;
        let incompat = Incompat(word(0x60));
        let is_wide = incompat.has(Incompat::WIDE);
        let fields = Self {
            inodes: word(0),
            free_inodes: if half(0x3a) & 1 == 1 { word(0x10) } else { 0 },
            blocks: u64::from(word(4))
                | if is_wide {
                    u64::from(word(0x150)) << 32
                } else {
                    0
                },
            first_block: word(0x14),
            block_size: 1024 << scale,
            group_clusters: word(0x24),
            group_inodes: word(0x28),
            inode_len: if is_dynamic { half(0x58) } else { 128 },
            descriptor_len: if is_wide { half(0xfe) } else { 32 },
            compat: word(0x5c),
            incompat,
            uuid: part(bytes, 0x68),
            label: part(bytes, 0x78),
        };
        let usual_first = u32::from(fields.block_size == 1024);
        let bits = fields.block_size.saturating_mul(8);
        let groups_fit = (1..=bits).contains(&fields.group_clusters)
            && (1..=bits).contains(&fields.group_inodes);
        if fields.first_block != usual_first || !groups_fit {
            return Err(Error::invalid("no ext2, ext3 or ext4 file system"));
        }
        Ok(fields)
    }

    /// Fails with `Unsupported` for features that are not read, with `Corrupt` for lengths that
    /// cannot be.
    pub fn check(&self) -> Result<()> {
        if self.incompat.has(Incompat::RECOVER) {
            let what = "its journal has to be replayed first (by e2fsck, or a mount for writing)";
            return Err(Error::unsupported(what));
        }
        if self.incompat.has(Incompat::META_GROUPS) {
            return Err(Error::unsupported("group descriptors of meta groups"));
        }
        let unknown = self.incompat.0 & !Incompat::READ;
        if unknown != 0 {
            return Err(Error::unsupported(format!("unknown features {unknown:#x}")));
        }
        let len = u32::from(self.inode_len);
        if !len.is_power_of_two() || len < 128 || len > self.block_size {
            return Err(Error::corrupt(format!("inodes of {len} bytes")));
        }
        let len = u32::from(self.descriptor_len);
        if !len.is_power_of_two() || len < 32 || len > self.block_size {
            return Err(Error::corrupt(format!("group descriptors of {len} bytes")));
        }
        Ok(())
    }

    /// Returns the name of the oldest version that has the features.
    pub const fn version(&self) -> &'static str {
        // a journal is a compatible feature
        if self.incompat.0 & !(Incompat::FILE_TYPES | Incompat::META_GROUPS) != 0 {
            "ext4"
        } else if self.compat & 0x4 != 0 {
            "ext3"
        } else {
            "ext2"
        }
    }

    /// Returns the label up to the first NUL.
    pub fn label(&self) -> &[u8] {
        let end = self.label.iter().position(|byte| *byte == 0);
        self.label.get(..end.unwrap_or(16)).unwrap_or_default()
    }
}

/// Flags of an inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InodeFlags(pub u32);

impl InodeFlags {
    /// The content is encrypted.
    pub const ENCRYPTED: u32 = 0x800;
    /// Blocks are found by an extent tree.
    pub const EXTENTS: u32 = 0x8_0000;
    /// The content is in the inode.
    pub const INLINE: u32 = 0x1000_0000;

    /// The flags of `chattr`, about the use and storage of a file, which no other format has. Not
    /// the bits by which the file system says how it found the content.
    pub const ATTRIBUTES: u32 = 0x6293_c0ff;

    /// Returns whether a flag is set, or any of several.
    pub const fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }
}

/// The fields of an inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtInode {
    /// Type and permissions, as in `st_mode`.
    pub mode: u16,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// Bytes of content.
    pub size: u64,
    /// The number of names.
    pub links: u16,
    /// Units of 512 bytes that are stored.
    pub sectors: u64,
    /// The times.
    pub times: Times,
    /// Whether there is a time of birth.
    pub has_birth: bool,
    /// The number of the project whose quota counts the file; 0 for none.
    pub project: u32,
    /// Flags.
    pub flags: InodeFlags,
    /// The block with extended attributes; 0 if there is none.
    pub attributes: u64,
    /// Bytes of the inode past the first 128 before extended attributes.
    pub extra: u16,
    /// Block pointers, an extent tree, a target, or the number of a device.
    pub pointers: [u8; POINTERS_LEN],
}

impl ExtInode {
    /// Decodes an inode, of which there may be more bytes than these.
    pub fn decode(bytes: &[u8]) -> Self {
        let word = |at| u32::from_le_bytes(part(bytes, at));
        let half = |at| u16::from_le_bytes(part(bytes, at));
        let join = |low: u16, high: u16| u32::from(low) | (u32::from(high) << 16);
        let extra = half(0x80);
        // words past the first bytes are there if the inode is that long
        let more = |at: usize| {
            let is_there = usize::from(extra) + INODE_LEN >= at + 4;
            if is_there { word(at) } else { 0 }
        };
        let time = |at, below: usize| time(word(at), more(below));
        Self {
            mode: half(0),
            uid: join(half(2), half(0x78)),
            gid: join(half(0x18), half(0x7a)),
            size: u64::from(word(4)) | (u64::from(word(0x6c)) << 32),
            links: half(0x1a),
            sectors: u64::from(word(0x1c)) | (u64::from(half(0x74)) << 32),
            times: Times {
                accessed: time(0x8, 0x8c),
                changed: time(0xc, 0x84),
                modified: time(0x10, 0x88),
            },
            has_birth: more(0x90) != 0,
            project: more(0x9c),
            flags: InodeFlags(word(0x20)),
            attributes: u64::from(word(0x68)) | (u64::from(half(0x76)) << 32),
            extra,
            pointers: part(bytes, 0x28),
        }
    }

    /// Returns a word of the pointers.
    pub fn pointer(&self, index: usize) -> u32 {
        u32::from_le_bytes(part(&self.pointers, index.saturating_mul(4)))
    }

    /// Returns the number of a device: the first word has the 16-bit number, the second the 32-bit
    /// number.
    pub fn rdev(&self) -> Rdev {
        let number = match self.pointer(0) {
            0 => self.pointer(1),
            old => old & 0xffff,
        };
        Rdev::from_dev_t(number.into())
    }
}

/// Returns a time of signed seconds, two more bits of them, and nanoseconds above these.
fn time(seconds: u32, more: u32) -> Time {
    let nanos = more >> 2;
    Time {
        secs: i64::from(seconds.cast_signed()).saturating_add(i64::from(more & 3) << 32),
        nanos: if nanos < 1_000_000_000 { nanos } else { 0 },
    }
}

/// Returns a part of some bytes; zeros past their end.
pub(crate) fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let found = bytes.get(at..).and_then(<[u8]>::first_chunk);
    found.copied().unwrap_or([0; N])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_34_bits_and_nanoseconds() {
        // the table in the kernel's description of inode timestamps
        let cases = [
            (0xffff_ffff, 0, -1, 0),
            (0x8000_0000, 0, -(1 << 31), 0),
            (0x7fff_ffff, 0, (1 << 31) - 1, 0),
            (0x8000_0000, 1, 1 << 31, 0),
            (0x0000_0000, 1, 1 << 32, 0),
            (0xffff_ffff, 3, 0x2_ffff_ffff, 0),
            (0x7fff_ffff, 3, 0x3_7fff_ffff, 0),
            (0, 999_999_999 << 2, 0, 999_999_999),
        ];
        for (seconds, more, secs, nanos) in cases {
            assert_eq!(time(seconds, more), Time { secs, nanos });
        }
    }

    #[test]
    fn device_numbers_of_both_forms() {
        let mut bytes = [0; INODE_READ];
        bytes[0x28..0x2a].copy_from_slice(&[3, 8]);
        let old = ExtInode::decode(&bytes).rdev();
        assert_eq!((old.major, old.minor), (8, 3));
        bytes[0x28..0x30].copy_from_slice(&[0, 0, 0, 0, 0x2c, 5, 0x10, 0]);
        let new = ExtInode::decode(&bytes).rdev();
        assert_eq!((new.major, new.minor), (5, 0x12c));
    }
}
