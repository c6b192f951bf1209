//! The index: where each block is stored, and by which codec.
//!
//! In: the stored entries, of whichever version. Out: `IndexEntry`s.
//!
//! **Invariant:** every block is within the part of the file that has blocks; where an entry has
//! only the start of its block, starts ascend. Format: `docs/formats/cloop.md`, "Index".

use sinterfs_codec::CodecId;
use sinterfs_model::{Error, Result};

use crate::layout::{CloopVersion, HEADER_LEN};

/// Bytes of memory that a block takes.
pub(crate) const ENTRY_MEMORY: u64 = size_of::<IndexEntry>() as u64;

/// The kind of the entries of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexKind {
    /// Starts of 4 bytes, and the end of the last block.
    Short,
    /// Starts of 8 bytes in the order of little-endian machines, and the end.
    Little,
    /// Starts of 8 bytes, and the end.
    Long,
    /// The same with the number of a codec in the highest four bits.
    Flagged,
    /// The start (8 bytes) and the length (4) of each, and 4 bytes more.
    Ranges,
    /// Lengths of 4 bytes; blocks follow each other after the header.
    Lengths,
}

impl IndexKind {
    /// Returns the kind whose entries are so long, in an index at the end.
    pub(crate) fn with_width(width: u32) -> Result<Self> {
        match width {
            4 => Ok(Self::Lengths),
            16 => Ok(Self::Ranges),
            _ => {
                let what = format!("an index with entries of {width} bytes");
                Err(Error::unsupported(what))
            }
        }
    }

    /// Returns the kind of an index after the header by its first bytes.
    pub(crate) fn with_first(version: CloopVersion, blocks: u32, first: [u8; 12]) -> Result<Self> {
        match version {
            CloopVersion::V4 => return Ok(Self::Flagged),
            CloopVersion::V2 => return Ok(Self::Long),
            _ => {}
        }
        // versions below 2, and 3 with the number of blocks in its header, have several
        let [a, b, c, d, e, f, g, h, i, j, k, l] = first;
        let word = u32::from_be_bytes([a, b, c, d]);
        let third = u32::from_be_bytes([i, j, k, l]);
        if word == 0 && third == 0 {
            return Ok(Self::Long);
        }
        if word == 0 {
            return Ok(Self::Ranges);
        }
        let is_short = u64::from(word) == HEADER_LEN + Self::Short.len(blocks);
        match [e, f, g, h] {
            // the only entry of an empty device
            [0, 0, 0, 0] if blocks == 0 && is_short => Ok(Self::Short),
            [0, 0, 0, 0] => Ok(Self::Little),
            _ if is_short => Ok(Self::Short),
            _ => Err(Error::corrupt("an index of no known kind")),
        }
    }

    /// Returns the bytes of an entry.
    fn width(self) -> usize {
        match self {
            Self::Short | Self::Lengths => 4,
            Self::Little | Self::Long | Self::Flagged => 8,
            Self::Ranges => 16,
        }
    }

    /// Returns the length in bytes of the index of this number of blocks.
    pub(crate) fn len(self, blocks: u32) -> u64 {
        let more = match self {
            Self::Short | Self::Little | Self::Long | Self::Flagged => 1,
            Self::Ranges | Self::Lengths => 0,
        };
        (u64::from(blocks) + more) * self.width() as u64
    }
}

/// The location of the index of blocks, and the kind of its entries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexLocation {
    pub(crate) kind: IndexKind,
    pub(crate) at: u64,
    /// The range of blocks.
    pub(crate) data: (u64, u64),
}

/// The codec of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockCodec {
    /// A zlib stream.
    Zlib,
    /// Stored as it is.
    Stored,
    /// An .xz stream.
    Xz,
    /// An LZ4 block.
    Lz4,
    /// LZO1X.
    Lzo,
}

impl BlockCodec {
    /// Returns the codec of a number; `None` if the format does not define it.
    pub(crate) fn of_number(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::Zlib,
            1 => Self::Stored,
            2 => Self::Xz,
            3 => Self::Lz4,
            4 => Self::Lzo,
            _ => return None,
        })
    }

    /// Returns the number of the codec in an index.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Zlib => 0,
            Self::Stored => 1,
            Self::Xz => 2,
            Self::Lz4 => 3,
            Self::Lzo => 4,
        }
    }

    /// Returns the codec of compressed blocks; `None` for those that are stored.
    pub(crate) fn unit(self) -> Option<CodecId> {
        Some(match self {
            Self::Zlib => CodecId::Zlib,
            Self::Stored => return None,
            Self::Xz => CodecId::Xz,
            Self::Lz4 => CodecId::Lz4,
            Self::Lzo => CodecId::Lzo,
        })
    }
}

/// The location of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexEntry {
    pub(crate) at: u64,
    /// At most `u32::MAX`, which no block has.
    pub(crate) len: u32,
    /// The number of its codec.
    pub(crate) codec: u8,
}

/// The bits of an entry that are a position.
const POSITION: u64 = (1 << 60) - 1;

/// Decodes an index.
pub(crate) fn decode(bytes: &[u8], location: IndexLocation) -> Result<Vec<IndexEntry>> {
    let entries = bytes.chunks_exact(location.kind.width());
    let blocks: Vec<IndexEntry> = match location.kind {
        IndexKind::Short => starts(entries.map(short)),
        IndexKind::Long => starts(entries.map(long)),
        IndexKind::Little => starts(entries.map(|entry| long(entry).swap_bytes())),
        IndexKind::Flagged => flagged(entries.map(long)),
        IndexKind::Ranges => Some(entries.map(range).collect()),
        IndexKind::Lengths => lengths(entries.map(short), location.data.0),
    }
    .ok_or_else(|| Error::corrupt("offsets of blocks that do not ascend"))?;
    let (start, end) = location.data;
    let is_outside = |block: &IndexEntry| {
        let after = block.at.checked_add(block.len.into());
        block.at < start || after.is_none_or(|after| after > end)
    };
    match blocks.iter().position(is_outside) {
        None => Ok(blocks),
        Some(number) => Err(outside(number, blocks.len(), location.data)),
    }
}

#[cold]
fn outside(number: usize, count: usize, (start, end): (u64, u64)) -> Error {
    Error::corrupt(format!(
        "block {number} of {count} is not within the blocks, which are from {start:#x} to \
         {end:#x}: the file is cut off, or the offset is damaged"
    ))
}

fn short(entry: &[u8]) -> u64 {
    let bytes = entry.first_chunk().copied().unwrap_or_default();
    u32::from_be_bytes(bytes).into()
}

fn long(entry: &[u8]) -> u64 {
    u64::from_be_bytes(entry.first_chunk().copied().unwrap_or_default())
}

fn range(entry: &[u8]) -> IndexEntry {
    let (start, rest) = entry.split_at_checked(8).unwrap_or_default();
    IndexEntry {
        at: long(start),
        len: u32::try_from(short(rest)).unwrap_or(u32::MAX),
        codec: 0,
    }
}

/// Makes blocks of their starts and the end; `None` where these do not ascend.
fn starts(starts: impl Iterator<Item = u64>) -> Option<Vec<IndexEntry>> {
    flagged(starts.map(|start| start.min(POSITION)))
}

/// The same where starts have flags.
fn flagged(mut starts: impl Iterator<Item = u64>) -> Option<Vec<IndexEntry>> {
    let mut last = starts.next()?;
    let block = |next: u64| {
        let (at, end) = (last & POSITION, next & POSITION);
        let codec = u8::try_from(last >> 60).unwrap_or(u8::MAX);
        last = next;
        let len = u32::try_from(end.checked_sub(at)?).unwrap_or(u32::MAX);
        Some(IndexEntry { at, len, codec })
    };
    starts.map(block).collect()
}

/// Makes blocks that follow each other.
fn lengths(lengths: impl Iterator<Item = u64>, start: u64) -> Option<Vec<IndexEntry>> {
    let mut at = start;
    let block = |len: u64| {
        let block = IndexEntry {
            at,
            len: u32::try_from(len).ok()?,
            codec: 0,
        };
        at = at.checked_add(len)?;
        Some(block)
    };
    lengths.map(block).collect()
}
