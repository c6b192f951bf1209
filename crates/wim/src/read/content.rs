//! Content of blobs: extents, and bytes through the cache.
//!
//! In: a blob and a range of bytes. Out: extents, or bytes.
//!
//! **Invariant:** content that is read from its first byte to its last, at once or in order, is
//! compared with its SHA-1. The number of a block is the position of its resource plus the index of
//! the chunk, and the part in the bits from 48 on.

use std::ops::ControlFlow;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_block::cache::{BlockCache, Opened};
use sinterfs_model::{Error, Extent, ExtentSource, Limits, Result};

use super::blobs::{Blob, BlobTable};
use super::chunks::Resource;
use super::damaged::DamagedChunks;
use super::decoding;
use super::digests::DigestChecks;
use super::parts::Part;

/// The files of an image with their content.
pub(crate) struct Contents {
    pub(crate) parts: Vec<Part>,
    pub(crate) table: BlobTable,
    pub(crate) cache: Arc<BlockCache>,
    pub(crate) cache_key: u128,
    pub(crate) limits: Limits,
    pub(crate) checks: DigestChecks,
    pub(crate) damaged: DamagedChunks,
}

impl Contents {
    fn part(&self, resource: &Resource) -> Result<&Part> {
        let part = self.parts.get(resource.part);
        part.ok_or_else(|| Error::corrupt("a resource of a part that is not there"))
    }

    /// Returns the number of the block of a chunk.
    pub(crate) fn block(resource: &Resource, chunk: u64) -> u64 {
        let part = u64::try_from(resource.part).unwrap_or(0) << 48;
        part | resource.at.saturating_add(chunk)
    }

    /// Visits the extents of a blob from the one at `from` on.
    pub(crate) fn extents(
        &self,
        (blob, resource): (&Blob, &Resource),
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) {
        let size = resource
            .encoding()
            .map_or(u64::MAX, |e| e.chunk_size.into());
        let mut offset = from.min(blob.len);
        if offset < blob.len {
            // the chunk that has this byte begins before it
            let within = (blob.at + offset) % size;
            offset -= within.min(offset);
        }
        while offset < blob.len {
            let at = blob.at + offset;
            let (chunk, within) = (at / size, at % size);
            let len = (size - within).min(blob.len - offset);
            let source = ExtentSource::Block {
                block: Self::block(resource, chunk),
                offset: within,
            };
            let extent = Extent {
                offset,
                len,
                source,
            };
            if visit(extent).is_break() {
                return;
            }
            offset += len;
        }
    }

    /// Reads bytes of a blob from an offset on, up to its end.
    pub(crate) fn read_blob(&self, number: u32, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let found = self.table.get(number);
        let (blob, resource) = found.ok_or_else(|| Error::corrupt("a blob that is not there"))?;
        let left = blob.len.saturating_sub(offset);
        let len = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        let (now, _) = buf.split_at_mut(len);
        if len == 0 {
            return Ok(0);
        }
        self.read_resource(resource, blob.at + offset, now)?;
        self.checks
            .passed(number, blob, offset, now)
            .map_err(|error| {
                let part = self.parts.get(resource.part);
                let start = part.map_or(0, |part| part.window.start());
                error.at("resource", start.saturating_add(resource.at))
            })?;
        Ok(len)
    }

    /// Fills a buffer with bytes of a decoded resource, within its length.
    pub(crate) fn read_resource(
        &self,
        resource: &Resource,
        mut at: u64,
        mut buf: &mut [u8],
    ) -> Result<()> {
        let part = self.part(resource)?;
        let Some(encoding) = resource.encoding() else {
            return part.window.read_at(resource.at.saturating_add(at), buf);
        };
        let size = u64::from(encoding.chunk_size);
        while !buf.is_empty() {
            let (chunk, within) = (at / size, at % size);
            let left = usize::try_from(size - within).unwrap_or(usize::MAX);
            let (now, rest) = buf.split_at_mut(left.min(buf.len()));
            self.read_chunk(part, resource, chunk, within, now)?;
            at += now.len() as u64;
            buf = rest;
        }
        Ok(())
    }

    /// Reads a part of a chunk.
    fn read_chunk(
        &self,
        part: &Part,
        resource: &Resource,
        index: u64,
        within: u64,
        target: &mut [u8],
    ) -> Result<()> {
        let Some(encoding) = resource.encoding() else {
            return Err(Error::invalid("chunks of a resource without compression"));
        };
        let size = u64::from(encoding.chunk_size);
        let whole = resource
            .len
            .saturating_sub(index.saturating_mul(size))
            .min(size);
        let decode = |room: &mut [u8]| {
            let chunk = resource.locate(part, index)?;
            decoding::decode(part, encoding, chunk, &self.damaged, room)
        };
        let open = || {
            if whole > self.limits.block {
                let limit = self.limits.block;
                let what = format!("a chunk of {whole} bytes, above the limit of {limit}");
                return Err(Error::limit(what));
            }
            let mut decoded = room_for(whole)?;
            decode(&mut decoded)?;
            Ok(Opened::Decoded(decoded))
        };
        let key = self.cache_key | u128::from(Self::block(resource, index));
        let read = if target.len() as u64 == whole {
            self.cache.read_whole(key, target, open, decode)
        } else {
            self.cache.read(key, within, target, open)
        };
        read.map_err(|error| {
            let at = part.window.start().saturating_add(resource.at);
            error.at(format!("chunk {index} of the resource"), at)
        })
    }
}

/// Makes a buffer of zeros. Fails with `Limit` if memory is short.
fn room_for(len: u64) -> Result<Vec<u8>> {
    let short = || Error::limit(format!("no memory for {len} bytes"));
    let len = usize::try_from(len).map_err(|_| short())?;
    let mut room = Vec::new();
    room.try_reserve_exact(len).map_err(|_| short())?;
    room.resize(len, 0);
    Ok(room)
}
