//! Decodes the superblock of every version to one structure.
//!
//! In: the first bytes of an image. Out: `Superblock`, validated.
//!
//! **Invariant:** all positions are within `bytes_used`, which is within the source; the inode
//! table precedes the directory table; the block size is a power of two within the format's bounds.

use sinterfs_block::ReadAt;
use sinterfs_codec::CodecId;
use sinterfs_model::{Error, Result};
use zerocopy::FromBytes;

use super::fields::{FieldOrder, bytes_of, split};
use super::metadata::Table;
use crate::codecs;
use crate::layout::{
    self, BLOCK_SIZE_MAX, BLOCK_SIZE_MIN, Compressor, Flags, MAGIC, METADATA_SIZE, NO_TABLE,
};

/// The superblock of any version.
#[derive(Debug, Clone)]
pub struct Superblock {
    /// The major version, 1 to 4.
    pub major: u16,
    /// The minor version.
    pub minor: u16,
    /// The byte order; little since 4.0.
    pub order: FieldOrder,
    /// The codec; gzip before 4.0.
    pub compressor: Compressor,
    /// The number of inodes.
    pub inodes: u32,
    /// Creation time in seconds since 1970.
    pub made: u32,
    /// The block size in bytes.
    pub block_size: u32,
    /// The number of fragment blocks.
    pub fragments: u32,
    /// Features of the image.
    pub flags: Flags,
    /// The root directory's inode.
    pub root: u64,
    /// The length of the image without padding in bytes.
    pub bytes_used: u64,
    /// Owners and groups.
    pub(crate) ids: Ids,
    /// The position of the `XattrTable`.
    pub(crate) xattr_table: Option<u64>,
    /// The inodes.
    pub(crate) inode_table: Table,
    /// The directory listings.
    pub(crate) directory_table: Table,
    /// The position of the fragment table's list of blocks.
    pub(crate) fragment_table: Option<u64>,
    /// The position of the export table's list of blocks.
    pub(crate) export_table: Option<u64>,
}

/// The positions of owners and groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ids {
    /// One lookup table for both (4.0): the position of its list of blocks.
    Table { at: u64, count: u32 },
    /// Two arrays (before 4.0).
    Arrays { users: (u64, u8), groups: (u64, u8) },
}

/// The fields of the superblock before 4.0: version 1 has those up to the root, version 2 those up
/// to the fragment table, version 3.0 all but the last.
const LEGACY: [u32; 26] = [
    32, 32, 32, 32, 32, 32, 32, 16, 16, 16, 16, 8, 8, 8, 32, 64, 32, 32, 32, 64, 64, 64, 64, 64,
    64, 64,
];

/// The length of the longest superblock before 4.0 in bytes.
const LEGACY_LEN: usize = bytes_of(&LEGACY);

/// The offset of the version in every superblock.
const VERSION_AT: usize = 28;

/// The smallest block of versions before 4.0, in bytes.
const LEGACY_BLOCK_MIN: u32 = 512;

/// Returns the byte order of the magic; `None` for any other bytes.
pub(crate) fn magic(bytes: &[u8]) -> Option<FieldOrder> {
    let first = bytes.first_chunk::<4>()?;
    match (u32::from_le_bytes(*first), u32::from_be_bytes(*first)) {
        (MAGIC, _) => Some(FieldOrder::Little),
        (_, MAGIC) => Some(FieldOrder::Big),
        _ => None,
    }
}

impl Superblock {
    /// Reads and validates the superblock at the start of a source.
    ///
    /// `Invalid` if there is none, `Unsupported` for unknown versions, `Corrupt` if it is
    /// inconsistent or the source is too short.
    pub(crate) fn read(source: &dyn ReadAt) -> Result<Self> {
        // version 3 has the longest one; shorter images are extended by zeros
        let mut bytes = [0; LEGACY_LEN];
        let len = usize::try_from(source.len()).map_or(bytes.len(), |len| len.min(bytes.len()));
        let (head, _) = bytes.split_at_mut(len);
        source.read_at(0, head)?;
        let order = magic(&bytes).ok_or_else(|| Error::invalid("no SquashFS image starts here"))?;
        let version = bytes.get(VERSION_AT..).unwrap_or_default();
        let [major, minor] = split(version, order, &[16, 16]);
        let superblock = match (major, minor, order) {
            (1..=3, _, _) => Self::legacy(&bytes, order)?,
            (4, 0, FieldOrder::Little) => Self::current(&bytes)?,
            _ => {
                return Err(Error::unsupported(format!(
                    "version {major}.{minor} of the format; 1.x to 4.0 are known"
                )));
            }
        };
        superblock.validate(source.len())?;
        Ok(superblock)
    }

    fn current(bytes: &[u8]) -> Result<Self> {
        let (stored, _) = layout::Superblock::read_from_prefix(bytes)
            .map_err(|_| Error::corrupt("the superblock is incomplete"))?;
        let some = |position: u64| Some(position).filter(|position| *position != NO_TABLE);
        let block_size = stored.block_size.get();
        check_log(block_size, stored.block_log.get())?;
        let (inodes, directories) = (stored.inode_table.get(), stored.directory_table.get());
        Ok(Self {
            major: stored.major.get(),
            minor: stored.minor.get(),
            order: FieldOrder::Little,
            compressor: stored.compressor,
            inodes: stored.inodes.get(),
            made: stored.made.get(),
            block_size,
            fragments: stored.fragments.get(),
            flags: stored.flags,
            root: stored.root.0.get(),
            bytes_used: stored.bytes_used.get(),
            ids: Ids::Table {
                at: stored.id_table.get(),
                count: match stored.ids.get() {
                    // the count has 16 bits and is never zero, as the root has an owner
                    0 => 1 << 16,
                    count => u32::from(count),
                },
            },
            xattr_table: some(stored.xattr_table.get()),
            inode_table: Table::new("inode table", inodes, directories),
            directory_table: Table::new("directory table", directories, stored.bytes_used.get()),
            fragment_table: some(stored.fragment_table.get())
                .filter(|_| stored.fragments.get() > 0),
            export_table: some(stored.export_table.get())
                .filter(|_| stored.flags.has(Flags::EXPORTABLE)),
        })
    }

    fn legacy(bytes: &[u8], order: FieldOrder) -> Result<Self> {
        let [
            _magic,
            inodes,
            bytes_used_2,
            users_2,
            groups_2,
            inode_table_2,
            directory_table_2,
            major,
            minor,
            block_size_1,
            block_log,
            flags,
            user_count,
            group_count,
            made,
            root,
            block_size_2,
            fragments,
            fragment_table_2,
            bytes_used_3,
            users_3,
            groups_3,
            inode_table_3,
            directory_table_3,
            fragment_table_3,
            export_table,
        ] = split(bytes, order, &LEGACY);
        let wide = major == 3;
        let pick = |narrow: u64, broad: u64| if wide { broad } else { narrow };
        let small = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        let tiny = |value: u64| u8::try_from(value).unwrap_or(u8::MAX);
        let word = |value: u64| u16::try_from(value).unwrap_or(u16::MAX);
        let block_size = small(if major == 1 {
            block_size_1
        } else {
            block_size_2
        });
        check_log(block_size, word(block_log))?;
        let flags = Flags(word(flags).into());
        let bytes_used = pick(bytes_used_2, bytes_used_3);
        let directories = pick(directory_table_2, directory_table_3);
        let fragments = if major == 1 { 0 } else { small(fragments) };
        Ok(Self {
            major: word(major),
            minor: word(minor),
            order,
            compressor: Compressor::GZIP,
            inodes: small(inodes),
            made: small(made),
            block_size,
            fragments,
            flags,
            root,
            bytes_used,
            ids: Ids::Arrays {
                users: (pick(users_2, users_3), tiny(user_count)),
                groups: (pick(groups_2, groups_3), tiny(group_count)),
            },
            xattr_table: None,
            inode_table: Table::new(
                "inode table",
                pick(inode_table_2, inode_table_3),
                directories,
            ),
            directory_table: Table::new("directory table", directories, bytes_used),
            fragment_table: Some(pick(fragment_table_2, fragment_table_3))
                .filter(|_| fragments > 0),
            export_table: Some(export_table)
                .filter(|_| wide && minor > 0 && flags.has(Flags::EXPORTABLE))
                .filter(|position| *position != NO_TABLE),
        })
    }

    fn validate(&self, len: u64) -> Result<()> {
        if self.bytes_used > len {
            return Err(Error::corrupt(format!(
                "truncated: expected {} bytes, found {len}",
                self.bytes_used
            )));
        }
        let smallest = match self.major {
            4 => BLOCK_SIZE_MIN,
            _ => LEGACY_BLOCK_MIN,
        };
        if !(smallest..=BLOCK_SIZE_MAX).contains(&self.block_size) {
            return Err(Error::corrupt(format!(
                "expected a block size of {smallest} to {BLOCK_SIZE_MAX}, found {}",
                self.block_size
            )));
        }
        let (inodes, directories) = (self.inode_table.start, self.directory_table.start);
        if inodes >= directories || directories > self.bytes_used {
            return Err(Error::corrupt(format!(
                "inode table at {inodes:#x}, directory table at {directories:#x}, end at {:#x}: \
                 expected this order",
                self.bytes_used
            )));
        }
        let ids = match self.ids {
            Ids::Table { at, .. } => [Some(at), None],
            Ids::Arrays { users, groups } => [Some(users.0), Some(groups.0)],
        };
        let tables = [self.xattr_table, self.fragment_table, self.export_table];
        for position in ids.into_iter().chain(tables).flatten() {
            if position > self.bytes_used {
                return Err(Error::corrupt(format!(
                    "a table at {position:#x} is past the end at {:#x}",
                    self.bytes_used
                )));
            }
        }
        // a metadata block is at least 3 bytes long, which bounds the number of inodes
        let smallest = match self.major {
            1 | 2 => 4,
            3 => 16,
            _ => 20,
        };
        let most = (directories - inodes)
            .div_ceil(3)
            .saturating_mul(METADATA_SIZE as u64 / smallest);
        if !(1..=most).contains(&u64::from(self.inodes)) {
            return Err(Error::corrupt(format!(
                "expected 1 to {most} inodes, found {}",
                self.inodes
            )));
        }
        Ok(())
    }

    /// Returns the codec. `Unsupported` for an unknown one.
    pub(crate) fn codec(&self) -> Result<CodecId> {
        codecs::codec(self.compressor).ok_or_else(|| {
            let other = self.compressor.0;
            Error::unsupported(format!(
                "unknown compressor {other}; known are gzip, lzma, lzo, xz, lz4 and zstd"
            ))
        })
    }
}

fn check_log(block_size: u32, log: u16) -> Result<()> {
    if 1u32.checked_shl(u32::from(log)) == Some(block_size) {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "a block size of {block_size}, but a logarithm of {log}"
    )))
}
