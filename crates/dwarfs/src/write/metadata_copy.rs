//! Collects the sections that hold metadata, and makes the section with their copies.
//!
//! In: whole sections, as they are written. Out: the content of `METADATA_COPY`.
//! Spec: `docs/formats/dwarfs-extensions.md`, "METADATA_COPY".

use sinterfs_model::{Error, Result};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U32, U64};

use crate::layout::SectionType;
use crate::layout::metadata_copy::{MAGIC, MetadataCopyHeader, MetadataCopyRow, VERSION};

/// Copies of the sections that were written so far and hold metadata.
///
/// Memory: the stored metadata.
#[derive(Debug, Default)]
pub(super) struct CopiedSections {
    rows: Vec<MetadataCopyRow>,
    bytes: Vec<u8>,
}

impl CopiedSections {
    /// Keeps a section if it holds metadata.
    pub(super) fn add(&mut self, kind: SectionType, offset: u64, section: &[u8]) {
        let is_metadata = [
            SectionType::METADATA_V2_SCHEMA,
            SectionType::METADATA_V2,
            SectionType::XATTRS,
        ]
        .contains(&kind);
        if is_metadata {
            self.rows.push(MetadataCopyRow {
                offset: U64::new(offset),
                len: U64::new(section.len() as u64),
            });
            self.bytes.extend_from_slice(section);
        }
    }

    /// Returns the content of the section.
    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        let sections = u32::try_from(self.rows.len())
            .map_err(|_| Error::limit("more than 4294967295 sections of metadata"))?;
        let header = MetadataCopyHeader {
            magic: MAGIC,
            version: U32::new(VERSION),
            sections: U32::new(sections),
        };
        Ok([header.as_bytes(), self.rows.as_bytes(), &self.bytes].concat())
    }
}
