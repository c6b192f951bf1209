//! Cuts each file separately into units; tails of files share fragments.
//!
//! Enters the data of the contents in order; leaves each whole unit as a separate `Segment` at
//! once, and the tail of a content, as `Tails` says, in a separate segment or in the open fragment
//! of its category. A fragment becomes a segment when the next tail does not fit: with several open
//! fragments and best fit they were fuller, but similar tails were separated (docs/pipeline.md).
//! Units of zeros, read or skipped, are holes where the format has holes. Where the format asks for
//! repeats (see `repeats`), segments are emitted with them and stored whole, unless the encoder
//! decides otherwise. Where the format allows it, a tail, or its last part, that a fragment already
//! contains is not stored again (see `tail_dedup`). **Invariant:** see `Geometry::PerFile`; the
//! segments of a content have consecutive numbers. Memory: 16 bytes a unit of data, one unit, and
//! one fragment for each category.

use std::sync::Arc;

use sinterfs_model::{
    BlockId, Category, Error, FileLayout, Machine, MapExtent, Preceded, Repeat, Result, Segment,
    TailPlacement, TailSharing, UnitInfo,
};

use crate::anchors::Anchor;
use crate::segment::repeats::{RepeatFinder, RepeatSearch};
use crate::segment::segmented::{ExtentList, Segmented};
use crate::segment::tail_dedup::{self, TailIndex, TailMatch};

/// The most units in memory: the open fragment of each category, and the unit being filled.
pub(crate) const OPEN_UNITS: usize = Machine::ALL.len() + 3 + 1;

/// Options for cutting content.
#[derive(Debug, Clone)]
pub(crate) struct PerFileOptions {
    /// Bytes of a unit.
    pub unit: u32,
    /// The place of the tails of contents.
    pub tails: TailPlacement,
    /// Whether units of zeros are holes.
    pub holes: bool,
    /// How equal tails are shared, and how they are searched, if they are.
    pub sharing: TailSharing,
    pub tail_search: Option<tail_dedup::TailSearch>,
    /// How repeats are searched, if they are.
    pub repeats: Option<RepeatSearch>,
}

/// Cuts content; passes each segment to `emit`.
pub(crate) struct PerFile<E> {
    unit: usize,
    tails: TailPlacement,
    holes: bool,
    emit: E,
    repeats: Option<RepeatFinder>,
    tails_stored: Option<TailIndex>,
    sharing: TailSharing,
    /// A unit of zeros, for holes that are data, and its first segment.
    zeros: Option<(Arc<Vec<u8>>, BlockId)>,
    /// The open fragments, at most one for each category.
    open: Vec<Fragment>,
    result: Segmented,
    content: OpenContent,
}

/// The content that is being cut.
#[derive(Default)]
struct OpenContent {
    first_extent: usize,
    /// The layout that the file asks for; its first segment takes the alignment.
    layout: FileLayout,
    size: u64,
    /// Whether a whole unit precedes the bytes of `partial`.
    has_units: bool,
    /// Whether a hole precedes them.
    has_hole: bool,
    /// The bytes of the incomplete unit.
    partial: Vec<u8>,
    /// The anchors in `partial`.
    anchors: Vec<Anchor>,
    /// The category of the first bytes of `partial` that are not a hole.
    category: Option<Category>,
}

/// Tails of contents of one category.
struct Fragment {
    category: Category,
    /// Its number in the tail index.
    number: u32,
    bytes: Vec<u8>,
    anchors: Vec<Anchor>,
    /// The extents within it, whose block number is set when it is complete.
    extents: Vec<usize>,
}

impl<E: FnMut(Segment) -> Result<()>> PerFile<E> {
    /// Creates a segmenter.
    pub fn new(options: PerFileOptions, emit: E) -> Result<Self> {
        if options.unit == 0 {
            return Err(Error::invalid("a unit of 0 bytes holds nothing"));
        }
        Ok(Self {
            unit: options.unit as usize,
            tails: options.tails,
            holes: options.holes,
            emit,
            repeats: options.repeats.map(RepeatFinder::new),
            tails_stored: options.tail_search.map(TailIndex::new),
            sharing: options.sharing,
            zeros: None,
            open: Vec::new(),
            result: Segmented::default(),
            content: OpenContent::default(),
        })
    }

    /// Sets what the current content wants of its layout.
    pub fn layout(&mut self, layout: FileLayout) {
        self.content.layout = layout;
    }

    /// Adds bytes to the current content, with their anchors.
    pub fn data(&mut self, bytes: &[u8], mut anchors: &[Anchor], category: Category) -> Result<()> {
        self.content.size += bytes.len() as u64;
        let mut done = 0;
        while done < bytes.len() {
            let filled = self.content.partial.len();
            let end = bytes.len().min(done + self.unit - filled);
            let part = &bytes[done..end];
            let count = anchors.partition_point(|anchor| anchor.end as usize <= end);
            let (within, after) = anchors.split_at(count);
            let moved = |anchor: &Anchor| Anchor {
                end: (anchor.end as usize - done + filled) as u32,
                ..*anchor
            };
            self.content.anchors.extend(within.iter().map(moved));
            (done, anchors) = (end, after);
            if part.len() == self.unit {
                self.whole(category, part)?;
                continue;
            }
            self.content.category.get_or_insert(category);
            self.fill(|rest| rest.extend_from_slice(part))?;
        }
        Ok(())
    }

    /// Adds a hole to the current content.
    pub fn hole(&mut self, len: u64) -> Result<()> {
        self.content.size += len;
        let unit = self.unit as u64;
        let filled = self.content.partial.len() as u64;
        let mut len = len;
        if filled > 0 {
            let part = len.min(unit - filled);
            self.fill(|rest| rest.resize((filled + part) as usize, 0))?;
            len -= part;
        }
        let units = len / unit;
        if self.holes {
            self.skip(units * unit);
        } else {
            for _ in 0..units {
                self.zeros()?;
            }
        }
        self.content.has_units |= units > 0;
        let part = len % unit;
        if part > 0 {
            self.fill(|rest| rest.resize(part as usize, 0))?;
        }
        Ok(())
    }

    /// Ends the current content and starts the next.
    pub fn end(&mut self) -> Result<()> {
        let mut rest = std::mem::take(&mut self.content.partial);
        let mut anchors = std::mem::take(&mut self.content.anchors);
        let category = self.content.category.unwrap_or_default();
        if !rest.is_empty() {
            let shared = self
                .tails
                .of_file(self.content.layout)
                .is_in_fragment(rest.len() as u64, self.content.has_units);
            if self.holes && is_zero(&rest) {
                self.skip(rest.len() as u64);
            } else if !shared {
                rest.shrink_to_fit();
                self.store(category, Arc::new(rest), &anchors, true)?;
                rest = Vec::new();
            } else {
                self.refer_or_share(category, &rest, &anchors)?;
            }
        }
        self.result.lists.push(ExtentList {
            end: self.result.extents.len() as u64,
            size: self.content.size,
        });
        rest.clear();
        anchors.clear();
        self.content = OpenContent {
            first_extent: self.result.extents.len(),
            partial: rest,
            anchors,
            ..OpenContent::default()
        };
        Ok(())
    }

    /// Emits the open fragment of a category that has no further content.
    pub fn close(&mut self, category: Category) -> Result<()> {
        match self.open.iter().position(|open| open.category == category) {
            Some(index) => self.seal(index),
            None => Ok(()),
        }
    }

    /// Emits the open fragments and returns the result.
    pub fn finish(mut self) -> Result<Segmented> {
        self.open.sort_by_key(|open| open.category);
        while !self.open.is_empty() {
            self.seal(0)?;
        }
        Ok(self.result)
    }

    /// Adds to the incomplete unit, and stores it when it is complete.
    fn fill(&mut self, add: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let rest = &mut self.content.partial;
        rest.reserve_exact(self.unit - rest.len());
        add(rest);
        if rest.len() < self.unit {
            return Ok(());
        }
        let mut unit = std::mem::take(rest);
        let category = self.content.category.take().unwrap_or_default();
        self.whole(category, &unit)?;
        unit.clear();
        self.content.partial = unit;
        Ok(())
    }

    /// Stores a whole unit.
    fn whole(&mut self, category: Category, bytes: &[u8]) -> Result<()> {
        self.content.has_units = true;
        let mut anchors = std::mem::take(&mut self.content.anchors);
        if !is_zero(bytes) {
            self.store(category, Arc::new(bytes.to_vec()), &anchors, false)?;
            anchors.clear();
            self.content.anchors = anchors;
            return Ok(());
        }
        if self.holes {
            self.skip(bytes.len() as u64);
            return Ok(());
        }
        self.zeros()
    }

    /// Stores a unit of zeros; all of them share one buffer.
    fn zeros(&mut self) -> Result<()> {
        let next = BlockId(self.result.segments);
        let (zeros, first) = match &self.zeros {
            Some((zeros, first)) => (Arc::clone(zeros), *first),
            None => (Arc::new(vec![0; self.unit]), next),
        };
        self.zeros = Some((Arc::clone(&zeros), first));
        let mut repeats = self.repeats(&zeros, &[])?;
        if self.repeats.is_some() && first != next {
            repeats.push(Repeat {
                start: 0,
                len: zeros.len() as u32,
                block: first,
                offset: 0,
            });
        }
        self.emit(Category::Default, zeros, repeats, false)
    }

    /// Emits a segment of the current content; `ends` marks the last one.
    fn store(
        &mut self,
        category: Category,
        data: Arc<Vec<u8>>,
        anchors: &[Anchor],
        ends: bool,
    ) -> Result<()> {
        let repeats = self.repeats(&data, anchors)?;
        self.emit(category, data, repeats, ends)
    }

    /// Returns the repeats of the next segment, if they are searched.
    fn repeats(&mut self, data: &Arc<Vec<u8>>, anchors: &[Anchor]) -> Result<Vec<Repeat>> {
        match &mut self.repeats {
            Some(search) => search.find(data, anchors),
            None => Ok(Vec::new()),
        }
    }

    fn emit(
        &mut self,
        category: Category,
        data: Arc<Vec<u8>>,
        repeats: Vec<Repeat>,
        ends: bool,
    ) -> Result<()> {
        let sequence = self.result.number()?;
        let is_first = self.result.extents.len() == self.content.first_extent;
        let preceded = if self.content.has_hole {
            Preceded::ByHole
        } else if is_first {
            Preceded::ByNothing
        } else {
            Preceded::BySegments
        };
        self.result.extents.push(MapExtent::Data {
            block: BlockId(sequence),
            offset: 0,
            len: data.len() as u32,
        });
        (self.emit)(Segment {
            sequence,
            category,
            data,
            unit: Some(UnitInfo {
                is_fragment: false,
                ends_content: ends,
                preceded,
                align: self.content.layout.align.take(),
                repeats,
            }),
            begins: Vec::new(),
        })
    }

    /// Adds a hole to the extents of the current content, or extends the last one if it is a hole.
    fn skip(&mut self, len: u64) {
        self.content.has_hole |= len > 0;
        let first = self.content.first_extent;
        if let Some(MapExtent::Hole { len: last }) = self.result.extents[first..].last_mut() {
            *last += len;
        } else if len > 0 {
            self.result.extents.push(MapExtent::Hole { len });
        }
    }

    /// Refers to a fragment that contains the tail of the current content, or puts it into one.
    fn refer_or_share(
        &mut self,
        category: Category,
        bytes: &[u8],
        anchors: &[Anchor],
    ) -> Result<()> {
        let Some(ends) = &mut self.tails_stored else {
            return self.share(category, bytes, anchors);
        };
        let open = &self.open;
        let of_open = |number| {
            let fragment = open.iter().find(|open| open.number == number);
            fragment.map(|open| &open.bytes[..])
        };
        let found = ends.find(bytes, of_open)?;
        let found = found.and_then(|found| self.usable(bytes.len(), found));
        let Some(found) = found else {
            return self.share(category, bytes, anchors);
        };
        let front = bytes.len() - found.len;
        if front > 0 {
            let count = anchors.partition_point(|anchor| anchor.end as usize <= front);
            let data = Arc::new(bytes[..front].to_vec());
            self.store(category, data, &anchors[..count], false)?;
        }
        self.result.matched += found.len as u64;
        self.refer(found);
        Ok(())
    }

    /// Returns the part of a match that a tail of `len` bytes may refer to.
    fn usable(&self, len: usize, found: TailMatch) -> Option<TailMatch> {
        if found.len == len {
            return Some(found);
        }
        let TailSharing::Suffix { align, least } = self.sharing else {
            return None;
        };
        let front = (len - found.len).next_multiple_of(align.max(1) as usize);
        let rest = len.checked_sub(front)?;
        (rest >= least as usize).then(|| TailMatch {
            offset: found.offset + (found.len - rest) as u32,
            len: rest,
            ..found
        })
    }

    /// Adds an extent of bytes that a fragment contains.
    fn refer(&mut self, found: TailMatch) {
        let known = self
            .tails_stored
            .as_ref()
            .and_then(|ends| ends.block(found.fragment));
        let of_number = |open: &&mut Fragment| open.number == found.fragment;
        if let (None, Some(open)) = (known, self.open.iter_mut().find(of_number)) {
            open.extents.push(self.result.extents.len());
        }
        self.result.extents.push(MapExtent::Data {
            // set when the fragment is complete
            block: known.unwrap_or(BlockId(u32::MAX)),
            offset: found.offset,
            len: found.len as u32,
        });
    }

    /// Puts the tail of the current content into the fragment of its category.
    fn share(&mut self, category: Category, bytes: &[u8], anchors: &[Anchor]) -> Result<()> {
        let of_category = |open: &Fragment| open.category == category;
        if let Some(index) = self.open.iter().position(of_category)
            && self.open[index].bytes.len() + bytes.len() > self.unit
        {
            self.seal(index)?;
        }
        let index = match self.open.iter().position(of_category) {
            Some(index) => index,
            None => {
                let number = self.tails_stored.as_mut().map_or(0, TailIndex::open);
                self.open.push(Fragment {
                    category,
                    number,
                    bytes: Vec::new(),
                    anchors: Vec::new(),
                    extents: Vec::new(),
                });
                self.open.len() - 1
            }
        };
        let fragment = &mut self.open[index];
        let offset = fragment.bytes.len() as u32;
        fragment.bytes.extend_from_slice(bytes);
        let moved = |anchor: &Anchor| Anchor {
            end: anchor.end + offset,
            ..*anchor
        };
        fragment.anchors.extend(anchors.iter().map(moved));
        if let Some(ends) = &mut self.tails_stored {
            ends.note(bytes, fragment.number, offset + bytes.len() as u32);
        }
        fragment.extents.push(self.result.extents.len());
        let full = fragment.bytes.len() == self.unit;
        self.result.extents.push(MapExtent::Data {
            // set when the fragment is complete
            block: BlockId(u32::MAX),
            offset,
            len: bytes.len() as u32,
        });
        if full { self.seal(index) } else { Ok(()) }
    }

    /// Emits an open fragment as a segment.
    fn seal(&mut self, index: usize) -> Result<()> {
        let fragment = self.open.remove(index);
        let sequence = self.result.number()?;
        for extent in fragment.extents {
            if let MapExtent::Data { block, .. } = &mut self.result.extents[extent] {
                *block = BlockId(sequence);
            }
        }
        let data = Arc::new(fragment.bytes);
        if let Some(ends) = &mut self.tails_stored {
            ends.close(fragment.number, BlockId(sequence), &data)?;
        }
        let repeats = self.repeats(&data, &fragment.anchors)?;
        (self.emit)(Segment {
            sequence,
            category: fragment.category,
            data,
            unit: Some(UnitInfo {
                is_fragment: true,
                repeats,
                ..UnitInfo::default()
            }),
            begins: Vec::new(),
        })
    }
}

/// Returns whether all bytes are zeros: at once if the first is not, else by comparing the bytes
/// with themselves, shifted by one.
fn is_zero(bytes: &[u8]) -> bool {
    match bytes.split_first() {
        Some((&first, rest)) => first == 0 && rest == &bytes[..rest.len()],
        None => true,
    }
}
