//! Inodes of a lookalike: all are extended ones, since older kernels give all compact ones the same
//! time.
//!
//! In: the attributes of an inode, and where its content is. Out: the bytes of the inode.
//! **Invariant:** attributes and the map follow it with the alignment of the format.

#![expect(
    clippy::cast_possible_truncation,
    reason = "every region of the address space is limited before a value is stored"
)]

use sinterfs_model::{Error, FileType, Inode, Result};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32, U64};

use super::attributes::Shown;
use super::content::Body;
use crate::layout::{DataLayout, InodeExtended, chunk, format};
use crate::write::BlockSize;
use crate::write::inode_offsets::InodeSize;
use crate::write::inodes::tail_of;
use crate::write::xattrs;

/// One inode with all but its number.
#[derive(Debug)]
pub(super) struct ShownInode {
    /// The attributes that are shown.
    pub(super) shown: Inode,
    /// The location of content; consecutive blocks for types other than files.
    pub(super) body: Body,
    pub(super) xattrs: Vec<u8>,
}

impl ShownInode {
    /// Replaces the attributes that the mount's options replace.
    pub(super) fn show(mut inode: Inode, shown: Shown) -> Inode {
        inode.meta.uid = shown.uid.unwrap_or(inode.meta.uid);
        inode.meta.gid = shown.gid.unwrap_or(inode.meta.gid);
        if inode.kind != FileType::Symlink {
            inode.meta.mode &= !shown.umask;
        }
        inode
    }

    /// Returns the length of the inline tail.
    pub(super) fn tail(&self) -> u64 {
        match self.shown.kind {
            FileType::Directory | FileType::Symlink => {
                tail_of(self.shown.size, BlockSize::default())
            }
            _ => 0,
        }
    }

    /// Returns the sizes of the inode and of its attributes, map and inline tail.
    pub(super) fn extent(&self) -> InodeSize {
        let own = size_of::<InodeExtended>() as u64;
        let end = own + self.xattrs.len() as u64;
        let fixed = match &self.body {
            Body::Chunks { format, map } => end.next_multiple_of(entry(*format)) + map.len() as u64,
            Body::Flat(_) => end,
        };
        InodeSize {
            inode: own,
            fixed,
            tail: self.tail(),
        }
    }

    /// Writes the bytes up to the inline tail into zeros; `number` is for programs with inode
    /// numbers of 32 bits.
    pub(super) fn write(&self, number: u64, room: &mut [u8]) -> Result<()> {
        let Inode {
            kind, meta, nlink, ..
        } = self.shown;
        let (layout, start) = match &self.body {
            Body::Chunks { format, .. } => (DataLayout::Chunks, u64::from(*format)),
            Body::Flat(_) if self.tail() > 0 => (DataLayout::Inline, self.start()),
            Body::Flat(_) => (DataLayout::Plain, self.start()),
        };
        let time = meta.times.modified;
        let raw = InodeExtended {
            format: U16::new(format::EXTENDED | layout.format_bits()),
            xattr_count: U16::new(xattrs::count_field(self.xattrs.len() as u64)?),
            mode: U16::new(kind.bits() as u16 | meta.mode & 0o7777),
            start_high: U16::new((start >> 32) as u16),
            size: U64::new(self.shown.size),
            start: U32::new(start as u32),
            ino: U32::new(number as u32),
            uid: U32::new(meta.uid),
            gid: U32::new(meta.gid),
            mtime: U64::from_bytes(time.secs.to_le_bytes()),
            mtime_nanos: U32::new(time.nanos),
            nlink: U32::new(nlink.max(1)),
            reserved: [0; 16],
        };
        put(room, 0, raw.as_bytes())?;
        put(room, raw.as_bytes().len(), &self.xattrs)?;
        match &self.body {
            // the map is last
            Body::Chunks { map, .. } => put(room, room.len().saturating_sub(map.len()), map),
            Body::Flat(_) => Ok(()),
        }
    }

    /// Returns the first block, or the number of a device in the 32 bits that Linux has for it.
    fn start(&self) -> u64 {
        match (self.shown.kind, &self.body) {
            (FileType::CharDevice | FileType::BlockDevice, _) => {
                self.shown.rdev.to_dev_t() & u64::from(u32::MAX)
            }
            (_, Body::Flat(start)) => *start,
            (_, Body::Chunks { .. }) => 0,
        }
    }
}

/// Puts bytes at their offset.
pub(super) fn put(part: &mut [u8], at: usize, bytes: &[u8]) -> Result<()> {
    let room = part
        .get_mut(at..)
        .and_then(|rest| rest.get_mut(..bytes.len()));
    let room = room.ok_or_else(|| Error::corrupt("the image changed while it was read"))?;
    room.copy_from_slice(bytes);
    Ok(())
}

/// Returns the bytes of an entry of a chunk map.
fn entry(format: u16) -> u64 {
    match format & chunk::INDEXES {
        0 => 4,
        _ => 8,
    }
}
