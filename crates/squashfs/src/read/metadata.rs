//! Metadata blocks, decoded on demand and cached, and reading across them.
//!
//! In: positions in the image. Out: decoded bytes.
//!
//! **Invariant:** a block has 1 to 8192 decoded bytes and is followed by the next one, so a stream
//! always ends at the end of its table. Memory: the capacity of the cache, and one block per
//! reader. All positions are relative to the start of the image.

use std::sync::Arc;

use quick_cache::sync::Cache;
use sinterfs_block::{ReadAt, Window};
use sinterfs_codec::CodecId;
use sinterfs_model::{Error, Result};
use zerocopy::{FromBytes, IntoBytes};

use super::fields::{FieldOrder, bytes_of, split};
use crate::layout::{METADATA_SIZE, MetaRef, MetadataHeader};

/// A range of the image with metadata blocks, and its name for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Table {
    pub(crate) fn new(name: &'static str, start: u64, end: u64) -> Self {
        Self { name, start, end }
    }
}

/// A decoded metadata block.
#[derive(Debug)]
pub(crate) struct MetaBlock {
    data: Box<[u8]>,
    /// The position of the next block.
    next: u64,
}

/// The largest memory of a cached block in bytes.
const BLOCK_COST: u64 = METADATA_SIZE as u64 + 256;

/// The metadata blocks of one image.
pub(crate) struct Metadata {
    pub(crate) source: Window,
    pub(crate) order: FieldOrder,
    codec: CodecId,
    /// Whether a byte follows a block's header, as in some images before 4.0.
    marker: bool,
    blocks: Cache<u64, Arc<MetaBlock>>,
}

impl Metadata {
    /// Makes a source with a cache of `bytes` bytes.
    pub(crate) fn new(
        source: Window,
        order: FieldOrder,
        codec: CodecId,
        marker: bool,
        bytes: u64,
    ) -> Self {
        let capacity = usize::try_from(bytes / BLOCK_COST).unwrap_or(usize::MAX);
        Self {
            source,
            order,
            codec,
            marker,
            blocks: Cache::new(capacity.max(16)),
        }
    }

    /// Converts a position in the image to an offset in its file.
    pub(crate) fn file_offset(&self, position: u64) -> u64 {
        self.source.start().saturating_add(position)
    }

    /// Returns the block at a position of a table.
    pub(crate) fn block(&self, table: &Table, position: u64) -> Result<Arc<MetaBlock>> {
        if let Some(block) = self.blocks.get(&position) {
            return Ok(block);
        }
        let block = self.decode(table, position);
        let block = block.map_err(|e| e.at(table.name, self.file_offset(position)))?;
        let block = Arc::new(block);
        self.blocks.insert(position, Arc::clone(&block));
        Ok(block)
    }

    fn decode(&self, table: &Table, position: u64) -> Result<MetaBlock> {
        const HEADER_MAX: usize = 3;
        let left = table.end.checked_sub(position);
        let left = left.ok_or_else(|| Error::corrupt("a reference past the end of the table"))?;
        let mut stored = [0; METADATA_SIZE + HEADER_MAX];
        let len = usize::try_from(left).map_or(stored.len(), |left| left.min(stored.len()));
        let (stored, _) = stored.split_at_mut(len);
        self.source.read_at(position, stored)?;
        let header_len = 2 + usize::from(self.marker);
        let (header, stored) = stored
            .split_at_checked(header_len)
            .ok_or_else(|| Error::corrupt("a reference past the end of the table"))?;
        let [header] = split(header, self.order, &[16]);
        let header = MetadataHeader(u16::try_from(header).unwrap_or(0).into());
        let len = usize::from(header.stored());
        if len == 0 || len > METADATA_SIZE {
            return Err(Error::corrupt(format!(
                "expected a metadata block of 1 to {METADATA_SIZE} bytes, found {len}"
            )));
        }
        let stored = stored
            .get(..len)
            .ok_or_else(|| Error::corrupt("a metadata block past the end of the table"))?;
        let next = position.saturating_add((header_len + len) as u64);
        if header.is_raw() {
            let data = stored.into();
            return Ok(MetaBlock { data, next });
        }
        let mut decoded = [0; METADATA_SIZE];
        let len = self.codec.decode(stored, &mut decoded)?;
        let data: Box<[u8]> = decoded.get(..len).unwrap_or_default().into();
        if data.is_empty() {
            return Err(Error::corrupt("an empty metadata block"));
        }
        Ok(MetaBlock { data, next })
    }

    /// Starts to read at a reference into a table.
    pub(crate) fn read_at(&self, table: Table, reference: MetaRef) -> Result<MetadataReader<'_>> {
        let position = table.start.saturating_add(reference.block());
        self.read_from(
            table,
            MetaPosition {
                position,
                offset: reference.offset(),
            },
        )
    }

    /// Starts to read at a position of a table.
    pub(crate) fn read_from(
        &self,
        table: Table,
        place: MetaPosition,
    ) -> Result<MetadataReader<'_>> {
        let block = self.block(&table, place.position)?;
        let offset = usize::from(place.offset);
        if offset > block.data.len() {
            return Err(Error::corrupt(format!(
                "offset {offset} in a metadata block of {} bytes",
                block.data.len()
            ))
            .at(table.name, self.file_offset(place.position)));
        }
        Ok(MetadataReader {
            metadata: self,
            table,
            block,
            position: place.position,
            offset,
        })
    }
}

/// A position in the decoded stream of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MetaPosition {
    /// The position of the metadata block in the image.
    pub(crate) position: u64,
    /// The offset in the decoded block.
    pub(crate) offset: u16,
}

/// Reads the decoded stream of a table from a position on.
pub(crate) struct MetadataReader<'a> {
    metadata: &'a Metadata,
    table: Table,
    block: Arc<MetaBlock>,
    position: u64,
    offset: usize,
}

impl MetadataReader<'_> {
    /// Returns the position of the next byte.
    pub(crate) fn position(&self) -> MetaPosition {
        MetaPosition {
            position: self.position,
            // a block has at most 8192 bytes
            offset: u16::try_from(self.offset).unwrap_or(u16::MAX),
        }
    }

    /// Returns the position of the next byte in the block that contains it; `None` at the end of
    /// the table.
    pub(crate) fn next_position(&mut self) -> Result<Option<MetaPosition>> {
        if self.rest().is_empty() {
            if self.block.next >= self.table.end {
                return Ok(None);
            }
            self.next_block()?;
        }
        Ok(Some(self.position()))
    }

    /// Adds the current location to an error.
    #[cold]
    pub(crate) fn locate(&self, error: Error) -> Error {
        error.at(self.table.name, self.metadata.file_offset(self.position))
    }

    fn rest(&self) -> &[u8] {
        self.block.data.get(self.offset..).unwrap_or_default()
    }

    fn next_block(&mut self) -> Result<()> {
        let next = self.block.next;
        if next >= self.table.end {
            return Err(self.locate(Error::corrupt("the table ends within a record")));
        }
        self.block = self.metadata.block(&self.table, next)?;
        self.position = next;
        self.offset = 0;
        Ok(())
    }

    /// Fills a buffer with the next bytes.
    pub(crate) fn fill(&mut self, mut buf: &mut [u8]) -> Result<()> {
        loop {
            let rest = self.rest();
            let count = rest.len().min(buf.len());
            let (now, later) = buf.split_at_mut(count);
            now.copy_from_slice(rest.get(..count).unwrap_or_default());
            self.offset += count;
            if later.is_empty() {
                return Ok(());
            }
            buf = later;
            self.next_block()?;
        }
    }

    /// Reads a record.
    pub(crate) fn read<T: FromBytes + IntoBytes>(&mut self) -> Result<T> {
        if let Ok((record, _)) = T::read_from_prefix(self.rest()) {
            self.offset += size_of::<T>();
            return Ok(record);
        }
        let mut record = T::new_zeroed();
        self.fill(record.as_mut_bytes())?;
        Ok(record)
    }

    /// Reads a record of bit fields in the image's byte order.
    pub(crate) fn fields<const N: usize>(&mut self, widths: &[u32; N]) -> Result<[u64; N]> {
        let mut bytes = [0; 64];
        let (bytes, _) = bytes.split_at_mut(bytes_of(widths));
        self.fill(bytes)?;
        Ok(split(bytes, self.metadata.order, widths))
    }

    /// Skips bytes.
    pub(crate) fn skip(&mut self, mut count: u64) -> Result<()> {
        loop {
            let rest = self.rest().len();
            match usize::try_from(count).ok().filter(|count| *count <= rest) {
                Some(count) => {
                    self.offset += count;
                    return Ok(());
                }
                None => count -= rest as u64,
            }
            self.next_block()?;
        }
    }
}
