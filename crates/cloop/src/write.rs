//! Writes compressed devices of versions 2 and 4: blocks are compressed by many threads.
//!
//! In: the bytes of a device. Out: an image.
//!
//! **Invariant:** the bytes depend on the device and the options, not on the number of threads.
//! Memory: 8 bytes a block, and for each thread the stored bytes of 16 blocks, at most 16 MiB but
//! one block at least, and one decoded block. Format: `docs/formats/cloop.md`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use sinterfs_block::{ReadAt, Sink};
use sinterfs_codec::{CodecId, Encoding, zlib};
use sinterfs_model::{Error, Observer, Result, Stage, Tally};

use crate::header::CloopHeader;
use crate::index::{BlockCodec, IndexKind};
use crate::layout::{BLOCK_SIZE_MAX, CloopVersion, HEADER_LEN, SCRIPT_LEN};

/// The first bytes, a script that mounts the image where the cloop driver exists.
fn script(version: WrittenVersion) -> Vec<u8> {
    let number = match version {
        WrittenVersion::V2 => 2,
        WrittenVersion::V4(_) => 4,
    };
    let text = format!(
        "#!/bin/sh\n#V{number}.0 Format\n\
         modprobe cloop file=$0 && mount -r /dev/cloop0 $1\nexit $?\n"
    );
    text.into_bytes()
}

/// Blocks that a thread compresses before they are written.
const BATCH: u64 = 16;

/// Bytes of a total, before compression.
const BATCH_BYTES: u64 = 16 << 20;

/// The version of an image that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenVersion {
    /// 2.0: zlib, which every driver reads.
    V2,
    /// 4.0 with this codec; blocks that do not get smaller are stored as they are.
    V4(BlockCodec),
}

/// Options for writing an image.
#[derive(Debug, Clone, Copy)]
pub struct WriteOptions {
    /// Bytes of a decoded block: a multiple of 512.
    pub block_size: u32,
    /// The version.
    pub version: WrittenVersion,
    /// 0 stores, 1 to 12 compress: higher is smaller and slower. Levels of xz end at 9, LZO has
    /// one.
    pub level: i32,
    /// The number of threads that compress.
    pub threads: usize,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            block_size: 64 << 10,
            version: WrittenVersion::V2,
            level: 9,
            threads: 1,
        }
    }
}

/// The summary of a written image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteReport {
    /// The number of blocks.
    pub blocks: u32,
    /// Bytes of the device, with the padding of its last block.
    pub device_len: u64,
    /// Bytes of the image.
    pub stored: u64,
}

/// Writes the image of a device.
///
/// `Invalid` for a block size or level that cannot be, `Limit` for more than 2^32 blocks,
/// `Cancelled` if the observer says so.
pub fn write(
    device: &dyn ReadAt,
    out: &mut dyn Sink,
    options: WriteOptions,
    observer: &dyn Observer,
) -> Result<WriteReport> {
    let header = header(device.len(), options)?;
    observer.expect(Stage::Compress, Tally::bytes(device.len()));
    let mut head = script(options.version);
    head.resize(usize::try_from(SCRIPT_LEN).unwrap_or(0), 0);
    head.extend(header.block_size.to_be_bytes());
    head.extend(header.blocks.to_be_bytes());
    // offsets are known at the end
    let index_len = IndexKind::Long.len(header.blocks);
    let table_len = usize::try_from(index_len).unwrap_or(usize::MAX);
    head.resize(head.len().saturating_add(table_len), 0);
    put(out, &head)?;
    let mut at = HEADER_LEN.saturating_add(index_len);
    let mut table = Vec::with_capacity(table_len);
    let unit = u64::from(options.block_size);
    let batch = (BATCH_BYTES / unit).clamp(1, BATCH);
    let step = unit.saturating_mul(batch.saturating_mul(options.threads.max(1) as u64));
    let mut start = 0;
    while start < device.len() {
        observer.check_cancelled()?;
        let end = start.saturating_add(step).min(device.len());
        for Encoded { codec, stored } in compress(device, start, end, options)? {
            let flags = u64::from(codec.number()) << 60;
            table.extend((at | flags).to_be_bytes());
            put(out, &stored)?;
            at = at.saturating_add(stored.len() as u64);
        }
        observer.advance(Stage::Compress, Tally::bytes(end - start));
        start = end;
    }
    table.extend(at.to_be_bytes());
    let patched = out.patch(HEADER_LEN, &table);
    patched.map_err(|error| Error::io("cannot write the offsets of blocks", error))?;
    Ok(WriteReport {
        blocks: header.blocks,
        device_len: header.device_len(),
        stored: at,
    })
}

fn put(out: &mut dyn Sink, bytes: &[u8]) -> Result<()> {
    let written = out.write_all(bytes);
    written.map_err(|error| Error::io("cannot write the image", error))
}

/// Checks the options.
fn header(len: u64, options: WriteOptions) -> Result<CloopHeader> {
    let size = options.block_size;
    if size == 0 || !size.is_multiple_of(512) || size > BLOCK_SIZE_MAX {
        let what = format!("block size {size}: must be a multiple of 512, at most 64 MiB");
        return Err(Error::invalid(what));
    }
    let most = match options.version {
        WrittenVersion::V4(BlockCodec::Xz) => 9,
        _ => *zlib::LEVELS.end(),
    };
    if !(0..=most).contains(&options.level) {
        let what = format!("level {}: must be from 0 to {most}", options.level);
        return Err(Error::invalid(what));
    }
    let blocks = u32::try_from(len.div_ceil(size.into()));
    let blocks = blocks.map_err(|_| Error::limit("a device of more than 2^32 blocks"))?;
    Ok(CloopHeader {
        version: match options.version {
            WrittenVersion::V2 => CloopVersion::V2,
            WrittenVersion::V4(_) => CloopVersion::V4,
        },
        block_size: size,
        blocks,
    })
}

/// A block as it is stored.
#[derive(Debug)]
struct Encoded {
    codec: BlockCodec,
    stored: Vec<u8>,
}

impl Default for Encoded {
    fn default() -> Self {
        Self {
            codec: BlockCodec::Stored,
            stored: Vec::new(),
        }
    }
}

/// Compresses the blocks of a part of the device, by several threads.
fn compress(
    device: &dyn ReadAt,
    start: u64,
    end: u64,
    options: WriteOptions,
) -> Result<Vec<Encoded>> {
    let unit = u64::from(options.block_size);
    let count = usize::try_from((end - start).div_ceil(unit)).unwrap_or(0);
    let empty = || Mutex::new(Ok(Encoded::default()));
    let done: Vec<Mutex<Result<Encoded>>> = (0..count).map(|_| empty()).collect();
    let next = AtomicUsize::new(0);
    sinterfs_workers::run(options.threads.min(count), "compress", || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = done.get(index) else { break };
            let at = start.saturating_add(unit.saturating_mul(index as u64));
            let stored = block(device, at, end.min(at.saturating_add(unit)), options);
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = stored;
        }
    });
    let done = done.into_iter().map(Mutex::into_inner);
    done.map(|slot| slot.unwrap_or_else(PoisonError::into_inner))
        .collect()
}

/// Compresses a block; one that the device does not fill is followed by zeros.
fn block(device: &dyn ReadAt, start: u64, end: u64, options: WriteOptions) -> Result<Encoded> {
    let mut raw = vec![0; options.block_size as usize];
    let len = usize::try_from(end - start).unwrap_or(usize::MAX);
    if let Some(filled) = raw.get_mut(..len) {
        device.read_at(start, filled)?;
    }
    let codec = match options.version {
        WrittenVersion::V2 => BlockCodec::Zlib,
        WrittenVersion::V4(codec) => codec,
    };
    if options.level > 0
        && let Some(stored) = encoded(&raw, codec, options.level)?
    {
        return Ok(Encoded { codec, stored });
    }
    Ok(match options.version {
        WrittenVersion::V2 => Encoded {
            codec,
            stored: zlib::stored(&raw),
        },
        WrittenVersion::V4(_) => Encoded {
            codec: BlockCodec::Stored,
            stored: raw,
        },
    })
}

/// Returns the stream of a block if that is smaller.
fn encoded(raw: &[u8], codec: BlockCodec, level: i32) -> Result<Option<Vec<u8>>> {
    let Some(codec) = codec.unit() else {
        return Ok(None);
    };
    let codec = match codec {
        CodecId::Lz4 => CodecId::Lz4Hc,
        codec => codec,
    };
    Encoding::at_level(codec, level)?.encode_unit(raw, Some(BLOCK_SIZE_MAX))
}
