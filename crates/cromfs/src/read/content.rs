//! Content: the block numbers of an inode, and the bytes that they stand for.
//!
//! In: the bytes of an inode. Out: extents, or content.
//!
//! **Invariant:** a checked inode has a number for each of its blocks. Format:
//! `docs/formats/cromfs.md`, "Inodes".

use std::ops::{ControlFlow, Range};

use sinterfs_model::{Error, Extent, ExtentSource, Result};

use super::fblocks::{BlockStart, FblockReader};
use crate::layout::{Features, INODE_LEN, InodeFields, part};

/// An inode with its block numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockList<'a> {
    pub(crate) fields: InodeFields,
    /// The block size in bytes; above zero if there are blocks.
    pub(crate) block_size: u32,
    numbers: &'a [u8],
    number_len: usize,
}

impl BlockList<'_> {
    /// Returns how many blocks there are.
    pub(crate) fn count(&self) -> u64 {
        (self.numbers.len() / self.number_len) as u64
    }

    /// Returns the bytes of the block numbers.
    pub(crate) fn stored_len(&self) -> u64 {
        self.numbers.len() as u64
    }

    /// Returns the number of a block.
    pub(crate) fn number(&self, index: u64) -> Result<u32> {
        let at = usize::try_from(index).ok();
        let at = at.and_then(|index| index.checked_mul(self.number_len));
        let number = at.and_then(|at| self.numbers.get(at..at.checked_add(self.number_len)?));
        // shorter numbers are followed by zeros
        let number = number.map(|bytes| u32::from_le_bytes(part_or_less(bytes)));
        number.ok_or_else(|| Error::corrupt(format!("no number of block {index}")))
    }

    /// Returns the bytes of the content that a block has.
    fn range(&self, index: u64) -> Range<u64> {
        let unit = u64::from(self.block_size);
        let start = index.saturating_mul(unit);
        start..start.saturating_add(unit).min(self.fields.size)
    }
}

/// Returns up to four bytes, followed by zeros.
fn part_or_less(bytes: &[u8]) -> [u8; 4] {
    let mut found = [0; 4];
    for (to, from) in found.iter_mut().zip(bytes) {
        *to = *from;
    }
    found
}

/// The meaning of inodes in an image, and its blocks.
pub(crate) struct CromfsContent {
    pub(crate) fblocks: FblockReader,
    pub(crate) features: Features,
    /// The default block size of inodes, in bytes.
    pub(crate) block_size: u32,
}

impl CromfsContent {
    /// Decodes the inode at the start of some bytes, with its block numbers.
    pub(crate) fn inode<'a>(&self, bytes: &'a [u8]) -> Result<BlockList<'a>> {
        let fields = bytes.first_chunk::<INODE_LEN>().map(InodeFields::decode);
        let (fields, numbers) = fields
            .zip(bytes.get(self.features.inode_len()..))
            .ok_or_else(|| Error::corrupt("an inode past the end of the inode table"))?;
        let block_size = if self.features.has(Features::BLOCK_SIZES) {
            u32::from_le_bytes(part(bytes, INODE_LEN))
        } else {
            self.block_size
        };
        let number_len = self.features.number_len();
        let count = match (fields.size, block_size) {
            (0, _) => Some(0),
            (_, 0) => return Err(Error::corrupt("an inode with blocks of no bytes")),
            (size, unit) => usize::try_from(size.div_ceil(unit.into())).ok(),
        };
        let numbers = count
            .and_then(|count| count.checked_mul(number_len))
            .and_then(|len| numbers.get(..len));
        let size = fields.size;
        let numbers = numbers
            .ok_or_else(|| Error::corrupt(format!("{size} bytes of content, too few blocks")))?;
        Ok(BlockList {
            fields,
            block_size,
            numbers,
            number_len,
        })
    }

    /// Reads bytes of content from an offset on, up to its end.
    pub(crate) fn read(&self, list: &BlockList<'_>, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let left = list.fields.size.saturating_sub(offset);
        let len = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        let (mut rest, _) = buf.split_at_mut(len);
        let mut at = offset;
        while !rest.is_empty() {
            let index = at / u64::from(list.block_size.max(1));
            let range = list.range(index);
            let start = self.fblocks.block(list.number(index)?)?;
            let now = usize::try_from(range.end.saturating_sub(at)).unwrap_or(usize::MAX);
            let (target, later) = rest.split_at_mut(now.min(rest.len()));
            if target.is_empty() {
                return Err(Error::corrupt("an empty block"));
            }
            let within = at.saturating_sub(range.start);
            let from = u64::from(start.offset).saturating_add(within);
            self.fblocks.read_at(start.fblock, from, target)?;
            at = at.saturating_add(target.len() as u64);
            rest = later;
        }
        Ok(len)
    }

    /// Visits the extents of content from the block of `from` on. Neighbours that are adjacent in
    /// an fblock are merged.
    pub(crate) fn extents(
        &self,
        list: &BlockList<'_>,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()> {
        let first = from / u64::from(list.block_size.max(1));
        let mut open: Option<Extent> = None;
        for index in first..list.count() {
            let found = self.fblocks.block(list.number(index)?)?;
            let range = list.range(index);
            if open
                .as_mut()
                .is_some_and(|open| append(open, &range, found))
            {
                continue;
            }
            let extent = Extent {
                offset: range.start,
                len: range.end.saturating_sub(range.start),
                source: ExtentSource::Block {
                    block: found.fblock.into(),
                    offset: found.offset.into(),
                },
            };
            if let Some(done) = open.replace(extent)
                && visit(done).is_break()
            {
                return Ok(());
            }
        }
        if let Some(last) = open {
            let _ = visit(last);
        }
        Ok(())
    }
}

/// Appends a block to an extent if it follows in the same fblock.
fn append(open: &mut Extent, range: &Range<u64>, found: BlockStart) -> bool {
    let ExtentSource::Block { block, offset } = open.source else {
        return false;
    };
    let follows = block == u64::from(found.fblock)
        && offset.saturating_add(open.len) == u64::from(found.offset);
    if follows {
        open.len = range.end.saturating_sub(open.offset);
    }
    follows
}
