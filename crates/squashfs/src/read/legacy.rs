//! Decodes inodes and directories of versions 1 to 3, by tables of the widths of their fields.
//!
//! In: a reader. Out: the same records as of version 4.
//!
//! Version 1 has 16 owners for each of three ranges of inode types and 16-bit block sizes; 2 added
//! fragments, large directories and their index; 3 added inode numbers, parents, link counts and
//! 64-bit positions.
//! **Invariant:** a version's additional field is a row of a table, never a copy of the code.
//! Format: `docs/formats/squashfs.md`, "Versions 1 to 3".

use sinterfs_model::{Error, FileType, Rdev, Result};

use super::dirent::{EntryGroup, EntryHeader};
use super::metadata::MetadataReader;
use super::record::{
    DirectoryLocation, FileBlocks, InodeBody, InodeRecord, Owner, check_target, file_type,
    fragment, listing_len,
};
use crate::layout::inode::InodeType;
use crate::layout::{NO_FRAGMENT, NO_XATTR};

/// Type, mode, owner, group; version 3 adds time and number.
const HEADER_1: [u32; 4] = [4, 12, 4, 4];
const HEADER_2: [u32; 4] = [4, 12, 8, 8];
const HEADER_3: [u32; 6] = [4, 12, 8, 8, 32, 32];

/// A directory of version 1 or 2: size, offset, time, block.
const DIRECTORY_1: [u32; 4] = [19, 13, 32, 24];
/// Link count, size, offset, block, parent.
const DIRECTORY_3: [u32; 5] = [32, 19, 13, 32, 32];

/// A directory with an index: size, offset, time, block, entries of the index.
const LONG_DIRECTORY_2: [u32; 5] = [27, 13, 32, 24, 16];
/// Link count, size, offset, block, entries of the index, parent.
const LONG_DIRECTORY_3: [u32; 6] = [32, 27, 13, 32, 16, 32];

/// Time, start, size.
const FILE_1: [u32; 3] = [32, 32, 32];
/// Time, start, fragment, offset in it, size.
const FILE_2: [u32; 5] = [32, 32, 32, 32, 32];
/// Start, fragment, offset in it, size.
const FILE_3: [u32; 4] = [64, 32, 32, 32];
/// Link count, start, fragment, offset in it, size.
const LONG_FILE_3: [u32; 5] = [32, 64, 32, 32, 64];

/// The type of a file of version 3 with 4 GiB and more, or with several links.
const LONG_FILE: u16 = 9;
/// The type of a directory with an index.
const LONG_DIRECTORY: u16 = 8;

/// A directory's header of version 1 or 2: number of entries minus one, block of the inodes.
const GROUP_1: [u32; 2] = [8, 24];
/// Version 3 adds the inode number that entries are relative to.
const GROUP_3: [u32; 3] = [8, 32, 32];

/// An entry of version 1 or 2: offset of the inode, type, length of the name minus one.
const ENTRY_1: [u32; 3] = [13, 3, 8];
/// Version 3 adds the difference of inode numbers.
const ENTRY_3: [u32; 4] = [13, 3, 8, 16];

/// An index entry: offset in the listing, metadata block, length of the name minus one.
const INDEX_2: [u32; 3] = [27, 29, 8];
const INDEX_3: [u32; 3] = [32, 32, 8];

/// The group index that means the owner's id.
const SAME_GROUP_1: u64 = 15;
const SAME_GROUP: u64 = 255;

/// The number of types in version 1, without pipes and sockets.
const TYPES_1: u16 = 5;

/// Reads the inode at the reader's position.
pub(super) fn inode(reader: &mut MetadataReader<'_>, major: u16) -> Result<InodeRecord> {
    let (kind, mode, user, group, modified, number) = match major {
        1 => {
            let [kind, mode, user, group] = reader.fields(&HEADER_1)?;
            (kind, mode, user, group, None, 0)
        }
        2 => {
            let [kind, mode, user, group] = reader.fields(&HEADER_2)?;
            (kind, mode, user, group, None, 0)
        }
        _ => {
            let [kind, mode, user, group, modified, number] = reader.fields(&HEADER_3)?;
            (kind, mode, user, group, Some(to_u32(modified)), number)
        }
    };
    let mut kind = to_u16(kind);
    let mut user = to_u16(user);
    let mut group = u8::try_from(group).ok();
    match major {
        1 => {
            let bank = owner_range_1(reader, &mut kind)?;
            user = user.saturating_add(bank * 16);
            group = group.filter(|group| u64::from(*group) != SAME_GROUP_1);
        }
        _ => group = group.filter(|group| u64::from(*group) != SAME_GROUP),
    }
    let mut record = InodeRecord {
        kind: FileType::Fifo,
        mode: to_u16(mode),
        owner: Owner::Arrays { user, group },
        modified,
        number: to_u32(number),
        nlink: None,
        xattr: NO_XATTR,
        body: InodeBody::Ipc,
    };
    match kind {
        LONG_DIRECTORY if major > 1 => {
            record.kind = FileType::Directory;
            long_directory(reader, major, &mut record)?;
        }
        LONG_FILE if major == 3 => {
            record.kind = FileType::File;
            file(reader, major, true, &mut record)?;
        }
        1..=7 => {
            record.kind = file_type(kind)?;
            body(reader, major, &mut record)?;
        }
        _ => return Err(Error::corrupt(format!("unknown inode type {kind}"))),
    }
    Ok(record)
}

/// Splits version 1's type into type and range of owners; for pipes and sockets it is a field.
fn owner_range_1(reader: &mut MetadataReader<'_>, kind: &mut u16) -> Result<u16> {
    let Some(index) = kind.checked_sub(1) else {
        let [own, bank] = reader.fields(&[4, 4])?;
        *kind = to_u16(own);
        if !matches!(*kind, InodeType::FIFO | InodeType::SOCKET) {
            return Err(Error::corrupt(format!("unknown type {kind} of a pipe")));
        }
        return Ok(to_u16(bank));
    };
    *kind = index % TYPES_1 + 1;
    Ok(index / TYPES_1)
}

/// Reads the record of a basic type.
fn body(reader: &mut MetadataReader<'_>, major: u16, record: &mut InodeRecord) -> Result<()> {
    match record.kind {
        FileType::Directory => directory(reader, major, record),
        FileType::File => file(reader, major, false, record),
        FileType::Symlink => {
            record.nlink = link_count(reader, major)?;
            let [len] = reader.fields(&[16])?;
            let (len, at) = (to_u32(len), reader.position());
            check_target(len)?;
            reader.skip(u64::from(len))?;
            record.body = InodeBody::Symlink { len, at };
            Ok(())
        }
        FileType::BlockDevice | FileType::CharDevice => {
            record.nlink = link_count(reader, major)?;
            let [rdev] = reader.fields(&[16])?;
            record.body = InodeBody::Device(Rdev {
                major: to_u32(rdev >> 8),
                minor: to_u32(rdev & 0xff),
            });
            Ok(())
        }
        FileType::Fifo | FileType::Socket => {
            record.nlink = link_count(reader, major)?;
            Ok(())
        }
    }
}

/// Reads the link count, the first field of every record in version 3.
fn link_count(reader: &mut MetadataReader<'_>, major: u16) -> Result<Option<u32>> {
    if major < 3 {
        return Ok(None);
    }
    let [names] = reader.fields(&[32])?;
    Ok(Some(to_u32(names)))
}

fn directory(reader: &mut MetadataReader<'_>, major: u16, record: &mut InodeRecord) -> Result<()> {
    let (size, offset, block, parent) = if major < 3 {
        let [size, offset, modified, block] = reader.fields(&DIRECTORY_1)?;
        record.modified = Some(to_u32(modified));
        (size, offset, block, 0)
    } else {
        let [names, size, offset, block, parent] = reader.fields(&DIRECTORY_3)?;
        record.nlink = Some(to_u32(names));
        (size, offset, block, parent)
    };
    record.body = InodeBody::Directory(DirectoryLocation {
        block,
        offset: to_u16(offset),
        len: listing_len_of(major, to_u32(size)),
        size: to_u32(size),
        parent: to_u32(parent),
        index: (0, reader.position()),
    });
    Ok(())
}

fn long_directory(
    reader: &mut MetadataReader<'_>,
    major: u16,
    record: &mut InodeRecord,
) -> Result<()> {
    let (size, offset, block, parent, index) = if major < 3 {
        let [size, offset, modified, block, index] = reader.fields(&LONG_DIRECTORY_2)?;
        record.modified = Some(to_u32(modified));
        (size, offset, block, 0, index)
    } else {
        let [names, size, offset, block, index, parent] = reader.fields(&LONG_DIRECTORY_3)?;
        record.nlink = Some(to_u32(names));
        (size, offset, block, parent, index)
    };
    record.body = InodeBody::Directory(DirectoryLocation {
        block,
        offset: to_u16(offset),
        len: listing_len_of(major, to_u32(size)),
        size: to_u32(size),
        parent: to_u32(parent),
        index: (to_u16(index), reader.position()),
    });
    Ok(())
}

/// Returns the length of a listing; since version 3 the stored size is larger by three.
fn listing_len_of(major: u16, size: u32) -> u32 {
    if major < 3 { size } else { listing_len(size) }
}

fn file(
    reader: &mut MetadataReader<'_>,
    major: u16,
    long: bool,
    record: &mut InodeRecord,
) -> Result<()> {
    let (start, index, offset, size) = match (major, long) {
        (1, _) => {
            let [modified, start, size] = reader.fields(&FILE_1)?;
            record.modified = Some(to_u32(modified));
            (start, u64::from(NO_FRAGMENT), 0, size)
        }
        (2, _) => {
            let [modified, start, index, offset, size] = reader.fields(&FILE_2)?;
            record.modified = Some(to_u32(modified));
            (start, index, offset, size)
        }
        (_, false) => {
            let [start, index, offset, size] = reader.fields(&FILE_3)?;
            record.nlink = Some(1);
            (start, index, offset, size)
        }
        (_, true) => {
            let [names, start, index, offset, size] = reader.fields(&LONG_FILE_3)?;
            record.nlink = Some(to_u32(names));
            (start, index, offset, size)
        }
    };
    record.body = InodeBody::File(FileBlocks {
        start,
        size,
        sparse: 0,
        fragment: fragment(to_u32(index), to_u32(offset)),
        words: reader.position(),
    });
    Ok(())
}

/// Reads a directory's header.
pub(super) fn group(reader: &mut MetadataReader<'_>, major: u16) -> Result<EntryGroup> {
    let (count, block, number) = if major < 3 {
        let [count, block] = reader.fields(&GROUP_1)?;
        (count, block, 0)
    } else {
        let [count, block, number] = reader.fields(&GROUP_3)?;
        (count, block, number)
    };
    Ok(EntryGroup {
        left: to_u32(count).saturating_add(1),
        block,
        number: to_u32(number),
    })
}

/// Reads a directory's entry up to its name.
pub(super) fn entry(reader: &mut MetadataReader<'_>, major: u16) -> Result<EntryHeader> {
    let (offset, kind, len, delta) = if major < 3 {
        let [offset, kind, len] = reader.fields(&ENTRY_1)?;
        (offset, kind, len, 0)
    } else {
        let [offset, kind, len, delta] = reader.fields(&ENTRY_3)?;
        (offset, kind, len, to_u16(delta).cast_signed())
    };
    Ok(EntryHeader {
        offset: to_u16(offset),
        kind: to_u16(kind),
        name_len: to_u16(len).saturating_add(1),
        delta,
    })
}

/// Reads an entry of a directory's index: offset in the listing, block, length of the name.
pub(super) fn index_entry(reader: &mut MetadataReader<'_>, major: u16) -> Result<(u32, u64, u32)> {
    let widths = if major < 3 { &INDEX_2 } else { &INDEX_3 };
    let [offset, block, len] = reader.fields(widths)?;
    Ok((to_u32(offset), block, to_u32(len).saturating_add(1)))
}

/// Returns the lengths of a header and of an entry without its name.
pub(super) fn sizes(major: u16) -> (u32, u32) {
    if major < 3 { (4, 3) } else { (9, 5) }
}

/// Converts a field of at most 32 bits.
fn to_u32(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Converts a field of at most 16 bits.
fn to_u16(value: u64) -> u16 {
    u16::try_from(value).unwrap_or(u16::MAX)
}
