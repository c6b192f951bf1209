//! The device that an image holds: `ReadAt` over its decoded blocks.
//!
//! In: a source. Out: `CloopDevice`, whose bytes are those of the device.
//!
//! **Invariant:** offsets of blocks ascend and are within the image; a block has at most twice as
//! many stored bytes as decoded ones, and decodes to exactly the block size, or it is an error with
//! its location. Memory: 8 bytes per block, and the cache.

use std::sync::Arc;

use sinterfs_block::cache::{self, BlockCache, Opened};
use sinterfs_block::codec::unit::UnitCodec;
use sinterfs_block::{ReadAt, Window};
use sinterfs_model::{Error, Limits, Result};

use crate::header::{CloopHeader, HEADER_LEN};

/// Options for opening an image.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// The offset of the image in its file.
    pub offset: u64,
    /// Bounds of what the image may make the reader allocate.
    pub limits: Limits,
    /// A cache of decoded blocks to share with the images inside.
    pub cache: Arc<BlockCache>,
}

/// An opened device. Many threads may read it at once.
pub struct CloopDevice {
    window: Window,
    header: CloopHeader,
    /// The start of each block in the image, and the end of the last.
    starts: Vec<u64>,
    cache: Arc<BlockCache>,
    cache_key: u128,
}

impl std::fmt::Debug for CloopDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("CloopDevice");
        shown.field("header", &self.header).finish_non_exhaustive()
    }
}

impl CloopDevice {
    /// Opens an image.
    ///
    /// `Invalid` if there is no image, `Unsupported` for versions but 2.0, `Corrupt` if it is
    /// inconsistent, `Limit` if it exceeds `options.limits`.
    pub fn open(source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Self> {
        let window = Window::from(source, options.offset)?;
        let located = |error: Error| error.at("header", options.offset);
        let header = CloopHeader::read(&window, &options.limits).map_err(located)?;
        let table = window.read(HEADER_LEN, header.table_len())?;
        let (words, _) = table.as_chunks::<8>();
        let starts: Vec<u64> = words.iter().map(|word| u64::from_be_bytes(*word)).collect();
        let first = HEADER_LEN + header.table_len();
        let in_order = starts.is_sorted() && starts.first().is_none_or(|start| *start >= first);
        if !in_order || starts.last().is_some_and(|end| *end > window.len()) {
            let error = Error::corrupt("offsets of blocks that do not ascend within the image");
            return Err(error.at("block offsets", options.offset + HEADER_LEN));
        }
        Ok(Self {
            window,
            header,
            starts,
            cache: Arc::clone(&options.cache),
            cache_key: cache::image_key(),
        })
    }

    /// Returns the header.
    pub fn header(&self) -> CloopHeader {
        self.header
    }

    /// Returns the offset of the image in its file in bytes.
    pub fn offset(&self) -> u64 {
        self.window.start()
    }

    /// Decodes a block, which must have exactly as many bytes as the buffer.
    fn decode(&self, block: usize, room: &mut [u8]) -> Result<()> {
        let (start, end) = self.range(block)?;
        let len = end.saturating_sub(start);
        if len > u64::from(self.header.block_size) * 2 {
            return Err(Error::corrupt(format!("a block of {len} stored bytes")));
        }
        let found = UnitCodec::Zlib.decode(&self.window.read(start, len)?, room)?;
        if found == room.len() {
            return Ok(());
        }
        Err(Error::corrupt(format!(
            "expected {} decoded bytes, found {found}",
            room.len()
        )))
    }

    /// Returns the start and the end of a stored block.
    fn range(&self, block: usize) -> Result<(u64, u64)> {
        let start = self.starts.get(block);
        let end = block.checked_add(1).and_then(|next| self.starts.get(next));
        let range = start.copied().zip(end.copied());
        range.ok_or_else(|| Error::corrupt(format!("there is no block {block}")))
    }

    /// Reads a part of a block.
    fn read_block(&self, block: usize, within: u64, target: &mut [u8]) -> Result<()> {
        let open = || {
            let mut decoded = vec![0; self.header.block_size as usize];
            self.decode(block, &mut decoded)?;
            Ok(Opened::Decoded(decoded))
        };
        let key = self.cache_key | block as u128;
        let read = self.cache.read(key, within, target, open);
        read.map_err(|error| {
            let start = self.range(block).map_or(0, |(start, _)| start);
            error.at("block", self.offset().saturating_add(start))
        })
    }
}

impl ReadAt for CloopDevice {
    fn len(&self) -> u64 {
        self.header.device_len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let end = offset.checked_add(buf.len() as u64);
        if end.is_none_or(|end| end > self.len()) {
            return Err(Error::corrupt(format!(
                "truncated: expected {} bytes at {offset:#x}, but the device ends at {:#x}",
                buf.len(),
                self.len()
            )));
        }
        let unit = u64::from(self.header.block_size);
        let (mut rest, mut at) = (buf, offset);
        while !rest.is_empty() {
            let within = at % unit;
            let left = usize::try_from(unit - within).unwrap_or(usize::MAX);
            let (target, later) = rest.split_at_mut(left.min(rest.len()));
            let block = usize::try_from(at / unit).unwrap_or(usize::MAX);
            at += target.len() as u64;
            self.read_block(block, within, target)?;
            rest = later;
        }
        Ok(())
    }
}
