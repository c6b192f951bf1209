//! Information about an image: sections, sizes, categories, options, creator.
//!
//! **Invariant:** informational only; reading files needs none of it.

use std::collections::BTreeMap;
use std::ops::Range;

use sinterfs_model::{Category as Content, Result};

use super::chunk::Chunk;
use super::metadata::features;
use super::open::Dwarfs;
use super::options::StorageOptions;
use super::section::{SectionHeader, SectionRange};
use crate::framing;
use crate::frozen::view::Ints;
use crate::layout::metadata::root;
use crate::layout::{SectionCompression, SectionType};

/// A section of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionInfo {
    /// The type.
    pub kind: SectionType,
    /// The encoding.
    pub compression: SectionCompression,
    /// The offset of its header from the start of the file in bytes.
    pub offset: u64,
    /// The stored length without the header in bytes.
    pub len: u64,
    /// Its number; sections v1 have none.
    pub number: Option<u32>,
}

/// A section that the index or the headers before it list.
#[derive(Debug)]
pub struct ListedSection {
    /// The type.
    pub kind: SectionType,
    /// The offset of its header from the start of the file in bytes.
    pub offset: u64,
    /// The stored length without the header in bytes.
    pub len: u64,
    /// The encoding, or why the header does not belong to this section.
    pub compression: Result<SectionCompression>,
}

/// The sizes of an image's parts in bytes, without section headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sizes {
    /// The image, including headers.
    pub image: u64,
    /// The stored blocks.
    pub blocks: u64,
    /// The stored schema and metadata.
    pub metadata: u64,
    /// The decoded metadata.
    pub metadata_decoded: u64,
}

/// A category of blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Category {
    /// Its name.
    pub name: String,
    /// The number of blocks.
    pub blocks: u64,
    /// The stored bytes of these blocks.
    pub stored: u64,
}

impl Dwarfs {
    /// Returns where the image starts in its file.
    pub fn offset(&self) -> u64 {
        self.reader.file_offset(0)
    }

    /// Returns the minor version of the format.
    pub fn minor_version(&self) -> u8 {
        self.reader.minor
    }

    /// Returns whether the section index was used.
    pub fn has_index(&self) -> bool {
        self.sections.from_index
    }

    /// Returns the sections in the order of the image; reads all their headers.
    pub fn sections(&self) -> Result<Vec<SectionInfo>> {
        self.reader
            .walk()
            .map(|found| found.map(|(header, range)| self.section_info(range, &header)))
            .collect()
    }

    /// Returns the sections that were listed when the image was opened, in their order, also those
    /// with damaged headers; reads all headers.
    pub fn listed_sections(&self) -> Vec<ListedSection> {
        let header_len = if self.reader.is_v2() { 64 } else { 8 };
        let listed = self.sections.all().into_iter();
        let listed = listed.map(|(kind, range)| ListedSection {
            kind,
            offset: self.reader.file_offset(range.offset),
            len: range.len.saturating_sub(header_len),
            compression: self
                .reader
                .header_of(range, kind)
                .map(|header| header.compression),
        });
        listed.collect()
    }

    /// Returns the number of blocks.
    pub fn block_count(&self) -> u64 {
        self.sections.blocks.len() as u64
    }

    /// Returns the largest size of a decoded block in bytes.
    pub fn block_size(&self) -> u64 {
        self.metadata.block_size
    }

    /// Returns a block's section and its decoded length, without decoding it.
    pub fn block_info(&self, block: u32) -> Result<(SectionInfo, u64)> {
        self.with_block(block, |range, header| {
            let stored = self.reader.stored(range, header)?;
            let id = header.compression.0.get();
            let decoded = framing::decoded_len(id, &stored, self.metadata.block_size)?;
            Ok((self.section_info(range, header), decoded))
        })
    }

    fn section_info(&self, range: SectionRange, header: &SectionHeader) -> SectionInfo {
        SectionInfo {
            kind: header.kind,
            compression: header.compression,
            offset: self.reader.file_offset(range.offset),
            len: header.len,
            number: header.v2.map(|v2| v2.number.get()),
        }
    }

    /// Returns the sizes of the image's parts.
    pub fn sizes(&self) -> Sizes {
        let header = if self.reader.is_v2() { 64 } else { 8 };
        let stored = |range: &SectionRange| range.len.saturating_sub(header);
        let tables = self.sections.schema.iter().chain(&self.sections.metadata);
        Sizes {
            image: self.reader.len(),
            blocks: self
                .sections
                .blocks
                .iter()
                .map(stored)
                .fold(0, u64::saturating_add),
            metadata: tables.map(stored).fold(0, u64::saturating_add),
            metadata_decoded: self.metadata.data.len() as u64,
        }
    }

    /// Returns the storage options of the tables.
    pub fn options(&self) -> &StorageOptions {
        &self.metadata.options
    }

    /// Returns the features that the image requires.
    pub fn features(&self) -> Result<Vec<String>> {
        features(&self.metadata.root())
    }

    /// Returns the version of the library that wrote the metadata, if recorded.
    pub fn made_by(&self) -> Result<Option<String>> {
        match self
            .metadata
            .root()
            .field(root::DWARFS_VERSION)?
            .optional()?
        {
            Some(version) => version.text().map(Some),
            None => Ok(None),
        }
    }

    /// Returns the time when the metadata was written in seconds since 1970, if recorded.
    pub fn created(&self) -> Result<Option<u64>> {
        match self
            .metadata
            .root()
            .field(root::CREATE_TIMESTAMP)?
            .optional()?
        {
            Some(time) => time.u64().map(Some),
            None => Ok(None),
        }
    }

    /// Returns the category of a block, if recorded.
    pub fn block_category(&self, block: u64) -> Result<Option<String>> {
        let Some((names, numbers)) = self.category_tables()? else {
            return Ok(None);
        };
        if block >= numbers.len() {
            return Ok(None);
        }
        let number = numbers.get(&self.metadata.data, block);
        Ok(usize::try_from(number)
            .ok()
            .and_then(|number| names.get(number).cloned()))
    }

    /// Returns the categories of all blocks.
    pub fn categories(&self) -> Result<Vec<Category>> {
        let Some((names, numbers)) = self.category_tables()? else {
            return Ok(Vec::new());
        };
        let header = if self.reader.is_v2() { 64 } else { 8 };
        let mut categories: BTreeMap<u64, Category> = BTreeMap::new();
        for (range, number) in self
            .sections
            .blocks
            .iter()
            .zip(numbers.iter(&self.metadata.data))
        {
            let name = usize::try_from(number)
                .ok()
                .and_then(|number| names.get(number));
            let category = categories.entry(number).or_insert_with(|| Category {
                name: name
                    .cloned()
                    .unwrap_or_else(|| format!("category {number}")),
                blocks: 0,
                stored: 0,
            });
            category.blocks = category.blocks.saturating_add(1);
            category.stored = category
                .stored
                .saturating_add(range.len.saturating_sub(header));
        }
        Ok(categories.into_values().collect())
    }

    /// Returns where the blocks are that a start needs first (`--hot`), as ranges of the file that
    /// the image is in.
    pub fn hot_ranges(&self) -> Result<Vec<Range<u64>>> {
        let Some((names, numbers)) = self.category_tables()? else {
            return Ok(Vec::new());
        };
        let is_hot = |name: &String| Content::from_name(name) == Some(Content::Hot);
        let hot = names.iter().position(is_hot);
        let Some(hot) = hot.map(|hot| hot as u64) else {
            return Ok(Vec::new());
        };
        let blocks = self.sections.blocks.iter();
        let numbered = blocks.zip(numbers.iter(&self.metadata.data));
        let blocks = numbered.filter(|(_, number)| *number == hot);
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for (block, _) in blocks {
            let start = self.reader.file_offset(block.offset);
            let end = start.saturating_add(block.len);
            match ranges.last_mut().filter(|last| last.end == start) {
                Some(last) => last.end = end,
                None => ranges.push(start..end),
            }
        }
        Ok(ranges)
    }

    /// Decodes the blocks of a category into the cache, in order, as far as it has room for them.
    /// Returns how many there are.
    ///
    /// # Errors
    /// `Corrupt` for damaged metadata or a damaged block.
    pub fn preload(&self, category: &str) -> Result<u64> {
        let Some((names, numbers)) = self.block_categories()? else {
            return Ok(0);
        };
        let asked = Content::from_name(category);
        let is_asked = |number: u32| {
            let name = names.get(number as usize);
            name.is_some_and(|name| {
                name == category || asked.is_some() && Content::from_name(name) == asked
            })
        };
        let mut ends = BTreeMap::new();
        for index in 0..self.metadata.chunk_count() {
            let Chunk::Data { block, offset, len } = self.metadata.chunk(index) else {
                continue;
            };
            if numbers
                .get(block as usize)
                .is_some_and(|number| is_asked(*number))
            {
                let end = ends.entry(block).or_insert(0_u64);
                *end = offset.saturating_add(len).max(*end);
            }
        }
        let (count, mut room) = (ends.len() as u64, self.cache.capacity());
        for (block, end) in ends {
            room = room.saturating_sub(end);
            if room == 0 {
                break;
            }
            self.copy_from_block(block, end.saturating_sub(1), &mut [0])?;
        }
        Ok(count)
    }

    /// Announces that these blocks will be read.
    pub fn announce_hot(&self) -> Result<()> {
        self.reader.will_start(&self.hot_ranges()?);
        Ok(())
    }

    /// Returns the names of the categories and the category of each block, if recorded.
    pub fn block_categories(&self) -> Result<Option<(Vec<String>, Vec<u32>)>> {
        let Some((names, numbers)) = self.category_tables()? else {
            return Ok(None);
        };
        let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let numbers = numbers.iter(&self.metadata.data).map(number).collect();
        Ok(Some((names, numbers)))
    }

    fn category_tables(&self) -> Result<Option<(Vec<String>, Ints)>> {
        let node = self.metadata.root();
        let names = node.field(root::CATEGORY_NAMES)?.optional()?;
        let numbers = node.field(root::BLOCK_CATEGORIES)?.optional()?;
        let Some((names, numbers)) = names.zip(numbers) else {
            return Ok(None);
        };
        Ok(Some((names.list()?.texts()?, numbers.list()?.ints(32)?)))
    }
}
