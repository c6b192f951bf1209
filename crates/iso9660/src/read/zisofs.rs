//! The blocks of a file that zisofs compressed.
//!
//! In: the stored content and the header that a record announced. Out: where blocks are, and their
//! decoded bytes.
//!
//! **Invariant:** pointers ascend and stay within the stored content, the stored bytes of a block
//! are at most twice its decoded bytes, and it decodes to exactly the length that the file needs.

use std::ops::Range;

use sinterfs_codec::CodecId;
use sinterfs_model::{Error, Result};

use super::sections::StoredContent;
use crate::layout::{ZisofsAlgorithm, ZisofsHeader, ZisofsVersion, le32, le64};

/// Stored bytes that a block may have beyond twice its decoded length.
const SLACK: u64 = 1024;

/// The magic number of LZ4 frames, which mkzftree2 writes.
const LZ4_FRAME: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

/// The location of a block of a compressed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZisofsBlock {
    /// The offset of the first byte in the stored content.
    pub offset: u64,
    /// The number of stored bytes; none for a block of zeros.
    pub len: u64,
}

/// A compressed file.
#[derive(Debug, Clone)]
pub(super) struct ZisofsFile<'a> {
    pub(super) stored: StoredContent<'a>,
    pub(super) header: ZisofsHeader,
}

impl<'a> ZisofsFile<'a> {
    /// Makes a file whose own header is the one announced.
    pub(super) fn new(stored: StoredContent<'a>, header: ZisofsHeader) -> Result<Self> {
        let mut bytes = [0; 24];
        let bytes = bytes
            .get_mut(..header.version.header_len())
            .unwrap_or_default();
        if header.size > 0 || stored.len() >= bytes.len() as u64 {
            stored.read(0, bytes)?;
            if ZisofsHeader::decode(bytes) != Some(header) {
                let what = "the header of a compressed file is not the one that its record says";
                return Err(Error::corrupt(what));
            }
        }
        let file = Self { stored, header };
        let pointers = (header.blocks() + 1).checked_mul(header.version.pointer_len());
        let end = pointers.and_then(|len| len.checked_add(header.pointers()));
        if header.size > 0 && end.is_none_or(|end| end > file.stored.len()) {
            let what = format!(
                "{} block pointers in {} stored bytes",
                header.blocks() + 1,
                file.stored.len()
            );
            return Err(Error::corrupt(what));
        }
        Ok(file)
    }

    /// Returns the decoded length of a block.
    pub(super) fn decoded_len(&self, index: u64) -> u64 {
        let (size, block) = (self.header.size, self.header.block_size());
        size.saturating_sub(index.saturating_mul(block)).min(block)
    }

    /// Locates a range of blocks, which must be short.
    pub(super) fn locate(&self, range: Range<u64>) -> Result<Vec<ZisofsBlock>> {
        let pointer_len = self.header.version.pointer_len();
        let count = range.end.saturating_sub(range.start) + 1;
        let bytes = usize::try_from(count * pointer_len).unwrap_or(usize::MAX);
        let mut bytes = vec![0; bytes];
        let first = self.header.pointers() + range.start * pointer_len;
        self.stored.read(first, &mut bytes)?;
        let step = usize::try_from(pointer_len).unwrap_or(8);
        let pointers: Vec<u64> = match self.header.version {
            ZisofsVersion::V1 => bytes
                .chunks(step)
                .map(|word| le32(word, 0).into())
                .collect(),
            ZisofsVersion::V2 => bytes.chunks(step).map(|word| le64(word, 0)).collect(),
        };
        let most = self.header.block_size() * 2 + SLACK;
        let pairs = pointers.iter().zip(pointers.iter().skip(1));
        let blocks = pairs.map(|(&offset, &end)| {
            let len = end.checked_sub(offset).filter(|len| *len <= most);
            let len = len.filter(|_| end <= self.stored.len()).ok_or_else(|| {
                Error::corrupt(format!("a block from {offset:#x} to {end:#x} of its file"))
            })?;
            Ok(ZisofsBlock { offset, len })
        });
        blocks.collect()
    }

    /// Decodes a block that must fill the buffer exactly.
    pub(super) fn decode(&self, block: ZisofsBlock, room: &mut [u8]) -> Result<()> {
        if block.len == 0 {
            room.fill(0);
            return Ok(());
        }
        let mut stored = vec![0; usize::try_from(block.len).unwrap_or(0)];
        self.stored.read(block.offset, &mut stored)?;
        let codec = match self.header.algorithm {
            ZisofsAlgorithm::Zlib => CodecId::Zlib,
            ZisofsAlgorithm::Xz => CodecId::Xz,
            ZisofsAlgorithm::Lz4 if stored.starts_with(&LZ4_FRAME) => CodecId::Lz4Frame,
            ZisofsAlgorithm::Lz4 => CodecId::Lz4,
            ZisofsAlgorithm::Zstd => CodecId::Zstd,
            ZisofsAlgorithm::Bzip2 => CodecId::Bzip2,
        };
        let (expected, found) = (room.len(), codec.decode(&stored, room)?);
        if found == expected {
            return Ok(());
        }
        let what = format!("expected {expected} decoded bytes, found {found}");
        Err(Error::corrupt(what))
    }
}
