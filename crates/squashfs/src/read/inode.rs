//! Inodes of every version as one structure.
//!
//! In: a reader at an inode. Out: `Record`: what the inode itself says, and where its lists are.
//!
//! **Invariant:** only what is in the inode: owners are indexes, nothing is resolved. Sizes are within
//! what the format and the kernel allow; lists are not looked at.
//! Format: `docs/formats/squashfs.md`, "Inodes".

use sinterfs_model::{Error, FileType, Rdev, Result};
use zerocopy::little_endian::U32;

use super::legacy;
use super::metadata::{Place, Reader};
use crate::layout::inode::{
    Device, Directory, ExtendedDevice, ExtendedDirectory, ExtendedFile, ExtendedIpc, File,
    InodeHeader, InodeType, Ipc, Symlink,
};
use crate::layout::{DIRECTORY_SIZE_EXTRA, NO_FRAGMENT, NO_XATTR};

/// The longest target of a symlink, in bytes; Linux makes none above 4095.
const TARGET_MAX: u32 = 1 << 16;

/// What an inode says.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) kind: FileType,
    pub(crate) mode: u16,
    pub(crate) owner: Owner,
    /// Seconds since 1970; `None` where an old version keeps no time.
    pub(crate) modified: Option<u32>,
    /// The inode's number; 0 before version 3, which has none.
    pub(crate) number: u32,
    /// The number of names; `None` before version 3, which has none.
    pub(crate) nlink: Option<u32>,
    /// The id of its extended attributes, or `NO_XATTR`.
    pub(crate) xattr: u32,
    pub(crate) body: Body,
}

/// Owner and group as they are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Two indexes into the one id table.
    Ids { user: u16, group: u16 },
    /// Indexes into two tables; no group means that of the owner's id.
    Arrays { user: u16, group: Option<u8> },
}

/// What a type adds.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    Directory(Listing),
    File(Content),
    /// A target of so many bytes at this place.
    Symlink {
        len: u32,
        at: Place,
    },
    Device(Rdev),
    Ipc,
}

/// Where a directory's entries are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listing {
    /// The distance of the metadata block from the start of the directory table.
    pub(crate) block: u64,
    /// The offset in it.
    pub(crate) offset: u16,
    /// Bytes of the listing.
    pub(crate) len: u32,
    /// The size as it is stored.
    pub(crate) size: u32,
    /// The number of the inode above; 0 before version 3.
    pub(crate) parent: u32,
    /// How many entries the index has, and where it starts.
    pub(crate) index: (u16, Place),
}

/// Where a file's content is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Content {
    /// Where the first block starts.
    pub(crate) start: u64,
    /// Bytes of content.
    pub(crate) size: u64,
    /// Bytes of these in holes.
    pub(crate) sparse: u64,
    /// The fragment block of the tail, and the offset in it.
    pub(crate) fragment: Option<(u32, u32)>,
    /// Where the sizes of the blocks start.
    pub(crate) words: Place,
}

impl Content {
    /// Returns the number of whole blocks, or of all where the tail has a block of its own.
    pub(crate) fn blocks(&self, block_size: u32) -> u64 {
        let unit = u64::from(block_size);
        match self.fragment {
            Some(_) => self.size / unit,
            None => self.size.div_ceil(unit),
        }
    }
}

/// Reads the inode at a reader's place.
pub(crate) fn read(reader: &mut Reader<'_>, major: u16) -> Result<Record> {
    let record = match major {
        4 => current(reader),
        _ => legacy::inode(reader, major),
    };
    record
        .and_then(|record| validate(&record).map(|()| record))
        .map_err(|error| reader.wrong(error))
}

fn current(reader: &mut Reader<'_>) -> Result<Record> {
    let header: InodeHeader = reader.read()?;
    let kind = header.kind.0.get();
    let file_type = file_type(kind)?;
    let (nlink, xattr, body) = match kind {
        InodeType::DIRECTORY => {
            let own: Directory = reader.read()?;
            let listing = Listing {
                block: u64::from(own.block.get()),
                offset: own.offset.get(),
                len: listing_len(u32::from(own.size.get())),
                size: u32::from(own.size.get()),
                parent: own.parent.get(),
                index: (0, reader.place()),
            };
            (own.nlink.get(), NO_XATTR, Body::Directory(listing))
        }
        InodeType::EXTENDED_DIRECTORY => {
            let own: ExtendedDirectory = reader.read()?;
            let listing = Listing {
                block: u64::from(own.block.get()),
                offset: own.offset.get(),
                len: listing_len(own.size.get()),
                size: own.size.get(),
                parent: own.parent.get(),
                index: (own.index_count.get(), reader.place()),
            };
            (own.nlink.get(), own.xattr.get(), Body::Directory(listing))
        }
        InodeType::FILE => {
            let own: File = reader.read()?;
            let content = Content {
                start: u64::from(own.start.get()),
                size: u64::from(own.size.get()),
                sparse: 0,
                fragment: fragment(own.fragment.get(), own.fragment_offset.get()),
                words: reader.place(),
            };
            (1, NO_XATTR, Body::File(content))
        }
        InodeType::EXTENDED_FILE => {
            let own: ExtendedFile = reader.read()?;
            let content = Content {
                start: own.start.get(),
                size: own.size.get(),
                sparse: own.sparse.get(),
                fragment: fragment(own.fragment.get(), own.fragment_offset.get()),
                words: reader.place(),
            };
            (own.nlink.get(), own.xattr.get(), Body::File(content))
        }
        InodeType::SYMLINK | InodeType::EXTENDED_SYMLINK => symlink(reader, kind)?,
        InodeType::BLOCK_DEVICE | InodeType::CHAR_DEVICE => {
            let own: Device = reader.read()?;
            let rdev = Rdev {
                major: own.rdev.major(),
                minor: own.rdev.minor(),
            };
            (own.nlink.get(), NO_XATTR, Body::Device(rdev))
        }
        InodeType::EXTENDED_BLOCK_DEVICE | InodeType::EXTENDED_CHAR_DEVICE => {
            let own: ExtendedDevice = reader.read()?;
            let rdev = Rdev {
                major: own.rdev.major(),
                minor: own.rdev.minor(),
            };
            (own.nlink.get(), own.xattr.get(), Body::Device(rdev))
        }
        InodeType::FIFO | InodeType::SOCKET => {
            let own: Ipc = reader.read()?;
            (own.nlink.get(), NO_XATTR, Body::Ipc)
        }
        _ => {
            let own: ExtendedIpc = reader.read()?;
            (own.nlink.get(), own.xattr.get(), Body::Ipc)
        }
    };
    Ok(Record {
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

/// Reads the rest of a symlink; the id of its attributes stands behind the target.
fn symlink(reader: &mut Reader<'_>, kind: u16) -> Result<(u32, u32, Body)> {
    let own: Symlink = reader.read()?;
    let (len, at) = (own.size.get(), reader.place());
    check_target(len)?;
    reader.skip(u64::from(len))?;
    let xattr = match kind {
        InodeType::EXTENDED_SYMLINK => reader.read::<U32>()?.get(),
        _ => NO_XATTR,
    };
    Ok((own.nlink.get(), xattr, Body::Symlink { len, at }))
}

/// Fails for a target that is empty or too long.
pub(super) fn check_target(len: u32) -> Result<()> {
    if (1..=TARGET_MAX).contains(&len) {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "expected a symlink of 1 to {TARGET_MAX} bytes, found {len}"
    )))
}

fn validate(record: &Record) -> Result<()> {
    match &record.body {
        Body::File(content) if content.size > i64::MAX as u64 => Err(Error::corrupt(format!(
            "a file of {} bytes is more than any system has",
            content.size
        ))),
        _ => Ok(()),
    }
}

/// Returns the type that a number means, basic or extended.
pub(crate) fn file_type(kind: u16) -> Result<FileType> {
    let basic = match kind {
        1..=InodeType::EXTENDED => kind,
        _ => kind.saturating_sub(InodeType::EXTENDED),
    };
    Ok(match basic {
        InodeType::DIRECTORY => FileType::Directory,
        InodeType::FILE => FileType::File,
        InodeType::SYMLINK => FileType::Symlink,
        InodeType::BLOCK_DEVICE => FileType::BlockDevice,
        InodeType::CHAR_DEVICE => FileType::CharDevice,
        InodeType::FIFO => FileType::Fifo,
        InodeType::SOCKET => FileType::Socket,
        _ => return Err(Error::corrupt(format!("unknown inode type {kind}"))),
    })
}

/// Returns the bytes of a listing by a directory's size, which counts three more.
pub(crate) fn listing_len(size: u32) -> u32 {
    size.saturating_sub(DIRECTORY_SIZE_EXTRA)
}

/// Returns where a file's tail is.
pub(crate) fn fragment(index: u32, offset: u32) -> Option<(u32, u32)> {
    (index != NO_FRAGMENT).then_some((index, offset))
}
