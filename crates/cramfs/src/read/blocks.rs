//! The stored blocks of a file: decodes its block pointers.
//!
//! In: the inode of a file or symlink, and a range of blocks. Out: where each block is stored.
//!
//! **Invariant:** a block is within the image and its stored bytes are at most twice its decoded
//! bytes; otherwise it is an error with its location. Format: `docs/formats/cramfs.md`, "Block
//! pointers".

use std::ops::Range;

use sinterfs_block::{ReadAt, Window};
use sinterfs_codec::CodecId;
use sinterfs_model::{Error, Result};

use crate::layout::{ByteOrder, Flags, InodeFields, Pointer};

/// The storage of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// Not at all: zeros.
    Hole,
    /// As it is.
    Raw,
    /// In a zlib stream.
    Zlib,
}

/// The location of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockLocation {
    /// The position of the stored bytes in the image.
    pub position: u64,
    /// The number of stored bytes.
    pub len: u32,
    /// Their storage.
    pub stored: Stored,
}

/// The meaning of block pointers of an image.
#[derive(Debug, Clone)]
pub(crate) struct BlockReader {
    pub(crate) window: Window,
    pub(super) order: ByteOrder,
    pub(super) flags: Flags,
    pub(super) block_size: u32,
}

impl BlockReader {
    /// Returns the number of blocks of a file.
    pub(crate) fn count(&self, file: &InodeFields) -> u32 {
        file.size.div_ceil(self.block_size)
    }

    /// Returns the decoded length of a block of a file in bytes.
    pub(crate) fn decoded_len(&self, file: &InodeFields, index: u32) -> u32 {
        let start = u64::from(index) * u64::from(self.block_size);
        let left = u64::from(file.size).saturating_sub(start);
        u32::try_from(left).map_or(self.block_size, |left| left.min(self.block_size))
    }

    /// Locates a range of the blocks of a file.
    pub(crate) fn locate(
        &self,
        file: &InodeFields,
        range: Range<u32>,
    ) -> Result<Vec<BlockLocation>> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let pointers = file.offset();
        let located = |error: Error, index: u32| {
            error.at(
                "block pointer",
                self.file_offset(pointers + u64::from(index) * 4),
            )
        };
        let count = self.count(file);
        // the pointer before the first one says where its block starts
        let first = range.start.saturating_sub(1);
        let words = u64::from(range.end.saturating_sub(first));
        let bytes = self.window.read(pointers + u64::from(first) * 4, words * 4);
        let bytes = bytes.map_err(|error| located(error, first))?;
        let (words, _) = bytes.as_chunks::<4>();
        let mut words = words.iter().map(|word| Pointer(self.order.word(*word)));
        let mut start = pointers + u64::from(count) * 4;
        if range.start > 0
            && let Some(before) = words.next()
        {
            let before = self.block(before, None, self.block_size);
            let before = before.map_err(|error| located(error, first))?;
            start = before.position + u64::from(before.len);
        }
        let mut blocks = Vec::with_capacity(words.len());
        for (index, pointer) in range.zip(words) {
            let decoded = self.decoded_len(file, index);
            let block = self.block(pointer, Some(start), decoded);
            let block = block.and_then(|block| self.check(block));
            let block = block.map_err(|error| located(error, index))?;
            start = block.position + u64::from(block.len);
            blocks.push(block);
        }
        Ok(blocks)
    }

    /// Decodes a pointer; `start` is the end of the block before. Without it only the end of the
    /// block is right.
    fn block(&self, pointer: Pointer, start: Option<u64>, decoded: u32) -> Result<BlockLocation> {
        if !self.flags.has(Flags::POINTER_FLAGS) {
            return between(start, pointer.0.into(), Stored::Zlib);
        }
        let raw = pointer.has(Pointer::RAW);
        let stored = if raw { Stored::Raw } else { Stored::Zlib };
        if !pointer.has(Pointer::DIRECT) {
            return between(start, pointer.value(), stored);
        }
        let position = pointer.value() * 4;
        if raw {
            return Ok(BlockLocation {
                position,
                len: decoded,
                stored,
            });
        }
        let mut len = [0; 2];
        self.window.read_at(position, &mut len)?;
        let len = self.order.half(len);
        Ok(BlockLocation {
            position: position + 2,
            len: len.into(),
            stored: if len == 0 { Stored::Hole } else { stored },
        })
    }

    fn check(&self, block: BlockLocation) -> Result<BlockLocation> {
        let most = match block.stored {
            Stored::Raw => self.block_size,
            Stored::Hole | Stored::Zlib => self.block_size.saturating_mul(2),
        };
        let (position, len) = (block.position, block.len);
        if len > most {
            let what = format!("a block of {len} stored bytes, where at most {most} are possible");
            return Err(Error::corrupt(what));
        }
        let end = position.saturating_add(len.into());
        if end > self.window.len() {
            let what = format!("a block at {position:#x} is not within the image");
            return Err(Error::corrupt(what));
        }
        Ok(block)
    }

    /// Decodes a block that must fill the buffer exactly.
    pub(crate) fn decode(&self, block: BlockLocation, room: &mut [u8]) -> Result<()> {
        let expected = room.len() as u64;
        let found = match block.stored {
            Stored::Hole => {
                room.fill(0);
                expected
            }
            Stored::Raw => {
                if u64::from(block.len) == expected {
                    self.window.read_at(block.position, room)?;
                }
                block.len.into()
            }
            Stored::Zlib => {
                let bytes = self.window.read(block.position, block.len.into())?;
                CodecId::Zlib.decode(&bytes, room)? as u64
            }
        };
        if found == expected {
            return Ok(());
        }
        Err(Error::corrupt(format!(
            "expected {expected} decoded bytes, found {found}"
        )))
    }

    /// Returns the offset in the file of a position in the image.
    pub(crate) fn file_offset(&self, position: u64) -> u64 {
        self.window.start().saturating_add(position)
    }
}

/// Makes the location of the bytes between two positions; a hole if there are none.
fn between(start: Option<u64>, end: u64, stored: Stored) -> Result<BlockLocation> {
    let position = start.unwrap_or(end);
    let len = end
        .checked_sub(position)
        .and_then(|len| u32::try_from(len).ok());
    let len = len.ok_or_else(|| {
        Error::corrupt(format!(
            "a block that starts at {position:#x} ends at {end:#x}"
        ))
    })?;
    Ok(BlockLocation {
        position,
        len,
        stored: if len == 0 { Stored::Hole } else { stored },
    })
}
