//! Cuts content into solid blocks and finds parts that were stored before.
//!
//! Enters the pieces of the contents in order; leaves full blocks as `Segment`s and, for each
//! content, its extents. Each category is a stream with one open block. Bytes that stand in one of
//! the last blocks, or in an open one, are not stored again: anchors (`matcher`) give candidates,
//! which are compared byte by byte and extended both ways. Content of a category with a granularity
//! is cut, in blocks and in matches, at multiples of it from the beginning of each piece.
//! **Invariant:** an extent names only bytes that were stored already and never change. Blocks
//! are numbered in the order in which they become full; the result depends on the contents and
//! their order alone. Memory: the window, the open blocks, 16 bytes an extent and the table of
//! anchors (a quarter of the window at most).

use std::sync::Arc;

use model::{BlockId, Category, Error, MapExtent, Result, Segment};

use crate::gear::roll;
use crate::matcher::{Anchors, Place, common_prefix, common_suffix, is_anchor};

/// The shortest match with another block that is taken: an extent more costs about 8 bytes of
/// metadata and a reader perhaps another block to decode, and most codecs cannot look there.
const FAR: usize = 512;

/// The shortest match within the own open block that is taken: the codec finds those itself, so
/// all that is saved is its time; shorter ones cost more metadata than they save.
const NEAR: usize = 4096;

/// Bytes that the gear hash looks at.
const REACH: usize = 64;

/// Literal bytes are stored when there are so many, so that what follows can match them ...
const FLUSH: usize = 32 << 10;

/// ... but for the last so many, so that a match can still be extended to the left.
const KEEP: usize = 4 << 10;

/// The extents of one content.
#[derive(Debug, Clone, Copy)]
pub(crate) struct List {
    /// Where its extents end in `Segmented::extents`; they begin where the last list's end.
    pub end: u64,
    /// Bytes, holes included.
    pub size: u64,
}

/// What is known when all content is cut.
#[derive(Debug, Default)]
pub(crate) struct Segmented {
    /// The extents of all lists; each block by the number of its segment.
    pub extents: Vec<MapExtent>,
    /// One list for each content, in order.
    pub lists: Vec<List>,
    /// How many segments were made.
    pub segments: u32,
    /// Bytes that were found stored already and not stored again.
    pub matched: u64,
}

/// A block on its way from open to forgotten.
enum Body {
    Open(Vec<u8>),
    Sealed(Arc<Vec<u8>>),
    Forgotten,
}

impl Body {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Open(bytes) => bytes,
            Self::Sealed(bytes) => bytes,
            Self::Forgotten => &[],
        }
    }
}

/// Cuts content; `emit` takes each full block.
pub(crate) struct Segmenter<E> {
    block_size: usize,
    window: usize,
    emit: E,
    anchors: Anchors,
    /// All blocks by number of opening, and the number of the segment that each became.
    blocks: Vec<Body>,
    numbers: Vec<u32>,
    /// Blocks in the window, oldest first.
    sealed: std::collections::VecDeque<u32>,
    /// The open block of each category.
    open: Vec<(Category, u32)>,
    result: Segmented,
    content: Current,
}

/// The content that is being cut.
#[derive(Default)]
struct Current {
    first_extent: usize,
    size: u64,
    /// The gear hash after the last piece.
    state: u64,
    /// Where the match goes on with which the last piece ended.
    follow: Option<Place>,
    /// Anchors of bytes not yet stored: end in the piece, hash.
    anchors: Vec<(usize, u64)>,
}

impl<E: FnMut(Segment) -> Result<()>> Segmenter<E> {
    /// Starts with no content; `window` is the number of full blocks that are matched against,
    /// `total` the bytes that will come at most.
    pub fn new(block_size: u32, window: u32, total: u64, emit: E) -> Result<Self> {
        let block_size = block_size as usize;
        if block_size == 0 {
            return Err(Error::invalid("a block size of 0 holds nothing"));
        }
        let window = window as usize;
        // one more for the open block
        let reach = (block_size as u64).saturating_mul(window as u64 + 1);
        Ok(Self {
            block_size,
            window,
            emit,
            anchors: Anchors::new(reach.min(total)),
            blocks: Vec::new(),
            numbers: Vec::new(),
            sealed: std::collections::VecDeque::new(),
            open: Vec::new(),
            result: Segmented::default(),
            content: Current::default(),
        })
    }

    /// Takes the next bytes of the current content.
    pub fn data(&mut self, bytes: &[u8], category: Category) -> Result<()> {
        let mut scan = Scan {
            bytes,
            category,
            grain: category.granularity() as usize,
            stored: 0,
            at: 0,
            blind: 0,
        };
        self.content.anchors.clear();
        self.go_on(&mut scan);
        while let Some(found) = self.scan(&mut scan)? {
            self.store(&mut scan, found.start)?;
            self.refer(&mut scan, found);
        }
        self.store(&mut scan, bytes.len())
    }

    /// Takes a hole of the current content.
    pub fn hole(&mut self, len: u64) {
        self.content.follow = None;
        self.content.state = 0;
        self.content.size += len;
        let first = self.content.first_extent;
        if let Some(MapExtent::Hole { len: last }) = self.result.extents[first..].last_mut() {
            *last += len;
        } else if len > 0 {
            self.result.extents.push(MapExtent::Hole { len });
        }
    }

    /// Ends the current content and starts the next.
    pub fn end(&mut self) {
        self.result.lists.push(List {
            end: self.result.extents.len() as u64,
            size: self.content.size,
        });
        self.content.first_extent = self.result.extents.len();
        self.content.size = 0;
        self.content.state = 0;
        self.content.follow = None;
    }

    /// Emits the open blocks and tells what was made of all content.
    pub fn finish(mut self) -> Result<Segmented> {
        let mut open = std::mem::take(&mut self.open);
        open.sort_unstable();
        for (category, block) in open {
            self.seal(category, block)?;
        }
        for extent in &mut self.result.extents {
            if let MapExtent::Data { block, .. } = extent {
                *block = BlockId(self.numbers[block.0 as usize]);
            }
        }
        Ok(self.result)
    }

    /// Goes on with the match with which the last piece ended.
    fn go_on(&mut self, scan: &mut Scan<'_>) {
        let Some(place) = self.content.follow else {
            return;
        };
        let source = self.blocks[place.block as usize].bytes();
        let source = source.get(place.offset as usize..).unwrap_or_default();
        let len = scan.whole(common_prefix(source, scan.bytes));
        if len > 0 {
            self.refer(
                scan,
                Match {
                    start: 0,
                    len,
                    place,
                },
            );
        } else {
            self.content.follow = None;
        }
    }

    /// Rolls on to the next match that is worth taking.
    fn scan(&mut self, scan: &mut Scan<'_>) -> Result<Option<Match>> {
        loop {
            // in runs, so that the loop over bytes has nothing else to do
            let stop = scan.bytes.len().min(scan.stored + FLUSH + KEEP);
            while let Some(state) = self.next_anchor(scan, stop) {
                if scan.at >= scan.blind
                    && let Some(found) = self.probe(scan, state)
                {
                    return Ok(Some(found));
                }
                self.content.anchors.push((scan.at, state));
            }
            if stop == scan.bytes.len() {
                return Ok(None);
            }
            self.store(scan, scan.whole(scan.at - KEEP))?;
        }
    }

    /// Rolls to the byte after the next anchor before `stop`.
    fn next_anchor(&mut self, scan: &mut Scan<'_>, stop: usize) -> Option<u64> {
        let mut state = self.content.state;
        let run = scan.bytes.get(scan.at..stop).unwrap_or_default();
        for (index, &byte) in run.iter().enumerate() {
            state = roll(state, byte);
            if is_anchor(state) {
                scan.at += index + 1;
                self.content.state = state;
                return Some(state);
            }
        }
        scan.at = stop.max(scan.at);
        self.content.state = state;
        None
    }

    /// Compares what was stored after the same anchor with what stands here.
    fn probe(&self, scan: &mut Scan<'_>, state: u64) -> Option<Match> {
        let newest = (self.blocks.len() as u32).checked_sub(1)?;
        let place = self.anchors.get(state, newest)?;
        let source = self.blocks[place.block as usize].bytes();
        let (before, after) = source.split_at_checked(place.offset as usize)?;
        let back = common_suffix(before, &scan.bytes[scan.stored..scan.at]);
        if back == 0 {
            return None;
        }
        let ahead = common_prefix(after, &scan.bytes[scan.at..]);
        let own = self.open.contains(&(scan.category, place.block));
        let start = (scan.at - back).next_multiple_of(scan.grain);
        let len = scan.whole((scan.at + ahead).saturating_sub(start));
        if len < if own { NEAR } else { FAR } {
            // what follows within this match would only find it again: looking there each time
            // is quadratic
            scan.blind = scan.at + ahead;
            return None;
        }
        let place = Place {
            block: place.block,
            offset: (place.offset as usize + start - scan.at) as u32,
        };
        Some(Match { start, len, place })
    }

    /// Takes bytes as stored before.
    fn refer(&mut self, scan: &mut Scan<'_>, found: Match) {
        let Match { start, len, place } = found;
        self.add_extent(place, len);
        self.result.matched += len as u64;
        scan.at = start + len;
        scan.stored = scan.at;
        self.content.anchors.clear();
        self.content.state = scan.bytes[scan.at.saturating_sub(REACH)..scan.at]
            .iter()
            .fold(0, |state, &byte| roll(state, byte));
        let offset = place.offset + len as u32;
        self.content.follow = Some(Place {
            block: place.block,
            offset,
        });
    }

    /// Stores bytes up to `to` in the open block of their category, and in further ones.
    fn store(&mut self, scan: &mut Scan<'_>, to: usize) -> Result<()> {
        let mut taken = 0;
        while scan.stored < to {
            self.content.follow = None;
            let block = self.open_block(scan.category);
            let Body::Open(body) = &mut self.blocks[block as usize] else {
                return Err(Error::invalid("an open block is not open"));
            };
            let offset = body.len();
            // at least one grain, so that a block larger than asked beats one that is cut wrong
            let most = (self.block_size / scan.grain).max(1) * scan.grain;
            let len = (to - scan.stored).min(most - offset);
            let start = scan.stored;
            body.extend_from_slice(&scan.bytes[start..start + len]);
            let full = body.len() == most;
            while let Some(&(end, state)) = self.content.anchors.get(taken)
                && end <= start + len
            {
                let place = Place {
                    block,
                    offset: (offset + end - start) as u32,
                };
                self.anchors.put(state, place);
                taken += 1;
            }
            scan.stored += len;
            self.add_extent(
                Place {
                    block,
                    offset: offset as u32,
                },
                len,
            );
            if full {
                self.open.retain(|&(_, open)| open != block);
                self.seal(scan.category, block)?;
            }
        }
        self.content.anchors.drain(..taken);
        Ok(())
    }

    /// Tells the open block of a category, opening one if there is none.
    fn open_block(&mut self, category: Category) -> u32 {
        if let Some(&(_, block)) = self.open.iter().find(|open| open.0 == category) {
            return block;
        }
        let block = self.blocks.len() as u32;
        self.blocks
            .push(Body::Open(Vec::with_capacity(self.block_size)));
        self.numbers.push(u32::MAX);
        self.open.push((category, block));
        block
    }

    /// Makes a segment of a block and keeps it in the window.
    fn seal(&mut self, category: Category, block: u32) -> Result<()> {
        let body = std::mem::replace(&mut self.blocks[block as usize], Body::Forgotten);
        let Body::Open(bytes) = body else {
            return Err(Error::invalid("a block was sealed twice"));
        };
        let data = Arc::new(bytes);
        let sequence = self.result.segments;
        self.numbers[block as usize] = sequence;
        self.result.segments = sequence
            .checked_add(1)
            .filter(|&count| count < u32::MAX)
            .ok_or_else(|| Error::limit("more than 4294967294 blocks; choose larger ones"))?;
        self.blocks[block as usize] = Body::Sealed(Arc::clone(&data));
        self.sealed.push_back(block);
        while self.sealed.len() > self.window {
            if let Some(oldest) = self.sealed.pop_front() {
                self.blocks[oldest as usize] = Body::Forgotten;
            }
        }
        (self.emit)(Segment {
            sequence,
            category,
            data,
        })
    }

    /// Adds bytes to the extents of the current content, to the last one if they follow it.
    fn add_extent(&mut self, place: Place, len: usize) {
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
struct Scan<'a> {
    bytes: &'a [u8],
    category: Category,
    /// Bytes that stay together.
    grain: usize,
    /// Bytes before this are stored or referred to.
    stored: usize,
    /// The hash stands before this byte.
    at: usize,
    /// Anchors before this byte lie in a match that was too short.
    blind: usize,
}

impl Scan<'_> {
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
    place: Place,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use model::{ByteOrder, Padding, Waveform};

    use super::*;

    fn noise(len: usize, mut state: u64) -> Vec<u8> {
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        };
        (0..len).map(|_| next()).collect()
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
        let first = noise(60_000, 1);
        // the same bytes again, but two bytes off a frame, and once more within other noise
        let second = [&noise(8, 2)[..], &first[100..50_002], &noise(2, 3)[..]].concat();
        let third = [&noise(12_000, 4)[..], &second, &noise(40_000 * 6, 5)[..]].concat();
        let whole = |len: usize| len / 6 * 6;
        let mut segments = Vec::new();
        let mut segmenter = Segmenter::new(16 << 10, 8, 1 << 20, |segment: Segment| {
            segments.push(segment.data);
            Ok(())
        })
        .unwrap();
        let contents = [first, second, third];
        for content in &contents {
            let (frames, rest) = content.split_at(whole(content.len()));
            for piece in frames.chunks(6 * 5000) {
                segmenter.data(piece, category).unwrap();
            }
            segmenter.data(rest, Category::Default).unwrap();
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
                assert!(len % 6 == 0 || found.len() >= whole(content.len()));
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
