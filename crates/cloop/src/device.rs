//! The device that an image holds: `ReadAt` over its decoded blocks.
//!
//! In: a source. Out: `CloopDevice`, which has the bytes of the device.
//!
//! **Invariant:** blocks are within the image; the stored bytes of a block are at most twice its
//! decoded bytes, and it decodes to exactly the block size (the last one of version 4 to at most
//! that, followed by zeros), or it is an error with its location. Memory: 16 bytes per block, and
//! the cache.

use std::sync::Arc;

use sinterfs_block::cache::{self, BlockCache, Opened};
use sinterfs_block::{ReadAt, Window};
use sinterfs_model::{Error, Limits, Result};

use crate::header::CloopHeader;
use crate::index::{self, BlockCodec, IndexEntry};
use crate::layout::CloopVersion;

/// Options for opening an image.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// The offset of the image in its file.
    pub offset: u64,
    /// Bounds of the memory that the image can make the reader allocate.
    pub limits: Limits,
    /// A cache of decoded blocks to share with the images inside.
    pub cache: Arc<BlockCache>,
}

/// An opened device. Many threads may read it at once.
pub struct CloopDevice {
    window: Window,
    header: CloopHeader,
    stored: Vec<IndexEntry>,
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
    /// `Invalid` if there is no image, `Unsupported` for other versions than 0.68 to 4.0, `Corrupt`
    /// if it is inconsistent, `Limit` if it exceeds `options.limits`.
    pub fn open(source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Self> {
        let window = Window::from(source, options.offset)?;
        let located = |error: Error| error.at("header", options.offset);
        let (header, location) = CloopHeader::read(&window, &options.limits).map_err(located)?;
        header.check_memory(&options.limits).map_err(located)?;
        let entries = window.read(location.at, location.kind.len(header.blocks))?;
        let stored = index::decode(&entries, location)
            .map_err(|error| error.at("index", options.offset.saturating_add(location.at)))?;
        Ok(Self {
            window,
            header,
            stored,
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

    /// Decodes a block, which must fill the buffer exactly.
    fn decode(&self, block: usize, room: &mut [u8]) -> Result<()> {
        let IndexEntry { at, len, codec } = self.block(block)?;
        let len = u64::from(len);
        if len > u64::from(self.header.block_size) * 2 {
            return Err(Error::corrupt(format!("a block of {len} stored bytes")));
        }
        let codec = BlockCodec::of_number(codec)
            .ok_or_else(|| Error::unsupported(format!("a block with the unknown codec {codec}")))?;
        let bytes = self.window.read(at, len)?;
        let found = match codec.unit() {
            Some(unit) => unit.decode(&bytes, room)?,
            None => {
                let target = room.get_mut(..bytes.len());
                let target = target.ok_or_else(|| Error::corrupt("a block that is too long"))?;
                target.copy_from_slice(&bytes);
                bytes.len()
            }
        };
        let may_be_short =
            self.header.version == CloopVersion::V4 && block.saturating_add(1) == self.stored.len();
        if may_be_short {
            // decoders may leave anything after the bytes they decoded
            room.get_mut(found..).unwrap_or_default().fill(0);
            return Ok(());
        }
        if found == room.len() {
            return Ok(());
        }
        Err(Error::corrupt(format!(
            "expected {} decoded bytes, found {found}",
            room.len()
        )))
    }

    /// Returns where a block is stored.
    fn block(&self, block: usize) -> Result<IndexEntry> {
        let found = self.stored.get(block).copied();
        found.ok_or_else(|| Error::corrupt(format!("there is no block {block}")))
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
            let start = self.block(block).map_or(0, |stored| stored.at);
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
