//! Cuts content into solid blocks and finds parts that were stored before.
//!
//! Enters the pieces of the contents in order, with their anchors; leaves full blocks as `Segment`s
//! and, for each content, its extents. Each category is a stream with one open block. Bytes that
//! stand anywhere in what was stored before are not stored again: anchors give candidates, which
//! are compared byte by byte and extended both ways. Content of a category with a granularity is cut,
//! in blocks and in matches, at multiples of it from the beginning of each piece.
//! The blocks of a base were stored before everything, and a content that is known to be one of its own
//! is compared with that.
//! **Invariant:** an extent names only bytes that were stored already and never change. Blocks
//! are numbered in the order in which they become full, those of the base that are used after them;
//! the result depends on the base, the contents and their order alone. Memory: that of `MatchStore`, 16 bytes
//! an extent and the table of anchors.

use std::sync::Arc;

use sinterfs_model::{BlockId, Category, Error, MapExtent, Observer, Result, Segment};

use crate::anchors::{Anchor, Anchors, BlockPosition, Spacing};
use crate::base::BaseBlocks;
use crate::match_store::{MatchStore, Retention};
use crate::segment::base_follow::{BaseFollower, BaseUsage};
use crate::segment::{ExtentList, Segmented};

/// The shortest match that is taken where the codec cannot look: an extent more costs about 8
/// bytes of metadata and a reader perhaps another block to decode.
const FAR: usize = 512;

/// The shortest match that is taken where the codec finds it itself: all that is saved is its
/// time; shorter ones cost more metadata than they save.
const NEAR: usize = 4096;

/// Bytes of a full block of what is needed first: whoever needs a little of it decodes a millisecond.
const HOT_BLOCK: usize = 1 << 20;

/// The most open blocks. Together they have the bytes of `OPEN_BLOCKS` full ones at most, which is
/// what the memory of a build counts with; else the fullest one is closed early.
const OPEN: usize = 32;

/// The bytes of all open blocks, in full ones.
pub(crate) const OPEN_BLOCKS: usize = 2;

/// Literal bytes are stored when there are so many, so that what follows can match them ...
const FLUSH: usize = 32 << 10;

/// ... but for the last so many, so that a match can still be extended to the left.
const KEEP: usize = 4 << 10;

/// How content is cut.
#[derive(Debug, Clone)]
pub(crate) struct SolidOptions {
    /// Bytes of a full block.
    pub block_size: u32,
    /// How far back the codec sees repeats in a block.
    pub codec_window: u64,
    /// The bytes that will come at most, with those of the base.
    pub total: u64,
    /// What is done with full blocks.
    pub retention: Retention,
    /// What is there before anything comes.
    pub base: Option<Arc<BaseBlocks>>,
}

/// Cuts content; `emit` takes each full block.
pub(crate) struct Solid<E> {
    block_size: usize,
    codec_window: u64,
    total: u64,
    emit: E,
    anchors: Anchors,
    past: MatchStore,
    /// The number of the segment that each block became, by number of opening.
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
    /// Where the match goes on with which the last piece ended.
    follow: Option<BlockPosition>,
    /// The content of the base that this one has been so far.
    known: Option<BaseFollower>,
}

impl<E: FnMut(Segment) -> Result<()>> Solid<E> {
    /// Starts with no content.
    pub fn new(cut: SolidOptions, emit: E) -> Result<Self> {
        if cut.block_size == 0 {
            return Err(Error::invalid("a block size of 0 holds nothing"));
        }
        let (past, largest) = match &cut.base {
            Some(base) => (MatchStore::over_base(cut.retention, base), base.largest()),
            None => (MatchStore::new(cut.retention), 0),
        };
        Ok(Self {
            block_size: cut.block_size as usize,
            codec_window: cut.codec_window,
            total: cut.total,
            emit,
            anchors: Anchors::new(cut.total, cut.block_size.max(largest)),
            past,
            numbers: vec![u32::MAX; cut.base.as_ref().map_or(0, |base| base.blocks.len())],
            open: Vec::new(),
            base: cut.base,
            result: Segmented::default(),
            content: OpenContent::default(),
        })
    }

    /// Notes where the anchors of the base are.
    pub fn note_base(&mut self, observer: &dyn Observer) -> Result<()> {
        let Some(base) = &self.base else {
            return Ok(());
        };
        let spacing = Spacing::for_content(self.total);
        base.note_anchors(spacing, &mut self.anchors, observer)
    }

    /// Says that the current content probably is one of the base's.
    pub fn expect(&mut self, list: u32) {
        self.content.known = Some(BaseFollower::new(list));
    }

    /// Takes bytes as the base's if they go on as its content does.
    fn is_known(&mut self, bytes: &[u8]) -> Result<bool> {
        let (Some(base), Some(mut reading)) = (&self.base, self.content.known.take()) else {
            return Ok(false);
        };
        let list = base.base.content().list(reading.list);
        let Some(found) = reading.data(list, bytes, &mut self.past)? else {
            return Ok(false);
        };
        for (place, len) in found {
            self.add_extent(place, len);
        }
        self.result.matched += bytes.len() as u64;
        self.content.known = Some(reading);
        Ok(true)
    }

    /// Takes the next bytes of the current content, and where their anchors are.
    pub fn data(&mut self, bytes: &[u8], anchors: &[Anchor], category: Category) -> Result<()> {
        if self.is_known(bytes)? {
            return Ok(());
        }
        let mut scan = DataScan {
            bytes,
            category,
            grain: category.granularity() as usize,
            stored: 0,
            blind: 0,
            anchors,
            noted: 0,
        };
        self.go_on(&mut scan)?;
        for (index, &anchor) in anchors.iter().enumerate() {
            let end = anchor.end as usize;
            if end > scan.stored + FLUSH + KEEP {
                let to = scan.whole(end - KEEP);
                self.store(&mut scan, to)?;
            }
            if end < scan.blind.max(scan.stored + 1) {
                continue;
            }
            if let Some(found) = self.probe(&mut scan, anchor)? {
                self.store(&mut scan, found.start)?;
                self.refer(&mut scan, found);
                // anchors within the match are noted where it lies
                let passed = anchors[index..].partition_point(|a| a.end as usize <= scan.stored);
                scan.noted = index + passed;
            }
        }
        self.store(&mut scan, bytes.len())
    }

    /// Takes a hole of the current content.
    pub fn hole(&mut self, len: u64) {
        self.content.follow = None;
        self.content.size += len;
        if let (Some(base), Some(mut reading)) = (&self.base, self.content.known.take()) {
            let list = base.base.content().list(reading.list);
            self.content.known = reading.hole(list, len).then_some(reading);
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

    /// Emits the open block of a category of which nothing comes any more.
    pub fn close(&mut self, category: Category) -> Result<()> {
        match self.open.iter().find(|open| open.0 == category) {
            Some(&(_, block)) => self.seal(category, block),
            None => Ok(()),
        }
    }

    /// Emits the open blocks and tells what was made of all content.
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

    /// Goes on with the match with which the last piece ended.
    fn go_on(&mut self, scan: &mut DataScan<'_>) -> Result<()> {
        let Some(place) = self.content.follow else {
            return Ok(());
        };
        let len = scan.whole(self.past.prefix(place, scan.bytes)?);
        if len == 0 {
            self.content.follow = None;
            return Ok(());
        }
        let start = 0;
        self.refer(scan, Match { start, len, place });
        scan.noted = scan.anchors.partition_point(|a| a.end as usize <= len);
        Ok(())
    }

    /// Compares what was stored around the same anchor with what stands here.
    fn probe(&mut self, scan: &mut DataScan<'_>, anchor: Anchor) -> Result<Option<Match>> {
        let Some(place) = self.anchors.get(anchor.hash) else {
            return Ok(None);
        };
        if place.block as usize >= self.numbers.len() {
            return Ok(None);
        }
        let end = anchor.end as usize;
        let back = self.past.suffix(place, &scan.bytes[scan.stored..end])?;
        if back == 0 {
            return Ok(None);
        }
        let ahead = self.past.prefix(place, &scan.bytes[end..])?;
        let start = (end - back).next_multiple_of(scan.grain);
        let len = scan.whole((end + ahead).saturating_sub(start));
        if len < self.least(scan.category, place) {
            // what follows within this match would only find it again: looking there each time
            // is quadratic
            scan.blind = end + ahead;
            return Ok(None);
        }
        let place = BlockPosition {
            block: place.block,
            offset: (place.offset as usize + start - end) as u32,
        };
        Ok(Some(Match { start, len, place }))
    }

    /// Returns how long a match with a place must be.
    fn least(&self, category: Category, place: BlockPosition) -> usize {
        // codecs of samples see no repeats at all
        if category.granularity() > 1 || !self.open.contains(&(category, place.block)) {
            return FAR;
        }
        let distance = self.past.open_len(place.block) as u64 - u64::from(place.offset);
        if distance < self.codec_window {
            NEAR
        } else {
            FAR
        }
    }

    /// Takes bytes as stored before.
    fn refer(&mut self, scan: &mut DataScan<'_>, found: Match) {
        let Match { start, len, place } = found;
        self.add_extent(place, len);
        self.result.matched += len as u64;
        scan.stored = start + len;
        self.content.follow = Some(BlockPosition {
            block: place.block,
            offset: place.offset + len as u32,
        });
    }

    /// Stores bytes up to `to` in the open block of their category, and in further ones.
    fn store(&mut self, scan: &mut DataScan<'_>, to: usize) -> Result<()> {
        while scan.stored < to {
            self.content.follow = None;
            let block = self.open_block(scan.category);
            let offset = self.past.open_len(block);
            // at least one grain, so that a block larger than asked beats one that is cut wrong
            let full = match scan.category {
                Category::Hot => self.block_size.min(HOT_BLOCK),
                _ => self.block_size,
            };
            let most = (full / scan.grain).max(1) * scan.grain;
            let len = (to - scan.stored).min(most - offset);
            let start = scan.stored;
            self.past.append(block, &scan.bytes[start..start + len])?;
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
            if self.past.open_len(block) == most {
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
        let block = self.past.open(self.block_size);
        self.numbers.push(u32::MAX);
        self.open.push((category, block));
        block
    }

    /// Closes the fullest open block if there are too many, or too many bytes in them: content in
    /// another order than by category may have any number of categories at a time.
    fn bound_open(&mut self) -> Result<()> {
        let len = |open: &(Category, u32)| self.past.open_len(open.1);
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

    /// Makes a segment of a block.
    fn seal(&mut self, category: Category, block: u32) -> Result<()> {
        self.open.retain(|&(_, open)| open != block);
        let data = self.past.close(block)?;
        let sequence = self.result.number()?;
        self.numbers[block as usize] = sequence;
        (self.emit)(Segment::solid(sequence, category, data))
    }

    /// Adds bytes to the extents of the current content, to the last one if they follow it.
    fn add_extent(&mut self, place: BlockPosition, len: usize) {
        self.content.size += len as u64;
        let first = self.content.first_extent;
        if let Some(MapExtent::Data {
            block,
            offset,
            len: last,
        }) = self.result.extents[first..].last_mut()
            && block.0 == place.block
            && u64::from(*offset) + u64::from(*last) == u64::from(place.offset)
        {
            *last += len as u32;
            return;
        }
        let (block, offset) = (BlockId(place.block), place.offset);
        self.result.extents.push(MapExtent::Data {
            block,
            offset,
            len: len as u32,
        });
    }
}

/// A piece while it is scanned.
struct DataScan<'a> {
    bytes: &'a [u8],
    category: Category,
    /// Bytes that stay together.
    grain: usize,
    /// Bytes before this are stored or referred to.
    stored: usize,
    /// Anchors before this byte lie in a match that was too short.
    blind: usize,
    anchors: &'a [Anchor],
    /// Anchors before this one are in the table or never will be.
    noted: usize,
}

impl DataScan<'_> {
    /// Rounds down to whole grains.
    fn whole(&self, len: usize) -> usize {
        len / self.grain * self.grain
    }
}

/// Bytes of a piece that are stored already.
#[derive(Clone, Copy)]
struct Match {
    start: usize,
    len: usize,
    place: BlockPosition,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use sinterfs_model::{ByteOrder, Padding, Waveform};

    use sinterfs_testkit::noise;

    use super::*;
    use crate::anchors::{Finder, Spacing};
    use crate::scratch::Scratch;

    #[test]
    fn open_blocks_are_bounded() {
        const SIZE: usize = 1 << 10;
        let total = 1 << 20;
        let cut = SolidOptions {
            block_size: SIZE as u32,
            codec_window: u64::MAX,
            total,
            retention: Retention {
                kept: 2,
                room: u64::MAX,
                lookback: 0,
                scratch: Scratch::new(std::env::temp_dir()),
            },
            base: None,
        };
        let mut segmenter = Solid::new(cut, |_| Ok(())).unwrap();
        for round in 0..400u64 {
            let category = Category::Waveform(Waveform {
                channels: 1 + (round % 100) as u8,
                bits: 8,
                bytes: 1,
                order: ByteOrder::Little,
                signed: true,
                padding: Padding::Low,
            });
            segmenter.data(&noise(round, 100), &[], category).unwrap();
            segmenter.end();
            let open = segmenter.open.iter();
            let bytes: usize = open.map(|open| segmenter.past.open_len(open.1)).sum();
            assert!(bytes <= OPEN_BLOCKS * SIZE && segmenter.open.len() <= OPEN);
        }
        let result = segmenter.finish().unwrap();
        assert_eq!(result.lists.len(), 400);
    }

    #[test]
    fn frames_are_never_cut() {
        let category = Category::Waveform(Waveform {
            channels: 2,
            bits: 24,
            bytes: 3,
            order: ByteOrder::Little,
            signed: true,
            padding: Padding::Low,
        });
        let first = noise(1, 60_000);
        // the same bytes again, but two bytes off a frame, and once more within other noise
        let second = [&noise(2, 8)[..], &first[100..50_002], &noise(3, 2)[..]].concat();
        let third = [&noise(4, 12_000)[..], &second, &noise(5, 40_000 * 6)[..]].concat();
        let whole = |len: usize| len / 6 * 6;
        let mut segments = Vec::new();
        let total = 1 << 20;
        let cut = SolidOptions {
            block_size: 16 << 10,
            codec_window: u64::MAX,
            total,
            retention: Retention {
                kept: 2,
                room: u64::MAX,
                lookback: 8,
                scratch: Scratch::new(std::env::temp_dir()),
            },
            base: None,
        };
        let mut segmenter = Solid::new(cut, |segment: Segment| {
            segments.push(segment.data);
            Ok(())
        })
        .unwrap();
        let contents = [first, second, third];
        let spacing = Spacing::for_content(total);
        for content in &contents {
            let (frames, rest) = content.split_at(whole(content.len()));
            for piece in frames.chunks(6 * 5000) {
                let anchors = Finder::new(spacing).find(piece);
                segmenter.data(piece, &anchors, category).unwrap();
            }
            segmenter.data(rest, &[], Category::Default).unwrap();
            segmenter.end();
        }
        let result = segmenter.finish().unwrap();
        assert!(result.matched > 90_000, "{}", result.matched);
        let mut start = 0;
        for (content, list) in contents.iter().zip(&result.lists) {
            let extents = &result.extents[start..list.end as usize];
            start = list.end as usize;
            let mut found = Vec::new();
            for extent in extents {
                let MapExtent::Data { block, offset, len } = *extent else {
                    panic!("a hole");
                };
                // a match may go on into what is behind the frames
                let end = found.len() + len as usize;
                assert!(len % 6 == 0 || end >= whole(content.len()));
                let data = &segments[block.0 as usize];
                found.extend_from_slice(&data[offset as usize..(offset + len) as usize]);
            }
            assert!(&found == content);
        }
        let tails = contents.iter().map(|content| content.len() % 6).sum();
        for data in &segments {
            let frames = data.len() % 6 == 0 && data.len() <= 16 << 10;
            assert!(frames || data.len() == tails, "{}", data.len());
        }
    }
}
