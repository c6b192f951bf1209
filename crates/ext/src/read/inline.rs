//! Content in the inode: of small files, directories and symlinks (the feature `inline_data`).
//!
//! In: an inode. Out: its bytes.
//!
//! **Invariant:** content is the room of the block pointers, then the value of `system.data`; where
//! there is less than the size says, it is damaged. Format: `docs/formats/ext.md`.

use sinterfs_model::{Error, Extent, ExtentSource, Result};

use super::open::Ext;
use crate::layout::{ExtInode, InodeFlags, POINTERS_LEN};

impl Ext {
    /// Returns the bytes that an inode has for its content: in the room of its pointers, and in the
    /// attribute.
    pub(super) fn inline(
        &self,
        number: u32,
        inode: &ExtInode,
    ) -> Result<([u8; POINTERS_LEN], Vec<u8>)> {
        if inode.flags.has(InodeFlags::ENCRYPTED) {
            return Err(Error::unsupported("encrypted content"));
        }
        let more = self.inline_attribute(number, inode)?;
        Ok((inode.pointers, more.unwrap_or_default()))
    }

    /// Reads bytes of content in an inode from an offset on, up to its end.
    pub(super) fn read_inline(
        &self,
        number: u32,
        inode: &ExtInode,
        offset: u64,
        buf: &mut [u8],
    ) -> Result<usize> {
        let (first, more) = self.inline(number, inode)?;
        let bytes = [&first[..], &more].concat();
        let size = usize::try_from(inode.size).ok();
        let content = size.and_then(|size| bytes.get(..size)).ok_or_else(|| {
            let (size, room) = (inode.size, bytes.len());
            Error::corrupt(format!("{size} bytes in an inode that has {room}"))
        })?;
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = content.get(from..).unwrap_or_default();
        for (to, from) in buf.iter_mut().zip(rest) {
            *to = *from;
        }
        Ok(rest.len().min(buf.len()))
    }

    /// Returns the only extent of a file whose content is in its inode: a block after all others.
    pub(super) fn inline_extent(&self, number: u32, inode: &ExtInode) -> Extent {
        Extent {
            offset: 0,
            len: inode.size,
            source: ExtentSource::Block {
                block: self.head.blocks.saturating_add(number.into()),
                offset: 0,
            },
        }
    }
}
