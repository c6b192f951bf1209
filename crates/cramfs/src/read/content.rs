//! Content of files and symlinks: extents, and bytes through the cache.
//!
//! In: an inode and a range of bytes. Out: extents, or bytes.
//!
//! **Invariant:** a block decodes to the length that the file needs, or it is an error with its
//! location.

use std::ops::ControlFlow;

use sinterfs_block::cache::Opened;
use sinterfs_model::{Error, Extent, ExtentSource, Result};

use super::blocks::{BlockLocation, Stored};
use super::open::Cramfs;
use crate::layout::InodeFields;

impl Cramfs {
    /// Visits the extents of a file from the one at `from` on; adjacent holes are merged.
    pub(crate) fn extents_of(
        &self,
        file: &InodeFields,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()> {
        let unit = u64::from(self.blocks.block_size);
        let count = self.blocks.count(file);
        let first = u32::try_from(from / unit).map_or(count, |first| first.min(count));
        let mut hole: Option<Extent> = None;
        for (index, block) in (first..).zip(self.blocks.locate(file, first..count)?) {
            let len = u64::from(self.blocks.decoded_len(file, index));
            let offset = u64::from(index) * unit;
            if block.stored == Stored::Hole {
                let open = hole.get_or_insert(Extent {
                    offset,
                    len: 0,
                    source: ExtentSource::Hole,
                });
                open.len += len;
                continue;
            }
            if let Some(hole) = hole.take()
                && visit(hole).is_break()
            {
                return Ok(());
            }
            let source = ExtentSource::Block {
                block: block.position,
                offset: 0,
            };
            let extent = Extent {
                offset,
                len,
                source,
            };
            if visit(extent).is_break() {
                return Ok(());
            }
        }
        if let Some(hole) = hole {
            let _ = visit(hole);
        }
        Ok(())
    }

    /// Reads bytes of a file or symlink from a position on, up to its end.
    pub(crate) fn read_content(
        &self,
        file: &InodeFields,
        position: u64,
        buf: &mut [u8],
    ) -> Result<usize> {
        let left = u64::from(file.size).saturating_sub(position);
        let len = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        let (mut rest, _) = buf.split_at_mut(len);
        if rest.is_empty() {
            return Ok(0);
        }
        let unit = u64::from(self.blocks.block_size);
        let number = |at: u64| u32::try_from(at).unwrap_or(u32::MAX);
        let end = position + len as u64;
        let range = number(position / unit)..number(end.div_ceil(unit));
        let mut within = position % unit;
        for (index, block) in (range.start..).zip(self.blocks.locate(file, range)?) {
            let whole = u64::from(self.blocks.decoded_len(file, index));
            let now = whole.saturating_sub(within);
            let now = usize::try_from(now).map_or(rest.len(), |now| now.min(rest.len()));
            let (target, later) = rest.split_at_mut(now);
            self.read_block(block, whole, within, target)?;
            (rest, within) = (later, 0);
        }
        Ok(len)
    }

    /// Reads a part of a block of `whole` decoded bytes.
    fn read_block(
        &self,
        block: BlockLocation,
        whole: u64,
        within: u64,
        target: &mut [u8],
    ) -> Result<()> {
        if block.stored == Stored::Hole {
            target.fill(0);
            return Ok(());
        }
        let key = self.cache_key | u128::from(block.position);
        let open = || {
            let mut decoded = vec![0; usize::try_from(whole).unwrap_or(0)];
            self.blocks.decode(block, &mut decoded)?;
            Ok(Opened::Decoded(decoded))
        };
        let read = if target.len() as u64 == whole {
            let decode = |room: &mut [u8]| self.blocks.decode(block, room);
            self.cache.read_whole(key, target, open, decode)
        } else {
            self.cache.read(key, within, target, open)
        };
        let at = self.blocks.file_offset(block.position);
        read.map_err(|error: Error| error.at("block", at))
    }
}
