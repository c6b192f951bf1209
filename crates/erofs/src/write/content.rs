//! Where the content of files is: in a row of blocks and behind the inode, in extents, or in the packed
//! inode.
//!
//! In: what was put and the content map. Out: for each file what its inode tells.
//! **Invariant:** the map follows the geometry that the writer asked for, or that is an error.

use std::collections::BTreeMap;

use model::{ContentMap, Error, MapExtent, Result};
use zerocopy::FromZeros;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32};

use super::BLOCK;
use crate::layout::compressed::{ExtentRecord, MapHeader, advise};

/// A unit in the image.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    /// Where it begins.
    pub(super) start: u64,
    /// Stored bytes, without an end that was kept back.
    pub(super) stored: u32,
    /// Bytes of content.
    pub(super) raw: u32,
}

const _: () = assert!(size_of::<Placed>() == 16);

/// All units, and how files are made of them.
#[derive(Debug, Default)]
pub(super) struct Units {
    pub(super) placed: Vec<Placed>,
    /// Bytes of a whole unit.
    pub(super) unit: u32,
    /// The algorithm's number plus one; 0 if nothing is compressed.
    pub(super) format: u32,
    /// Ends of content that will be behind inodes, one after the other.
    pub(super) ends: Vec<u8>,
    /// The units that have such ends, and where they begin in `ends`.
    pub(super) end_starts: Vec<(u32, u64)>,
    /// Where the ends of files with holes were written after all.
    pub(super) late: BTreeMap<u32, u64>,
    /// The units that are fragments, and where they are in the packed inode.
    pub(super) packed: Vec<(u32, u64)>,
}

/// How an inode tells where content is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Body<'a> {
    /// In a row of blocks from this one on, and behind the inode.
    Flat(u64, &'a [u8]),
    /// In the packed inode, from this byte on.
    Packed(u64),
    /// In extents.
    Extents(Vec<Extent>),
}

/// Bytes of a file that are stored together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    /// Where they begin in the file.
    logical: u64,
    /// Where they are stored.
    start: u64,
    /// Stored bytes; 0 for a hole.
    stored: u32,
    /// The algorithm's number plus one; 0 if not compressed.
    format: u32,
}

/// The content of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Content<'a> {
    /// Its bytes.
    pub(super) size: u64,
    pub(super) body: Body<'a>,
}

impl Units {
    /// Tells whether content is compressed.
    fn compresses(&self) -> bool {
        self.format != 0
    }

    /// Finds the fragment and the offset in there if a list is nothing else.
    fn fragment(&self, extents: &[MapExtent]) -> Option<(u32, u32)> {
        match *extents {
            [MapExtent::Data { block, offset, len }] if self.compresses() && len < self.unit => {
                Some((block.0, offset))
            }
            _ => None,
        }
    }

    /// Lays out the packed inode and tells its content; `None` if there are no fragments.
    pub(super) fn pack(&mut self, map: &ContentMap) -> Result<Option<Content<'static>>> {
        let lists = (0..map.list_count()).map(|list| map.list(list));
        let mut blocks: Vec<u32> = lists
            .filter_map(|list| Some(self.fragment(list)?.0))
            .collect();
        blocks.sort_unstable();
        blocks.dedup();
        let (mut size, mut extents) = (0, Vec::with_capacity(blocks.len()));
        for block in blocks {
            let placed = *self.placed(block)?;
            extents.push(self.extent(size, &placed));
            self.packed.push((block, size));
            size += u64::from(placed.raw);
        }
        let body = Body::Extents(extents);
        Ok((size > 0).then_some(Content { size, body }))
    }

    /// Lists the ends that have to be written after all, as their files have holes.
    pub(super) fn ends_behind_holes(&self, map: &ContentMap) -> Result<Vec<(u32, &[u8])>> {
        let mut ends = BTreeMap::new();
        for list in 0..map.list_count() {
            let extents = map.list(list);
            if let Some(MapExtent::Data { block, .. }) = extents.last()
                && has_holes(extents)
            {
                ends.insert(block.0, self.end(block.0)?);
            }
        }
        Ok(ends
            .into_iter()
            .filter(|(_, end)| !end.is_empty())
            .collect())
    }

    /// Finds the content of a file.
    pub(super) fn content(&self, extents: &[MapExtent]) -> Result<Content<'_>> {
        let size = extents.iter().map(extent_len).sum();
        let body = if let Some((block, offset)) = self.fragment(extents) {
            let at = self.packed.binary_search_by_key(&block, |entry| entry.0);
            let (_, start) = at
                .ok()
                .and_then(|at| self.packed.get(at))
                .ok_or_else(wrong)?;
            Body::Packed(start + u64::from(offset))
        } else if size > 0 && (self.compresses() || has_holes(extents)) {
            Body::Extents(self.extents(extents)?)
        } else {
            self.flat(extents)?
        };
        Ok(Content { size, body })
    }

    fn flat(&self, extents: &[MapExtent]) -> Result<Body<'_>> {
        let (mut first, mut next, mut end) = (None, 0, &[][..]);
        for extent in extents {
            let &MapExtent::Data { block, offset, len } = extent else {
                return Err(wrong());
            };
            let placed = self.placed(block.0)?;
            let follows = first.is_none() || (placed.start == next && end.is_empty());
            if offset != 0 || len != placed.raw || !follows {
                return Err(wrong());
            }
            first = first.or(Some(placed.start / BLOCK));
            next = placed.start + u64::from(placed.stored);
            end = self.end(block.0)?;
        }
        Ok(Body::Flat(first.unwrap_or(0), end))
    }

    fn extents(&self, extents: &[MapExtent]) -> Result<Vec<Extent>> {
        let (mut found, mut logical) = (Vec::with_capacity(extents.len()), 0);
        for extent in extents {
            match *extent {
                MapExtent::Hole { .. } => found.push(Extent {
                    logical,
                    start: 0,
                    stored: 0,
                    format: 0,
                }),
                MapExtent::Data { block, offset, len } => {
                    let placed = self.placed(block.0)?;
                    if offset != 0 || len != placed.raw {
                        return Err(wrong());
                    }
                    self.unit_extents(block.0, placed, logical, &mut found)?;
                }
            }
            logical += extent_len(extent);
        }
        Ok(found)
    }

    /// Adds the extents of one unit: two if its end is elsewhere.
    fn unit_extents(
        &self,
        block: u32,
        placed: &Placed,
        logical: u64,
        found: &mut Vec<Extent>,
    ) -> Result<()> {
        let end = self.end(block)?.len() as u32;
        if end < placed.raw {
            let body = Placed {
                raw: placed.raw - end,
                ..*placed
            };
            found.push(self.extent(logical, &body));
        }
        if end > 0 {
            let &start = self.late.get(&block).ok_or_else(wrong)?;
            let end = Placed {
                start,
                stored: end,
                raw: end,
            };
            found.push(self.extent(logical + u64::from(placed.raw - end.raw), &end));
        }
        Ok(())
    }

    fn extent(&self, logical: u64, placed: &Placed) -> Extent {
        let is_raw = placed.stored >= placed.raw;
        Extent {
            logical,
            start: placed.start,
            stored: placed.stored.min(placed.raw),
            format: if is_raw { 0 } else { self.format },
        }
    }

    /// Tells the end of a unit that was kept back; empty if there is none.
    fn end(&self, block: u32) -> Result<&[u8]> {
        let Ok(at) = self
            .end_starts
            .binary_search_by_key(&block, |entry| entry.0)
        else {
            return Ok(&[]);
        };
        let start = self.end_starts.get(at).map_or(0, |entry| entry.1);
        let len = u64::from(self.placed(block)?.raw) % BLOCK;
        let start = usize::try_from(start).map_err(|_| wrong())?;
        let end = self
            .ends
            .get(start..)
            .and_then(|rest| rest.get(..len as usize));
        end.ok_or_else(wrong)
    }

    fn placed(&self, block: u32) -> Result<&Placed> {
        let placed = self.placed.get(block as usize);
        placed.ok_or_else(|| Error::invalid(format!("the map has block {block}, never put")))
    }
}

/// Tells the bytes from an inode's end on, which lies at a multiple of 4, to the end of the map of
/// extents; records lie at multiples of their size.
pub(super) fn extents_len(from: u64, size: u64, count: usize) -> u64 {
    let record = record_len(size);
    let header =
        from.next_multiple_of(size_of::<MapHeader>() as u64) + size_of::<MapHeader>() as u64;
    header.next_multiple_of(record) + record * count as u64 - from
}

/// Tells the length of a record for a file of so many bytes.
fn record_len(size: u64) -> u64 {
    match u32::try_from(size) {
        Ok(_) => 16,
        Err(_) => size_of::<ExtentRecord>() as u64,
    }
}

/// Appends a map of extents to an inode that begins at a multiple of the records' size.
pub(super) fn write_extents(size: u64, extents: &[Extent], to: &mut Vec<u8>) {
    let record = record_len(size) as usize;
    let shift = (record / 4).trailing_zeros() as u16;
    let count = extents.len() as u64;
    let [a, b, c, d, e, f, ..] = count.to_le_bytes();
    let header = MapHeader {
        low: U32::from_bytes([a, b, c, d]),
        advise: U16::new(advise::EXTENTS | shift << advise::EXTENT_SIZE_SHIFT),
        algorithms: e,
        cluster_bits: f,
    };
    to.resize(to.len().next_multiple_of(size_of::<MapHeader>()), 0);
    to.extend_from_slice(header.as_bytes());
    to.resize(to.len().next_multiple_of(record), 0);
    for extent in extents {
        let word = |value: u64, high: bool| match high {
            false => U32::new((value & u64::from(u32::MAX)) as u32),
            true => U32::new((value >> 32) as u32),
        };
        let mut raw = ExtentRecord::new_zeroed();
        raw.stored = U32::new(extent.stored | extent.format << ExtentRecord::FORMAT_SHIFT);
        raw.start = word(extent.start, false);
        raw.start_high = word(extent.start, true);
        raw.logical = word(extent.logical, false);
        raw.logical_high = word(extent.logical, true);
        let bytes = raw.as_bytes();
        to.extend_from_slice(bytes.get(..record).unwrap_or(bytes));
    }
}

/// Appends the map of a file that is in the packed inode.
pub(super) fn write_packed(offset: u64, to: &mut Vec<u8>) {
    to.resize(to.len().next_multiple_of(size_of::<MapHeader>()), 0);
    to.extend_from_slice(&(offset | 1 << 63).to_le_bytes());
}

/// Tells the stored bytes of extents.
pub(super) fn stored(extents: &[Extent]) -> u64 {
    extents.iter().map(|extent| u64::from(extent.stored)).sum()
}

fn extent_len(extent: &MapExtent) -> u64 {
    match *extent {
        MapExtent::Data { len, .. } => u64::from(len),
        MapExtent::Hole { len } => len,
    }
}

fn has_holes(extents: &[MapExtent]) -> bool {
    extents
        .iter()
        .any(|extent| matches!(extent, MapExtent::Hole { .. }))
}

#[cold]
fn wrong() -> Error {
    Error::invalid("the map does not follow the geometry")
}
