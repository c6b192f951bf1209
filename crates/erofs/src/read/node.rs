//! Inodes as plain values, the same for both forms.

use sinterfs_model::{Error, FileType, Rdev, Time};

use super::meta_offset::{Area, MetaOffset};
use crate::layout::{DataLayout, InodeCompact, InodeExtended};

/// An inode.
#[derive(Debug, Clone)]
pub(crate) struct ErofsInode {
    pub(crate) nid: u64,
    pub(crate) meta: MetaOffset,
    pub(crate) extended: bool,
    pub(crate) kind: FileType,
    /// Permissions, set-id bits and the sticky bit.
    pub(crate) mode: u16,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) mtime: Time,
    pub(crate) nlink: u32,
    pub(crate) size: u64,
    pub(crate) layout: DataLayout,
    /// The first block, the number of stored blocks, a device number, or the chunk format.
    pub(crate) start: u32,
    /// High bits of the first block; `None` where addresses have 32 bits.
    pub(crate) start_high: Option<u16>,
    /// Bytes of extended attributes after the inode.
    pub(crate) xattr_len: u64,
    pub(crate) dot_omitted: bool,
}

impl ErofsInode {
    /// Returns where the extended attributes begin.
    pub(crate) fn xattrs(&self) -> MetaOffset {
        self.meta.skip(if self.extended {
            size_of::<InodeExtended>() as u64
        } else {
            size_of::<InodeCompact>() as u64
        })
    }

    /// Returns where the inode ends and the map of its content or its inline tail begins.
    pub(crate) fn end(&self) -> MetaOffset {
        self.xattrs().skip(self.xattr_len)
    }

    /// Returns the first block; `None` for content that is a hole.
    pub(crate) fn first_block(&self) -> Option<u64> {
        let (block, hole) = match self.start_high {
            None => (u64::from(self.start), u64::from(u32::MAX)),
            Some(high) => (
                u64::from(self.start) | u64::from(high) << 32,
                (1_u64 << 48) - 1,
            ),
        };
        (block != hole).then_some(block)
    }

    /// Returns the device's number, as Linux packs it into 32 bits.
    pub(crate) fn rdev(&self) -> Rdev {
        match self.kind {
            FileType::CharDevice | FileType::BlockDevice => Rdev::from_dev_t(u64::from(self.start)),
            _ => Rdev::default(),
        }
    }

    /// Adds the inode's number and offset to an error.
    #[cold]
    pub(crate) fn locate(&self, error: Error) -> Error {
        match self.meta.area {
            Area::Image => error.at(format!("inode {:#x}", self.nid), self.meta.at),
            Area::Metabox => error.at(
                format!("inode {:#x} in the metabox", self.nid),
                self.meta.at,
            ),
        }
    }
}
