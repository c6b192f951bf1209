//! Decodes inodes of every version to one structure.
//!
//! In: a reader at an inode. Out: `InodeRecord`: the inode's fields, and the positions of its
//! lists.
//!
//! **Invariant:** nothing is resolved: owners are indexes, lists are not read. Sizes are within the
//! bounds of the format and the kernel.
//! Format: `docs/formats/squashfs.md`, "Inodes".

use sinterfs_model::{Error, Rdev, Result};
use zerocopy::little_endian::U32;

use super::legacy;
use super::metadata::MetadataReader;
use super::record::{
    DirectoryLocation, FileBlocks, InodeBody, InodeRecord, Owner, check_target, file_type,
    fragment, listing_len,
};
use crate::layout::NO_XATTR;
use crate::layout::inode::{
    Device, Directory, ExtendedDevice, ExtendedDirectory, ExtendedFile, ExtendedIpc, FileInode,
    InodeHeader, InodeType, Ipc, Symlink,
};

/// Reads the inode at the reader's position.
pub(crate) fn read(reader: &mut MetadataReader<'_>, major: u16) -> Result<InodeRecord> {
    let record = match major {
        4 => current(reader),
        _ => legacy::inode(reader, major),
    };
    record
        .and_then(|record| validate(&record).map(|()| record))
        .map_err(|error| reader.locate(error))
}

fn current(reader: &mut MetadataReader<'_>) -> Result<InodeRecord> {
    let header: InodeHeader = reader.read()?;
    let kind = header.kind.0.get();
    let file_type = file_type(kind)?;
    let (nlink, xattr, body) = match kind {
        InodeType::DIRECTORY => {
            let own: Directory = reader.read()?;
            let listing = DirectoryLocation {
                block: u64::from(own.block.get()),
                offset: own.offset.get(),
                len: listing_len(u32::from(own.size.get())),
                size: u32::from(own.size.get()),
                parent: own.parent.get(),
                index: (0, reader.position()),
            };
            (own.nlink.get(), NO_XATTR, InodeBody::Directory(listing))
        }
        InodeType::EXTENDED_DIRECTORY => {
            let own: ExtendedDirectory = reader.read()?;
            let listing = DirectoryLocation {
                block: u64::from(own.block.get()),
                offset: own.offset.get(),
                len: listing_len(own.size.get()),
                size: own.size.get(),
                parent: own.parent.get(),
                index: (own.index_count.get(), reader.position()),
            };
            (
                own.nlink.get(),
                own.xattr.get(),
                InodeBody::Directory(listing),
            )
        }
        InodeType::FILE => {
            let own: FileInode = reader.read()?;
            let content = FileBlocks {
                start: u64::from(own.start.get()),
                size: u64::from(own.size.get()),
                sparse: 0,
                fragment: fragment(own.fragment.get(), own.fragment_offset.get()),
                words: reader.position(),
            };
            (1, NO_XATTR, InodeBody::File(content))
        }
        InodeType::EXTENDED_FILE => {
            let own: ExtendedFile = reader.read()?;
            let content = FileBlocks {
                start: own.start.get(),
                size: own.size.get(),
                sparse: own.sparse.get(),
                fragment: fragment(own.fragment.get(), own.fragment_offset.get()),
                words: reader.position(),
            };
            (own.nlink.get(), own.xattr.get(), InodeBody::File(content))
        }
        InodeType::SYMLINK | InodeType::EXTENDED_SYMLINK => symlink(reader, kind)?,
        InodeType::BLOCK_DEVICE | InodeType::CHAR_DEVICE => {
            let own: Device = reader.read()?;
            let rdev = Rdev {
                major: own.rdev.major(),
                minor: own.rdev.minor(),
            };
            (own.nlink.get(), NO_XATTR, InodeBody::Device(rdev))
        }
        InodeType::EXTENDED_BLOCK_DEVICE | InodeType::EXTENDED_CHAR_DEVICE => {
            let own: ExtendedDevice = reader.read()?;
            let rdev = Rdev {
                major: own.rdev.major(),
                minor: own.rdev.minor(),
            };
            (own.nlink.get(), own.xattr.get(), InodeBody::Device(rdev))
        }
        InodeType::FIFO | InodeType::SOCKET => {
            let own: Ipc = reader.read()?;
            (own.nlink.get(), NO_XATTR, InodeBody::Ipc)
        }
        _ => {
            let own: ExtendedIpc = reader.read()?;
            (own.nlink.get(), own.xattr.get(), InodeBody::Ipc)
        }
    };
    Ok(InodeRecord {
        kind: file_type,
        mode: header.mode.get() & 0o7777,
        owner: Owner::Ids {
            user: header.uid.get(),
            group: header.gid.get(),
        },
        modified: Some(header.modified.get()),
        number: header.number.get(),
        nlink: Some(nlink),
        xattr,
        body,
    })
}

/// Reads the rest of a symlink; the id of its attribute list follows the target.
fn symlink(reader: &mut MetadataReader<'_>, kind: u16) -> Result<(u32, u32, InodeBody)> {
    let own: Symlink = reader.read()?;
    let (len, at) = (own.size.get(), reader.position());
    check_target(len)?;
    reader.skip(u64::from(len))?;
    let xattr = match kind {
        InodeType::EXTENDED_SYMLINK => reader.read::<U32>()?.get(),
        _ => NO_XATTR,
    };
    Ok((own.nlink.get(), xattr, InodeBody::Symlink { len, at }))
}

fn validate(record: &InodeRecord) -> Result<()> {
    match &record.body {
        InodeBody::File(content) if content.size > i64::MAX as u64 => Err(Error::corrupt(format!(
            "a file of {} bytes exceeds the limit of any system",
            content.size
        ))),
        _ => Ok(()),
    }
}
