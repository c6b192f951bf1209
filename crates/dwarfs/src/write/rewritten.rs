//! What the writer does for an image that is written anew around what another has.
//!
//! In: whole blocks, stored sections, what the other image tells of its blocks. Out: sections, in
//! the order in which all images have them. **Invariant:** nothing here checks what it is given:
//! `rewrite` has.

use sinterfs_model::{Category, Result};

use super::metadata::BlockCategories;
use super::section::assemble;
use super::writer::DwarfsWriter;
use crate::layout::{Compression, SectionType};

impl DwarfsWriter {
    /// Sets the version that sections tell.
    pub(crate) fn set_minor(&mut self, minor: u8) {
        self.minor = minor;
    }

    /// Appends a block, a whole section with its number.
    pub(crate) fn put_section(
        &mut self,
        category: Category,
        raw_len: u32,
        bytes: Vec<u8>,
    ) -> Result<()> {
        self.summary.raw_bytes += u64::from(raw_len);
        self.summary.block_bytes += bytes.len() as u64;
        self.append(SectionType::BLOCK, bytes)?;
        self.blocks.categories.push(category);
        self.blocks.lens.push(raw_len);
        Ok(())
    }

    /// Keeps what another image tells of its blocks' categories, in place of what was put.
    pub(crate) fn set_categories(&mut self, categories: Option<BlockCategories>) {
        self.blocks.known_categories = categories;
    }

    /// Keeps a section of an unknown type, to follow the metadata.
    pub(crate) fn push_unknown(
        &mut self,
        kind: SectionType,
        compression: Compression,
        stored: Vec<u8>,
    ) {
        self.unknown.push((kind, compression, stored));
    }

    /// Appends one of the two parts of the metadata, encoded anew.
    pub(crate) fn append_table(&mut self, kind: SectionType, raw: &[u8]) -> Result<()> {
        let start = self.offset;
        self.append_encoded(kind, raw)?;
        self.summary.metadata_bytes += self.offset - start;
        Ok(())
    }

    /// Appends one of the two parts of the metadata as it is stored.
    pub(crate) fn append_stored_table(
        &mut self,
        kind: SectionType,
        compression: Compression,
        stored: &[u8],
    ) -> Result<()> {
        let start = self.offset;
        let bytes = assemble(self.number()?, kind, compression, stored);
        self.append(kind, bytes)?;
        self.summary.metadata_bytes += self.offset - start;
        Ok(())
    }
}
