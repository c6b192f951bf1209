//! The part of the writer that serves rewrites.
//!
//! In: whole blocks, stored sections and categories of another image. Out: sections in their usual
//! order. **Precondition:** the input was verified by `rewrite`.

use sinterfs_model::{Category, Result};

use super::metadata::BlockCategories;
use super::section::assemble;
use super::writer::DwarfsWriter;
use crate::layout::{SectionCompression, SectionType};

impl DwarfsWriter {
    /// Sets the minor version in section headers.
    pub(crate) fn set_minor(&mut self, minor: u8) {
        self.minor = minor;
    }

    /// Appends a block: a whole section with the next number.
    pub(crate) fn put_section(
        &mut self,
        category: Category,
        decoded_len: u32,
        bytes: Vec<u8>,
    ) -> Result<()> {
        self.summary.raw_bytes += u64::from(decoded_len);
        self.summary.block_bytes += bytes.len() as u64;
        self.append(SectionType::BLOCK, bytes)?;
        self.blocks.categories.push(category);
        self.blocks.lens.push(decoded_len);
        Ok(())
    }

    /// Sets the blocks' categories, instead of the appended blocks' categories.
    pub(crate) fn set_categories(&mut self, categories: Option<BlockCategories>) {
        self.blocks.known_categories = categories;
    }

    /// Adds a section of an unknown type, to be written after the metadata.
    pub(crate) fn push_unknown(
        &mut self,
        kind: SectionType,
        compression: SectionCompression,
        stored: Vec<u8>,
    ) {
        self.unknown.push((kind, compression, stored));
    }

    /// Encodes and appends schema or tables.
    pub(crate) fn append_table(&mut self, kind: SectionType, raw: &[u8]) -> Result<()> {
        let start = self.offset;
        self.append_encoded(kind, raw)?;
        self.summary.metadata_bytes += self.offset - start;
        Ok(())
    }

    /// Appends stored schema or tables.
    pub(crate) fn append_stored_table(
        &mut self,
        kind: SectionType,
        compression: SectionCompression,
        stored: &[u8],
    ) -> Result<()> {
        let start = self.offset;
        let bytes = assemble(self.number()?, kind, compression, stored);
        self.append(kind, bytes)?;
        self.summary.metadata_bytes += self.offset - start;
        Ok(())
    }
}
