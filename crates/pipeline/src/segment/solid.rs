//! Cuts content into solid blocks and finds ranges that were stored before.
//!
//! Enters the data of the contents in order, with anchors; leaves full blocks as `Segment`s and,
//! for each content, its extents. Each category is a stream with one open block. Bytes found
//! anywhere in what was stored before are not stored again: anchors give candidates, which are
//! compared byte by byte and extended both ways. Content of a category with a granularity is cut,
//! in blocks and in matches, at multiples of it from the beginning of each buffer. The blocks of a
//! base count as stored before everything else, and a content that the base probably has is
//! compared with that. **Invariant:** an extent refers only to bytes that are already stored and
//! never change. Blocks are numbered in the order in which they become full, then the used blocks
//! of the base; the result depends only on the base, the contents and their order. Memory:
//! `MatchStore`, 16 bytes per extent and the table of anchors.

mod scan;

use std::sync::Arc;

use sinterfs_model::{BlockId, Category, Error, MapExtent, Observer, ReadCost, Result, Segment};

use crate::anchors::{Anchor, Anchors, BlockPosition, Spacing};
use crate::base::BaseBlocks;
use crate::match_store::{MatchStore, Retention};
use crate::price_factor::PriceFactor;
use crate::segment::base_follow::{BaseFollower, BaseUsage};
use crate::segment::reach::Reach;
use crate::segment::segmented::{ExtentList, Segmented};
use scan::{DataScan, Match};

/// The shortest match outside of the codec's window: one more extent costs about 8 bytes of
/// metadata and may cost a reader the decoding of another block.
const MIN_FAR_MATCH: usize = 512;

/// The shortest match within the codec's window, which only saves the time of the codec: shorter
/// ones cost more metadata than they save.
const MIN_NEAR_MATCH: usize = 4096;

/// Bytes of a full block of category `Hot`: it is decoded within milliseconds.
const HOT_BLOCK: usize = 1 << 20;

/// The most open blocks. Together they hold at most the bytes of `OPEN_BLOCKS` full ones, which the
/// memory budget of a build accounts for; beyond that the fullest one is closed early.
const OPEN: usize = 32;

/// The most bytes of all open blocks, in full blocks.
pub(crate) const OPEN_BLOCKS: usize = 2;

/// Returns the fewest bytes with which a block is closed for a content that should begin one: what
/// blocks lose in size costs compression, which pays where little is cached.
fn least_closed(block_size: usize, read_cost: ReadCost) -> usize {
    match read_cost {
        ReadCost::Remote => block_size / 16,
        ReadCost::Free | ReadCost::Mount => block_size / 8 * 7,
    }
}

/// Unmatched bytes are stored when there are this many, so that later bytes can match them ...
const STORE_AT: usize = 32 << 10;

/// ... except for this many at the end, so that a match can still be extended to the left.
const KEEP_BACK: usize = 4 << 10;

/// How content is cut into solid blocks.
#[derive(Debug, Clone)]
pub(crate) struct SolidOptions {
    /// Bytes of a full block.
    pub block_size: u32,
    /// The window of the codec within a block.
    pub codec_window: u64,
    /// The most bytes of all content, including the base.
    pub total: u64,
    /// The cost that reads may have.
    pub read_cost: ReadCost,
    /// The factor of the price of references, where it is not 1.
    pub price_factors: Vec<(Category, PriceFactor)>,
    /// Limits on the full blocks that stay comparable.
    pub retention: Retention,
    /// The blocks of the base image.
    pub base: Option<Arc<BaseBlocks>>,
}

/// Cuts content; passes each full block to `emit`.
pub(crate) struct Solid<E> {
    block_size: usize,
    codec_window: u64,
    total: u64,
    read_cost: ReadCost,
    price_factors: Vec<(Category, PriceFactor)>,
    emit: E,
    anchors: Anchors,
    blocks: MatchStore,
    /// The sequence number of the segment that each block became, by order of opening.
    numbers: Vec<u32>,
    /// The open block of each category.
    open: Vec<(Category, u32)>,
    base: Option<Arc<BaseBlocks>>,
    result: Segmented,
    content: OpenContent,
}

/// The content that is being cut.
#[derive(Default)]
struct OpenContent {
    first_extent: usize,
    size: u64,
    /// The position that continues the match at the end of the last buffer.
    follow: Option<BlockPosition>,
    /// The list of the base that this content has followed so far.
    base_list: Option<BaseFollower>,
    /// The blocks that a reader of it decodes, if reads have a price.
    reach: Option<Reach>,
}

impl<E: FnMut(Segment) -> Result<()>> Solid<E> {
    /// Creates a segmenter.
    pub fn new(options: SolidOptions, emit: E) -> Result<Self> {
        if options.block_size == 0 {
            return Err(Error::invalid("a block size of 0 holds nothing"));
        }
        let (blocks, largest) = match &options.base {
            Some(base) => (
                MatchStore::over_base(options.retention, base),
                base.largest(),
            ),
            None => (MatchStore::new(options.retention), 0),
        };
        Ok(Self {
            block_size: options.block_size as usize,
            codec_window: options.codec_window,
            total: options.total,
            read_cost: options.read_cost,
            price_factors: options.price_factors,
            emit,
            anchors: Anchors::new(options.total, options.block_size.max(largest)),
            blocks,
            numbers: vec![u32::MAX; options.base.as_ref().map_or(0, |base| base.blocks.len())],
            open: Vec::new(),
            base: options.base,
            result: Segmented::default(),
            content: OpenContent::default(),
        })
    }

    /// Records the anchors of the base.
    pub fn note_base(&mut self, observer: &dyn Observer) -> Result<()> {
        let Some(base) = &self.base else {
            return Ok(());
        };
        let spacing = Spacing::for_content(self.total);
        base.note_anchors(spacing, &mut self.anchors, observer)
    }

    /// Announces a content of `len` bytes, and whether it should begin a block. The open block of
    /// its category is closed for it if that has enough bytes.
    pub fn start(&mut self, len: u64, category: Category, begins_block: bool) -> Result<()> {
        if self.read_cost != ReadCost::Free {
            let of_category = self.price_factors.iter().find(|of| of.0 == category);
            let factor = of_category.map_or(PriceFactor::default(), |of| of.1);
            self.content.reach = Some(Reach::new(len, factor));
        }
        let open = self.open.iter().find(|open| open.0 == category);
        match open.copied() {
            Some((_, block))
                if begins_block
                    && self.blocks.open_len(block)
                        >= least_closed(self.block_size, self.read_cost) =>
            {
                self.seal(category, block)
            }
            _ => Ok(()),
        }
    }

    /// Announces that the current content is probably a list of the base.
    pub fn expect(&mut self, list: u32) {
        self.content.base_list = Some(BaseFollower::new(list));
    }

    /// Refers to the base if the bytes continue the list that is followed; returns whether they do.
    fn follow_base(&mut self, bytes: &[u8]) -> Result<bool> {
        let (Some(base), Some(mut follower)) = (&self.base, self.content.base_list.take()) else {
            return Ok(false);
        };
        let list = base.base.content().list(follower.list);
        let Some(found) = follower.data(list, bytes, &mut self.blocks)? else {
            return Ok(false);
        };
        for (position, len) in found {
            self.add_extent(position, len);
        }
        self.result.matched += bytes.len() as u64;
        self.content.base_list = Some(follower);
        Ok(true)
    }

    /// Adds bytes to the current content, with their anchors.
    pub fn data(&mut self, bytes: &[u8], anchors: &[Anchor], category: Category) -> Result<()> {
        if self.follow_base(bytes)? {
            return Ok(());
        }
        let mut scan = DataScan {
            bytes,
            category,
            grain: category.granularity() as usize,
            stored: 0,
            skip_to: 0,
            anchors,
            noted: 0,
        };
        self.continue_match(&mut scan)?;
        for (index, &anchor) in anchors.iter().enumerate() {
            let end = anchor.end as usize;
            if end > scan.stored + STORE_AT + KEEP_BACK {
                let to = scan.whole(end - KEEP_BACK);
                self.store(&mut scan, to)?;
            }
            if end < scan.skip_to.max(scan.stored + 1) {
                continue;
            }
            if let Some(found) = self.probe(&mut scan, anchor)? {
                self.store(&mut scan, found.start)?;
                self.refer(&mut scan, found);
                // the table already has the anchors within the match, at its source
                let passed = anchors[index..].partition_point(|a| a.end as usize <= scan.stored);
                scan.noted = index + passed;
            }
        }
        self.store(&mut scan, bytes.len())
    }

    /// Adds a hole to the current content.
    pub fn hole(&mut self, len: u64) {
        self.content.follow = None;
        self.content.size += len;
        if let (Some(base), Some(mut follower)) = (&self.base, self.content.base_list.take()) {
            let list = base.base.content().list(follower.list);
            self.content.base_list = follower.hole(list, len).then_some(follower);
        }
        let first = self.content.first_extent;
        if let Some(MapExtent::Hole { len: last }) = self.result.extents[first..].last_mut() {
            *last += len;
        } else if len > 0 {
            self.result.extents.push(MapExtent::Hole { len });
        }
    }

    /// Ends the current content and starts the next.
    pub fn end(&mut self) {
        self.result.lists.push(ExtentList {
            end: self.result.extents.len() as u64,
            size: self.content.size,
        });
        self.content = OpenContent {
            first_extent: self.result.extents.len(),
            ..OpenContent::default()
        };
    }

    /// Emits the open block of a category that has no further content.
    pub fn close(&mut self, category: Category) -> Result<()> {
        match self.open.iter().find(|open| open.0 == category) {
            Some(&(_, block)) => self.seal(category, block),
            None => Ok(()),
        }
    }

    /// Emits the open blocks and returns the result.
    pub fn finish(mut self) -> Result<Segmented> {
        let mut open = self.open.clone();
        open.sort_unstable();
        for (category, block) in open {
            self.seal(category, block)?;
        }
        if let Some(base) = &self.base {
            let used = BaseUsage::of(base, &self.result.extents);
            for (sequence, &block) in (self.result.segments..).zip(&used.blocks) {
                self.numbers[block as usize] = sequence;
            }
            self.result.used = used;
        }
        for extent in &mut self.result.extents {
            if let MapExtent::Data { block, .. } = extent {
                *block = BlockId(self.numbers[block.0 as usize]);
            }
        }
        Ok(self.result)
    }

    /// Continues the match at the end of the last buffer.
    fn continue_match(&mut self, scan: &mut DataScan<'_>) -> Result<()> {
        let Some(position) = self.content.follow else {
            return Ok(());
        };
        let len = scan.whole(self.blocks.prefix(position, scan.bytes)?);
        if len == 0 {
            self.content.follow = None;
            return Ok(());
        }
        let start = 0;
        self.refer(
            scan,
            Match {
                start,
                len,
                position,
            },
        );
        scan.noted = scan.anchors.partition_point(|a| a.end as usize <= len);
        Ok(())
    }

    /// Compares the bytes around an anchor with those stored around an equal one.
    fn probe(&mut self, scan: &mut DataScan<'_>, anchor: Anchor) -> Result<Option<Match>> {
        let Some(position) = self.anchors.get(anchor.hash) else {
            return Ok(None);
        };
        if position.block as usize >= self.numbers.len() {
            return Ok(None);
        }
        let end = anchor.end as usize;
        let back = self
            .blocks
            .suffix(position, &scan.bytes[scan.stored..end])?;
        if back == 0 {
            return Ok(None);
        }
        let ahead = self.blocks.prefix(position, &scan.bytes[end..])?;
        let start = (end - back).next_multiple_of(scan.grain);
        let len = scan.whole((end + ahead).saturating_sub(start));
        if len < self.min_match(scan.category, position) {
            // anchors within this match would only find it again, which would be quadratic
            scan.skip_to = end + ahead;
            return Ok(None);
        }
        let position = BlockPosition {
            block: position.block,
            offset: (position.offset as usize + start - end) as u32,
        };
        if !self.is_worth_reading(scan.category, position, len) {
            scan.skip_to = end + ahead;
            return Ok(None);
        }
        Ok(Some(Match {
            start,
            len,
            position,
        }))
    }

    /// Returns whether a match saves more than it costs readers. The open block of the category
    /// costs nothing: the content itself goes there.
    fn is_worth_reading(&mut self, category: Category, at: BlockPosition, len: usize) -> bool {
        let Some(reach) = &mut self.content.reach else {
            return true;
        };
        let end = u64::from(at.offset) + len as u64;
        self.open.contains(&(category, at.block)) || reach.accepts(at.block, end, len as u64)
    }

    /// Returns the least length of a match with a position.
    fn min_match(&self, category: Category, position: BlockPosition) -> usize {
        // codecs of samples find no repeats at all
        if category.granularity() > 1 || !self.open.contains(&(category, position.block)) {
            return MIN_FAR_MATCH;
        }
        let distance = self.blocks.open_len(position.block) as u64 - u64::from(position.offset);
        if distance < self.codec_window {
            MIN_NEAR_MATCH
        } else {
            MIN_FAR_MATCH
        }
    }

    /// Refers to bytes that are stored already.
    fn refer(&mut self, scan: &mut DataScan<'_>, found: Match) {
        let Match {
            start,
            len,
            position,
        } = found;
        self.add_extent(position, len);
        self.result.matched += len as u64;
        scan.stored = start + len;
        self.content.follow = Some(BlockPosition {
            block: position.block,
            offset: position.offset + len as u32,
        });
    }

    /// Stores bytes up to `to` in the open block of their category, and in further blocks.
    fn store(&mut self, scan: &mut DataScan<'_>, to: usize) -> Result<()> {
        while scan.stored < to {
            self.content.follow = None;
            let block = self.open_block(scan.category);
            let offset = self.blocks.open_len(block);
            // at least one grain: a block may exceed the block size, but never splits a grain
            let full = match scan.category {
                Category::Hot => self.block_size.min(HOT_BLOCK),
                _ => self.block_size,
            };
            let most = (full / scan.grain).max(1) * scan.grain;
            let len = (to - scan.stored).min(most - offset);
            let start = scan.stored;
            self.blocks.append(block, &scan.bytes[start..start + len])?;
            while let Some(anchor) = scan.anchors.get(scan.noted)
                && anchor.end as usize <= start + len
            {
                let offset = (offset + anchor.end as usize - start) as u32;
                self.anchors
                    .put(anchor.hash, BlockPosition { block, offset });
                scan.noted += 1;
            }
            scan.stored += len;
            let offset = offset as u32;
            self.add_extent(BlockPosition { block, offset }, len);
            if self.blocks.open_len(block) == most {
                self.seal(scan.category, block)?;
            } else {
                self.bound_open()?;
            }
        }
        Ok(())
    }

    /// Returns the open block of a category, opening one if there is none.
    fn open_block(&mut self, category: Category) -> u32 {
        if let Some(&(_, block)) = self.open.iter().find(|open| open.0 == category) {
            return block;
        }
        let block = self.blocks.open(self.block_size);
        self.numbers.push(u32::MAX);
        self.open.push((category, block));
        block
    }

    /// Closes the fullest open block if there are too many open blocks, or too many bytes in them:
    /// in an order other than by category, any number of categories may alternate.
    fn bound_open(&mut self) -> Result<()> {
        let len = |open: &(Category, u32)| self.blocks.open_len(open.1);
        let bytes: usize = self.open.iter().map(len).sum();
        if self.open.len() <= OPEN && bytes <= OPEN_BLOCKS * self.block_size {
            return Ok(());
        }
        // of several, the one that was opened first
        let fullest = self.open.iter().rev().max_by_key(|open| len(open));
        match fullest.copied() {
            Some((category, block)) => self.seal(category, block),
            None => Ok(()),
        }
    }

    /// Emits a block as a segment.
    fn seal(&mut self, category: Category, block: u32) -> Result<()> {
        self.open.retain(|&(_, open)| open != block);
        let data = self.blocks.close(block)?;
        let sequence = self.result.number()?;
        self.numbers[block as usize] = sequence;
        (self.emit)(Segment::solid(sequence, category, data))
    }

    /// Adds an extent to the current content, or extends the last one if it is adjacent.
    fn add_extent(&mut self, position: BlockPosition, len: usize) {
        self.content.size += len as u64;
        if let Some(reach) = &mut self.content.reach {
            reach.uses(position.block, u64::from(position.offset) + len as u64);
        }
        let first = self.content.first_extent;
        if let Some(MapExtent::Data {
            block,
            offset,
            len: last,
        }) = self.result.extents[first..].last_mut()
            && block.0 == position.block
            && u64::from(*offset) + u64::from(*last) == u64::from(position.offset)
        {
            *last += len as u32;
            return;
        }
        let (block, offset) = (BlockId(position.block), position.offset);
        self.result.extents.push(MapExtent::Data {
            block,
            offset,
            len: len as u32,
        });
    }
}

#[cfg(test)]
mod tests;
