//! The stored blocks of an image, and the files that share them.
//!
//! **Invariant:** the shares of a block are whole bytes that sum to its stored length.

use std::collections::BTreeMap;

use sinterfs_model::StoredBlock;

use super::sums::{Sum, largest_first};

/// Cells of the map of blocks at most.
const CELLS: u64 = 1024;

/// Neighbouring blocks of one codec and category.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cell {
    /// The first block.
    pub first: u64,
    /// The sum; the name is the codec that has most of it.
    pub sum: Sum,
    /// The category of the first.
    pub category: String,
}

#[derive(Debug, Clone, Copy)]
struct BlockUsage {
    stored: u64,
    /// Bytes of files that refer to it, and how many of them have had their share.
    referred: u64,
    given: u64,
    codec: u16,
    category: u16,
    /// Whether the format knows its stored form.
    is_known: bool,
}

/// Names by number.
#[derive(Debug, Default)]
struct Names(Vec<String>);

impl Names {
    fn number(&mut self, name: &str) -> u16 {
        let found = self.0.iter().position(|known| known == name);
        let number = found.unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        });
        u16::try_from(number).unwrap_or(u16::MAX)
    }

    fn get(&self, number: u16) -> &str {
        self.0.get(usize::from(number)).map_or("", String::as_str)
    }
}

/// All blocks.
#[derive(Debug, Default)]
pub(super) struct BlockTable {
    all: BTreeMap<u64, BlockUsage>,
    codecs: Names,
    categories: Names,
}

impl BlockTable {
    /// Adds a block, which may be known.
    pub(super) fn add(&mut self, block: StoredBlock<'_>) {
        let codec = self.codecs.number(block.codec);
        let category = self.categories.number(block.category);
        let entry = self.entry(block.block);
        entry.is_known = true;
        entry.stored = entry.stored.max(block.stored);
        (entry.codec, entry.category) = (codec, category);
    }

    fn entry(&mut self, block: u64) -> &mut BlockUsage {
        self.all.entry(block).or_insert(BlockUsage {
            stored: 0,
            referred: 0,
            given: 0,
            codec: u16::MAX,
            category: u16::MAX,
            is_known: false,
        })
    }

    /// Notes that a file refers to bytes of a block.
    pub(super) fn refer(&mut self, block: u64, len: u64) {
        let entry = self.entry(block);
        entry.referred = entry.referred.saturating_add(len);
    }

    /// Separates overlapping blocks, which are runs of uncompressed chunks that files share; block
    /// numbers are positions then. Shared bytes stay with the first. Returns the number of these
    /// bytes.
    pub(super) fn remove_overlaps(&mut self) -> u64 {
        let (mut covered, mut overlap) = (0_u64, 0_u64);
        for (start, block) in self.all.iter_mut().filter(|(_, block)| block.is_known) {
            let end = start.saturating_add(block.stored);
            let own = end.saturating_sub(covered.max(*start));
            overlap = overlap.saturating_add(block.stored.saturating_sub(own));
            block.stored = own;
            covered = covered.max(end);
        }
        overlap
    }

    /// Returns the share of one reference to bytes of a block, once for each time that it was
    /// noted.
    pub(super) fn share(&mut self, block: u64, len: u64) -> u64 {
        let Some(block) = self.all.get_mut(&block) else {
            return 0;
        };
        let until = |given: u64| {
            let part = u128::from(block.stored) * u128::from(given);
            u64::try_from(part / u128::from(block.referred.max(1))).unwrap_or(u64::MAX)
        };
        let given = block.given.saturating_add(len);
        let share = until(given).saturating_sub(until(block.given));
        block.given = given;
        share
    }

    fn known(&self) -> impl Iterator<Item = (u64, &BlockUsage)> {
        let known = self.all.iter().filter(|(_, block)| block.is_known);
        known.map(|(number, block)| (*number, block))
    }

    /// Returns how many blocks there are.
    pub(super) fn count(&self) -> u64 {
        self.known().count() as u64
    }

    /// Returns how many bytes they are.
    pub(super) fn stored(&self) -> u64 {
        let stored = self.known().map(|(_, block)| block.stored);
        stored.fold(0, u64::saturating_add)
    }

    /// Returns the number of bytes without a reference.
    pub(super) fn unused(&self) -> u64 {
        let unused = self.known().filter(|(_, block)| block.referred == 0);
        unused
            .map(|(_, block)| block.stored)
            .fold(0, u64::saturating_add)
    }

    /// Returns how many bytes of files are in blocks that are not known.
    pub(super) fn unknown_bytes(&self) -> u64 {
        let unknown_bytes = self.all.values().filter(|block| !block.is_known);
        unknown_bytes
            .map(|block| block.referred)
            .fold(0, u64::saturating_add)
    }

    /// Sums blocks of one codec.
    pub(super) fn by_codec(&self) -> Vec<Sum> {
        self.sums(&self.codecs, |block| block.codec)
    }

    /// Sums blocks of one category.
    pub(super) fn by_category(&self) -> Vec<Sum> {
        self.sums(&self.categories, |block| block.category)
    }

    fn sums(&self, names: &Names, number: impl Fn(&BlockUsage) -> u16) -> Vec<Sum> {
        let mut sums: BTreeMap<u16, Sum> = BTreeMap::new();
        for (_, block) in self.known() {
            let sum = sums.entry(number(block)).or_default();
            sum.add(1, block.stored, block.referred);
        }
        let named = sums.into_iter().map(|(number, sum)| Sum {
            name: names.get(number).as_bytes().to_vec(),
            ..sum
        });
        largest_first(named.collect())
    }

    /// Draws the map, in cells of about equal numbers of blocks.
    pub(super) fn map(&self) -> Vec<Cell> {
        let each = usize::try_from(self.count().div_ceil(CELLS))
            .unwrap_or(1)
            .max(1);
        let known: Vec<(u64, &BlockUsage)> = self.known().collect();
        let cells = known.chunks(each).filter_map(|some| {
            let (first, leader) = *some.first()?;
            let mut sum = Sum::default();
            let mut codecs: BTreeMap<u16, u64> = BTreeMap::new();
            for (_, block) in some {
                sum.add(1, block.stored, block.referred);
                let most = codecs.entry(block.codec).or_default();
                *most = most.saturating_add(block.stored);
            }
            let most = codecs
                .into_iter()
                .max_by_key(|(number, most)| (*most, u16::MAX - number));
            let codec = most.map_or(u16::MAX, |(number, _)| number);
            sum.name = self.codecs.get(codec).as_bytes().to_vec();
            let category = self.categories.get(leader.category).to_owned();
            Some(Cell {
                first,
                sum,
                category,
            })
        });
        cells.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        let mut blocks = BlockTable::default();
        let lengths = [7, 1, 900, 13, 79];
        for len in lengths {
            blocks.refer(5, len);
        }
        let (codec, category) = ("zstd", "text");
        blocks.add(StoredBlock {
            block: 5,
            stored: 333,
            codec,
            category,
        });
        assert_eq!(
            lengths.map(|len| blocks.share(5, len)).iter().sum::<u64>(),
            333
        );
        assert_eq!(blocks.by_codec()[0].content, 1000);
        assert_eq!(blocks.unknown_bytes(), 0);
    }

    #[test]
    fn overlapping_ranges_are_stored_once() {
        let mut blocks = BlockTable::default();
        for (block, stored) in [(10, 30), (20, 10), (30, 30), (70, 5)] {
            let (codec, category) = ("none", "");
            blocks.add(StoredBlock {
                block,
                stored,
                codec,
                category,
            });
        }
        assert_eq!(blocks.remove_overlaps(), 20);
        assert_eq!(blocks.stored(), 55);
    }
}
