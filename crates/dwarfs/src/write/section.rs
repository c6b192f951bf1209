//! Sections: header, hashes and stored bytes, and the index of them all.
//!
//! In: raw bytes. Out: a whole section. **Invariant:** a section's bytes depend only on its number,
//! type and content, so workers can make them in any order.

#![expect(
    clippy::indexing_slicing,
    reason = "the bytes begin with a whole header"
)]

use sinterfs_block::checksum::{sha512_256, xxh3_64};
use sinterfs_codec::Encoding;
use sinterfs_model::{Category, Error, Result};
use sinterfs_workers::WorkerPermits;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32, U64};

use crate::framing;
use crate::layout::{
    FileHeader, IndexEntry, MINOR_WRITTEN, SectionCompression, SectionHeaderV2, SectionType,
};

/// Encodes a section; content that the encoding does not make smaller is stored unchanged.
pub(super) fn section(
    number: u32,
    kind: SectionType,
    encoding: &Encoding,
    category: Category,
    raw: &[u8],
    permits: &WorkerPermits,
) -> Result<Vec<u8>> {
    if encoding.is_none() {
        return Ok(assemble(number, kind, SectionCompression::NONE, raw));
    }
    let (id, stored) = framing::encode(encoding, category, raw, permits)?;
    Ok(assemble(
        number,
        kind,
        SectionCompression(U16::new(id)),
        &stored,
    ))
}

/// Makes a section from stored bytes.
pub(crate) fn assemble(
    number: u32,
    kind: SectionType,
    compression: SectionCompression,
    stored: &[u8],
) -> Vec<u8> {
    let mut header = SectionHeaderV2 {
        file: FileHeader::of_minor(MINOR_WRITTEN),
        sha512_256: [0; 32],
        xxh3_64: U64::new(0),
        number: U32::new(number),
        kind,
        compression,
        length: U64::new(stored.len() as u64),
    };
    let mut bytes = Vec::with_capacity(SectionHeaderV2::SIZE + stored.len());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(stored);
    header.xxh3_64 = U64::new(xxh3_64(&bytes[SectionHeaderV2::XXH3_START..]));
    bytes[..SectionHeaderV2::SIZE].copy_from_slice(header.as_bytes());
    header.sha512_256 = sha512_256(&bytes[SectionHeaderV2::SHA_START..]);
    bytes[..SectionHeaderV2::SIZE].copy_from_slice(header.as_bytes());
    bytes
}

/// The offsets and types of sections.
#[derive(Debug, Default)]
pub(crate) struct Index {
    entries: Vec<IndexEntry>,
}

impl Index {
    /// Adds a section. `Limit` if its offset needs more than 48 bits.
    pub(crate) fn push(&mut self, kind: SectionType, offset: u64) -> Result<()> {
        let entry = IndexEntry::new(kind, offset)
            .ok_or_else(|| Error::limit("an image of more than 2^48 bytes"))?;
        self.entries.push(entry);
        Ok(())
    }

    /// Returns the number of sections, which is also the number of the next one.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the entries as they are stored.
    pub(crate) fn entries(&self) -> Vec<u64> {
        self.entries.iter().map(|entry| entry.0.get()).collect()
    }

    /// Makes the index section, which contains its own entry, too.
    pub(crate) fn section(mut self, number: u32, offset: u64) -> Result<Vec<u8>> {
        self.push(SectionType::SECTION_INDEX, offset)?;
        section(
            number,
            SectionType::SECTION_INDEX,
            &Encoding::default(),
            Category::Default,
            self.entries.as_bytes(),
            &WorkerPermits::default(),
        )
    }
}
