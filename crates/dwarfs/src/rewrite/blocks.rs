//! Copies or recompresses each block, by rules for categories.
//!
//! In: an image and rules. Out: stored blocks with the image's own numbers. **Invariant:** a copied
//! block is unchanged, and its hashes were verified; one without hashes (versions before 2.2) was
//! decoded, too.

use std::collections::BTreeMap;
use std::sync::Arc;

use sinterfs_codec::Encoding;
use sinterfs_model::{Category, Error, Result, Segment, SegmentEncoder};
use sinterfs_workers::{MemoryNeeds, WorkerPermits};

use super::{passthrough, samples};
use crate::framing;
use crate::layout::{SectionCompression, SectionType};
use crate::read::Dwarfs;
use crate::read::section::{SectionHeader, SectionRange};
use crate::write::{BlockCategories, BlockEncoder, assemble};

/// Selects the blocks that are recompressed, and their encodings.
#[derive(Debug, Clone, Default)]
pub struct BlockRules {
    /// The encoding of blocks without another rule; `None` copies them.
    ///
    /// Does not apply to blocks of incompressible content, and to audio and images in a codec of
    /// samples: these are copied unless a rule names their category.
    pub encoding: Option<Encoding>,
    /// Encodings by category.
    pub by_category: Vec<(String, Encoding)>,
    /// The categories whose blocks may be recompressed; `None` means all.
    pub selection: Option<Selection>,
    /// Whether a block is copied if recompression does not make it smaller.
    pub keep_smaller: bool,
}

/// A set of categories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// The names.
    pub names: Vec<String>,
    /// Whether the set covers all other categories.
    pub inverted: bool,
}

/// The category of all blocks in an image that records none.
const UNNAMED: &str = "<default>";

/// A block of the new image.
pub(super) struct OutputBlock {
    pub(super) category: Category,
    /// The decoded length in bytes.
    pub(super) decoded_len: u32,
    /// The whole section.
    pub(super) bytes: Vec<u8>,
    /// Whether it was recompressed.
    pub(super) recoded: bool,
}

/// Copies or recompresses blocks; usable by several threads at once.
pub(super) struct Recoder<'a> {
    image: &'a Dwarfs,
    keep_smaller: bool,
    /// The categories of the image.
    categories: Vec<BlockRule>,
    /// The category of each block; empty if all have the first.
    numbers: Vec<u32>,
    /// The sample formats of blocks that have one.
    samples: BTreeMap<u32, Category>,
}

/// The rule for the blocks of a category.
struct BlockRule {
    category: Category,
    /// Whether a rule names the category.
    named: bool,
    encoding: Option<Encoding>,
}

impl<'a> Recoder<'a> {
    pub(super) fn new(image: &'a Dwarfs, rules: &BlockRules) -> Result<Self> {
        let carried = passthrough::categories(image)?.unwrap_or_default();
        let samples = samples_of(&carried);
        let BlockCategories {
            mut names, numbers, ..
        } = carried;
        if numbers.is_empty() {
            names = vec![UNNAMED.to_owned()];
        }
        let selected = rules
            .selection
            .iter()
            .flat_map(|selection| &selection.names);
        let ruled = rules.by_category.iter().map(|(name, _)| name);
        if let Some(unknown) = selected.chain(ruled).find(|name| !names.contains(name)) {
            return Err(Error::invalid(format!(
                "the image has no category `{unknown}`; it has {}",
                names.join(", ")
            )));
        }
        let categories = names
            .iter()
            .map(|name| BlockRule::new(name, rules))
            .collect();
        Ok(Self {
            image,
            keep_smaller: rules.keep_smaller,
            categories,
            numbers,
            samples,
        })
    }

    /// Returns the bytes of content that memory permits have to be for, so that they keep `threads`
    /// threads busy.
    pub(super) fn memory_capacity(&self, threads: usize) -> u64 {
        let len = u32::try_from(self.image.block_size()).unwrap_or(u32::MAX);
        let rules = self.categories.iter();
        let encodings = rules.filter_map(|rule| rule.encoding.as_ref());
        let needs = encodings.filter_map(|encoding| encoding.memory_needs(len));
        let permits = needs.map(|needs: MemoryNeeds| needs.permits(threads));
        u64::from(len) * permits.max().unwrap_or(1) as u64
    }

    /// Makes a block of the new image. `Corrupt` if it is shorter than `needed`.
    pub(super) fn block(
        &self,
        number: u32,
        needed: u64,
        permits: &WorkerPermits,
    ) -> Result<OutputBlock> {
        self.with_checked(number, |range, header| {
            let rule = self.rule(number)?;
            let done = match self.encoding(rule, header.compression) {
                Some(encoding) => self.recode(number, rule, encoding, (range, header), permits),
                None => self.copy(number, rule, range, header),
            }?;
            let len = done.decoded_len;
            if needed > u64::from(len) {
                return Err(Error::corrupt(format!(
                    "the block has {len} bytes, but files need {needed}"
                )));
            }
            Ok(done)
        })
    }

    /// Copies a block to be block `as_number` of another image, with its category and sample
    /// format.
    pub(super) fn copy_as(&self, number: u32, as_number: u32) -> Result<OutputBlock> {
        self.with_checked(number, |range, header| {
            let rule = self.rule(number)?;
            let samples = self.samples.get(&number).copied();
            Ok(OutputBlock {
                category: samples.unwrap_or(rule.category),
                ..self.copy(as_number, rule, range, header)?
            })
        })
    }

    /// Calls `work` with a block after verifying its SHA-512/256, if it has one.
    fn with_checked<T>(
        &self,
        number: u32,
        work: impl FnOnce(SectionRange, &SectionHeader) -> Result<T>,
    ) -> Result<T> {
        self.image.with_block(number, |range, header| {
            match self.image.reader.sha512_256_matches(range, header)? {
                Some(false) => Err(Error::corrupt("SHA-512/256 does not match")),
                _ => work(range, header),
            }
        })
    }

    fn rule(&self, number: u32) -> Result<&BlockRule> {
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        let category = self.numbers.get(index).copied().unwrap_or(0);
        let category = usize::try_from(category).unwrap_or(usize::MAX);
        self.categories
            .get(category)
            .ok_or_else(|| Error::corrupt(format!("block {number} has category {category}")))
    }

    /// Selects the encoding of a block; `None` copies it.
    fn encoding<'r>(&self, rule: &'r BlockRule, now: SectionCompression) -> Option<&'r Encoding> {
        let special = matches!(now, SectionCompression::FLAC | SectionCompression::RICEPP);
        let unchanged = matches!(rule.category, Category::Incompressible | Category::Hot);
        let leave = !rule.named && (special || unchanged);
        rule.encoding.as_ref().filter(|_| !leave)
    }

    fn recode(
        &self,
        number: u32,
        rule: &BlockRule,
        encoding: &Encoding,
        (range, header): (SectionRange, &SectionHeader),
        permits: &WorkerPermits,
    ) -> Result<OutputBlock> {
        let block_size = self.image.block_size();
        let raw = self.image.reader.decode(range, header, block_size)?;
        // payloads of sample codecs have a sample format even if the metadata does not
        let stored = self.image.reader.stored(range, header)?;
        let samples = framing::samples(header.compression.0.get(), &stored)?
            .or_else(|| self.samples.get(&number).copied());
        let encoder = BlockEncoder {
            encoding: encoding.clone(),
            by_category: Vec::new(),
            block_size: u32::try_from(block_size).unwrap_or(u32::MAX),
        };
        let segment = Segment::solid(number, samples.unwrap_or(rule.category), Arc::new(raw));
        let block = encoder.encode(&segment, permits)?;
        let before = range.len.saturating_sub(header.size());
        let after = (block.bytes.len() as u64).saturating_sub(SECTION_HEADER);
        if self.keep_smaller && after >= before {
            return self.copy(number, rule, range, header);
        }
        Ok(OutputBlock {
            category: rule.category,
            decoded_len: block.decoded_len,
            bytes: block.bytes,
            recoded: true,
        })
    }

    fn copy(
        &self,
        number: u32,
        rule: &BlockRule,
        range: SectionRange,
        header: &SectionHeader,
    ) -> Result<OutputBlock> {
        let stored = self.image.reader.stored(range, header)?;
        let id = header.compression.0.get();
        let limit = self.image.block_size();
        let decoded_len = match header.v2 {
            Some(_) => framing::decoded_len(id, &stored, limit)?,
            None => framing::decode(id, &stored, limit)?.len() as u64,
        };
        Ok(OutputBlock {
            category: rule.category,
            decoded_len: u32::try_from(decoded_len).unwrap_or(u32::MAX),
            bytes: assemble(number, SectionType::BLOCK, header.compression, &stored),
            recoded: false,
        })
    }
}

/// Returns the sample formats of blocks.
fn samples_of(carried: &BlockCategories) -> BTreeMap<u32, Category> {
    let (blocks, numbers) = &carried.json_of_blocks;
    let known = |(&block, &number): (&u32, &u32)| {
        let at = |index: u32| usize::try_from(index).unwrap_or(usize::MAX);
        let name = carried.names.get(at(*carried.numbers.get(at(block))?))?;
        let json = carried.json.get(at(number))?;
        Some((block, samples::category(name, json)?))
    };
    blocks.iter().zip(numbers).filter_map(known).collect()
}

/// The length of a section's header in bytes.
const SECTION_HEADER: u64 = crate::layout::SectionHeaderV2::SIZE as u64;

impl BlockRule {
    fn new(name: &String, rules: &BlockRules) -> Self {
        let own = rules.by_category.iter().find(|(named, _)| named == name);
        let is_selected = rules
            .selection
            .as_ref()
            .is_none_or(|selection| selection.names.contains(name) != selection.inverted);
        let own = own.map(|(_, encoding)| encoding);
        let encoding = own.or(rules.encoding.as_ref()).cloned();
        Self {
            category: Category::from_name(name).unwrap_or_default(),
            named: own.is_some(),
            encoding: encoding.filter(|_| is_selected),
        }
    }
}
