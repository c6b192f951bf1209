//! Content of files: locates blocks and reads them through the cache.
//!
//! In: a file's inode and a range of bytes. Out: extents, and bytes.
//!
//! The position of a block is the sum of the sizes of all blocks before it. A file of many blocks
//! gets checkpoints when it is first read, one per 1024 blocks, which bound the sizes that a read
//! adds up.
//! **Invariant:** a block is within the image and decodes to the length that the file needs, or it
//! is an error with its location. Format: `docs/formats/squashfs.md`, "Content".

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;

use sinterfs_block::cache::Opened;
use sinterfs_block::{ReadAt, Window};
use sinterfs_codec::CodecId;
use sinterfs_model::{Error, Extent, ExtentSource, Ino, Result};
use zerocopy::little_endian::U32;

use super::checkpoints::{Checkpoint, Checkpoints};
use super::fields::split;
use super::metadata::MetadataReader;
use super::open::Squashfs;
use super::record::FileBlocks;
use crate::layout::{BLOCK_SIZE_MAX, BlockWord, FragmentEntry};

/// Blocks between two checkpoints.
const STRIDE: u64 = 1024;

/// Block sizes of version 1: the bit of an uncompressed block, and the meaning of size zero.
const RAW_1: u64 = 0x8000;

thread_local! {
    /// The stored bytes of the block being decoded.
    static STORED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A stored block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockLocation {
    pub(crate) position: u64,
    /// The stored length in bytes; zero for a hole.
    pub(crate) len: u32,
    pub(crate) raw: bool,
}

impl BlockLocation {
    pub(super) fn is_hole(self) -> bool {
        self.len == 0
    }
}

/// Iterates over the blocks of a file.
pub(super) struct BlockCursor<'a> {
    image: &'a Squashfs,
    reader: MetadataReader<'a>,
    position: u64,
}

impl BlockCursor<'_> {
    pub(super) fn next(&mut self) -> Result<BlockLocation> {
        let stored = match self.image.superblock.major {
            1 => {
                let [word] = self.reader.fields(&[16])?;
                let len = word & !RAW_1;
                BlockLocation {
                    position: self.position,
                    len: u32::try_from(if len == 0 { RAW_1 } else { len }).unwrap_or(0),
                    raw: word & RAW_1 != 0,
                }
            }
            4 => {
                let word = self.reader.read::<U32>()?;
                self.decode_word(BlockWord(word))
            }
            _ => {
                let [word] = self.reader.fields(&[32])?;
                self.decode_word(BlockWord(u32::try_from(word).unwrap_or(0).into()))
            }
        };
        let end = self.position.checked_add(u64::from(stored.len));
        let end = end.filter(|end| *end <= self.image.superblock.bytes_used);
        self.position = end.ok_or_else(|| {
            self.reader
                .locate(Error::corrupt("a block past the end of the image"))
        })?;
        Ok(stored)
    }

    fn decode_word(&self, word: BlockWord) -> BlockLocation {
        BlockLocation {
            position: self.position,
            len: word.stored(),
            raw: word.is_raw(),
        }
    }
}

impl Squashfs {
    /// Iterates over a file's blocks from block `from` on.
    pub(super) fn blocks(
        &self,
        ino: Ino,
        content: &FileBlocks,
        from: u64,
    ) -> Result<BlockCursor<'_>> {
        let first = Checkpoint {
            words: content.words,
            position: content.start,
        };
        let near = match from.checked_sub(STRIDE) {
            None => first,
            Some(_) => self.checkpoint(ino, content, from)?,
        };
        let mut blocks = self.blocks_from(near)?;
        for _ in 0..from % STRIDE {
            blocks.next()?;
        }
        Ok(blocks)
    }

    fn blocks_from(&self, at: Checkpoint) -> Result<BlockCursor<'_>> {
        Ok(BlockCursor {
            image: self,
            reader: self.metadata.read_from(self.inodes(), at.words)?,
            position: at.position,
        })
    }

    /// Returns the last checkpoint at or before a block.
    fn checkpoint(&self, ino: Ino, content: &FileBlocks, block: u64) -> Result<Checkpoint> {
        let known = self.checkpoints.get(&ino.0);
        let all = match known {
            Some(all) => all,
            None => {
                let made = Arc::new(self.make_checkpoints(content)?);
                self.checkpoints.insert(ino.0, Arc::clone(&made));
                made
            }
        };
        let number = usize::try_from(block / STRIDE).unwrap_or(usize::MAX);
        let found = all.0.get(number).copied();
        found.ok_or_else(|| Error::invalid("a block past the end of its file"))
    }

    /// Adds up all sizes of a file once. A list longer than the table fails before it takes much
    /// memory.
    fn make_checkpoints(&self, content: &FileBlocks) -> Result<Checkpoints> {
        let mut all = Vec::new();
        let mut blocks = self.blocks_from(Checkpoint {
            words: content.words,
            position: content.start,
        })?;
        for number in 0..content.blocks(self.superblock.block_size) {
            if number % STRIDE == 0 {
                all.push(Checkpoint {
                    words: blocks.reader.position(),
                    position: blocks.position,
                });
            }
            blocks.next()?;
        }
        Ok(Checkpoints(all))
    }

    /// Returns a fragment block.
    pub(crate) fn fragment(&self, index: u32) -> Result<BlockLocation> {
        let table = self.fragments.as_ref();
        let table = table.ok_or_else(|| Error::corrupt("a fragment, but no fragment table"))?;
        let (position, word) = if self.superblock.major == 2 {
            let mut bytes = [0; 8];
            table.get(&self.metadata, u64::from(index), &mut bytes)?;
            let [position, word] = split(&bytes, self.superblock.order, &[32, 32]);
            (position, word)
        } else {
            let mut bytes = [0; size_of::<FragmentEntry>()];
            table.get(&self.metadata, u64::from(index), &mut bytes)?;
            let [position, word, _] = split(&bytes, self.superblock.order, &[64, 32, 32]);
            (position, word)
        };
        let word = BlockWord(u32::try_from(word).unwrap_or(0).into());
        let end = position.checked_add(u64::from(word.stored()));
        if word.stored() == 0 || end.is_none_or(|end| end > self.superblock.bytes_used) {
            let error = Error::corrupt(format!("fragment {index} is not within the image"));
            return Err(error.at("fragment table", self.metadata.file_offset(position)));
        }
        Ok(BlockLocation {
            position,
            len: word.stored(),
            raw: word.is_raw(),
        })
    }

    /// Checks that all blocks of a file and its tail are within the image.
    pub(crate) fn check_content(&self, ino: Ino, content: &FileBlocks) -> Result<()> {
        let block_size = u64::from(self.superblock.block_size);
        if let Some((_, within)) = content.fragment {
            let tail = content.size % block_size;
            if u64::from(within) + tail > block_size {
                return Err(Error::corrupt(format!(
                    "a tail of {tail} bytes at {within} exceeds its fragment block"
                )));
            }
        }
        self.extents_of(ino, content, 0, &mut |_| ControlFlow::Continue(()))
    }

    /// Visits a file's extents from the one at position `from` on; adjacent holes are merged.
    pub(crate) fn extents_of(
        &self,
        ino: Ino,
        content: &FileBlocks,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()> {
        if from >= content.size {
            return Ok(());
        }
        let unit = u64::from(self.superblock.block_size);
        let count = content.blocks(self.superblock.block_size);
        let first = (from / unit).min(count);
        let mut hole: Option<Extent> = None;
        if first < count {
            let mut blocks = self.blocks(ino, content, first)?;
            for number in first..count {
                let stored = blocks.next()?;
                let offset = number * unit;
                let len = unit.min(content.size - offset);
                if stored.is_hole() {
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
                    block: stored.position,
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
        }
        if let Some(hole) = hole
            && visit(hole).is_break()
        {
            return Ok(());
        }
        if let Some((index, within)) = content.fragment
            && content.size > count * unit
        {
            let source = ExtentSource::Block {
                block: self.fragment(index)?.position,
                offset: u64::from(within),
            };
            let offset = count * unit;
            let len = content.size - offset;
            let _ = visit(Extent {
                offset,
                len,
                source,
            });
        }
        Ok(())
    }

    /// Reads bytes of a file from a position on, up to its end.
    pub(crate) fn read_content(
        &self,
        ino: Ino,
        content: &FileBlocks,
        position: u64,
        buf: &mut [u8],
    ) -> Result<usize> {
        let unit = u64::from(self.superblock.block_size);
        let left = content.size.saturating_sub(position);
        let len = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        let (mut rest, _) = buf.split_at_mut(len);
        let (mut at, count) = (position, content.blocks(self.superblock.block_size));
        let mut blocks = None;
        while !rest.is_empty() {
            let number = at / unit;
            let (within, whole) = (at % unit, unit.min(content.size - number * unit));
            let now = usize::try_from(whole - within).map_or(rest.len(), |n| n.min(rest.len()));
            let (target, later) = rest.split_at_mut(now);
            if number < count {
                let blocks = match &mut blocks {
                    Some(blocks) => blocks,
                    none => none.insert(self.blocks(ino, content, number)?),
                };
                let stored = blocks.next()?;
                self.read_block(stored, whole, within, target)?;
            } else {
                let (index, start) = content.fragment.unwrap_or_default();
                let stored = self.fragment(index)?;
                self.read_fragment(stored, u64::from(start) + within, target)?;
                self.look_ahead(index);
            }
            at += now as u64;
            rest = later;
        }
        Ok(len)
    }

    /// Reads a part of a block of `whole` decoded bytes.
    fn read_block(
        &self,
        stored: BlockLocation,
        whole: u64,
        within: u64,
        target: &mut [u8],
    ) -> Result<()> {
        if stored.is_hole() {
            target.fill(0);
            return Ok(());
        }
        let key = self.key(stored);
        let open = || self.open_block(stored, whole, true);
        let read = if target.len() as u64 == whole {
            let decode = |room: &mut [u8]| self.decode_into(stored, room);
            self.cache.read_whole(key, target, open, decode)
        } else {
            self.cache.read(key, within, target, open)
        };
        read.map_err(|error| self.in_block("block", error, stored))
    }

    fn read_fragment(&self, stored: BlockLocation, within: u64, target: &mut [u8]) -> Result<()> {
        let whole = u64::from(self.superblock.block_size);
        let open = || self.open_block(stored, whole, false);
        let read = self.cache.read(self.key(stored), within, target, open);
        read.map_err(|error| self.in_block("fragment block", error, stored))
    }

    /// Decodes the next fragment block on another thread if blocks are read in order.
    fn look_ahead(&self, index: u32) {
        let Some(next) = self.ahead.next(index) else {
            return;
        };
        if next >= self.superblock.fragments {
            return;
        }
        let Ok(stored) = self.fragment(next) else {
            return;
        };
        let key = self.key(stored);
        if stored.raw || self.cache.holds(key) {
            return;
        }
        let (cache, source, codec) = (
            Arc::clone(&self.cache),
            self.metadata.source.clone(),
            self.codec,
        );
        let range = stored.position..stored.position.saturating_add(stored.len.into());
        if !source.is_here(&range) {
            source.will_need(&[range]);
            return;
        }
        let whole = u64::from(self.superblock.block_size);
        self.ahead.start(move || {
            let open = || open_stored(&source, codec, stored, whole, false);
            // reading the block repeats a failure
            let _ = cache.read(key, 0, &mut [], open);
        });
    }

    fn key(&self, stored: BlockLocation) -> u128 {
        self.cache_key | u128::from(stored.position)
    }

    /// Adds a block's location to an error.
    #[cold]
    fn in_block(&self, what: &'static str, error: Error, stored: BlockLocation) -> Error {
        error.at(what, self.metadata.file_offset(stored.position))
    }

    /// Opens a block of `whole` decoded bytes or, unless `exact`, of at most that many.
    pub(crate) fn open_block(
        &self,
        stored: BlockLocation,
        whole: u64,
        exact: bool,
    ) -> Result<Opened> {
        open_stored(&self.metadata.source, self.codec, stored, whole, exact)
    }

    /// Decodes a block into a buffer, which it must fill exactly.
    fn decode_into(&self, stored: BlockLocation, room: &mut [u8]) -> Result<()> {
        let whole = room.len() as u64;
        let found = if stored.raw {
            if u64::from(stored.len) == whole {
                self.metadata.source.read_at(stored.position, room)?;
            }
            u64::from(stored.len)
        } else {
            decode(&self.metadata.source, self.codec, stored, room)? as u64
        };
        if found == whole {
            return Ok(());
        }
        Err(wrong_length(whole, found))
    }
}

fn open_stored(
    source: &Window,
    codec: CodecId,
    stored: BlockLocation,
    whole: u64,
    exact: bool,
) -> Result<Opened> {
    if stored.raw {
        let len = u64::from(stored.len);
        if len > whole || (exact && len != whole) {
            return Err(wrong_length(whole, len));
        }
        return Ok(Opened::Stored(source.part(stored.position, len)?));
    }
    let len = usize::try_from(whole.min(u64::from(BLOCK_SIZE_MAX))).unwrap_or(0);
    let mut decoded = vec![0; len];
    let found = decode(source, codec, stored, &mut decoded)?;
    if exact && found != decoded.len() {
        return Err(wrong_length(whole, found as u64));
    }
    decoded.truncate(found);
    decoded.shrink_to_fit();
    Ok(Opened::Decoded(decoded))
}

fn decode(
    source: &Window,
    codec: CodecId,
    stored: BlockLocation,
    room: &mut [u8],
) -> Result<usize> {
    let len = stored.len;
    if len > BLOCK_SIZE_MAX {
        return Err(Error::corrupt(format!(
            "{len} stored bytes are more than a block"
        )));
    }
    STORED.with_borrow_mut(|bytes| {
        let len = len as usize;
        if bytes.len() < len {
            bytes.resize(len, 0);
        }
        let bytes = bytes.get_mut(..len).unwrap_or_default();
        source.read_at(stored.position, bytes)?;
        codec.decode(bytes, room)
    })
}

#[cold]
fn wrong_length(expected: u64, found: u64) -> Error {
    Error::corrupt(format!("expected {expected} decoded bytes, found {found}"))
}
