//! Where the content of files is: in a row of blocks and behind the inode, in extents, in clusters, or in
//! the packed inode.
//!
//! In: what was put and the content map. Out: for each file what its inode tells.
//! **Invariant:** the map follows the geometry that the writer asked for, or that is an error.

use std::collections::BTreeMap;

use sinterfs_model::{ContentMap, Error, MapExtent, Result};

use super::BLOCK;
use super::chunk_map::{Chunks, Pieces};
use super::cluster_map::Clusters;
use super::encoded::Part;
use super::extent_map::Extent;
use super::options::Form;
use super::packed_tails::Rest;
use super::unit_table::{Placed, Units, inline_len};
use crate::layout::compressed::MapHeader;
use crate::read::Algorithm;

/// How an inode tells where content is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Body<'a> {
    /// In a row of blocks from this one on, and behind the inode.
    Flat(u64, &'a [u8]),
    /// In the packed inode, from this byte on.
    Packed(u64),
    /// In extents.
    Extents(Vec<Extent>),
    /// In clusters.
    Clusters(Clusters, &'a [u8]),
    /// In chunks.
    Chunks(Chunks),
}

/// The content of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Content<'a> {
    /// Its bytes.
    pub(super) size: u64,
    pub(super) body: Body<'a>,
}

impl Units {
    /// Returns whether an extent of so many bytes, one of so many of its list, is in a fragment.
    fn is_shared(&self, len: u32, count: usize) -> bool {
        len < self.unit && self.tails.shares(u64::from(len), count > 1)
    }

    /// Returns whether all of a content is in the packed inode for itself, in a row of units.
    fn is_all_packed(&self, extents: &[MapExtent]) -> bool {
        self.all_packed && !extents.is_empty() && !has_holes(extents)
    }

    /// Returns where what a content leaves is, and how much of it that is.
    fn left(&self, extents: &[MapExtent]) -> Option<Rest> {
        match *extents.last()? {
            MapExtent::Data { block, .. } => self.rest(block.0),
            MapExtent::Hole { .. } => None,
        }
    }

    /// Returns whether content is in a row of blocks, and its end maybe behind the inode.
    fn is_flat(&self, extents: &[MapExtent]) -> bool {
        match self.form {
            _ if extents.is_empty() => true,
            Form::Plain => !has_holes(extents),
            Form::Chunks => !self.apart && self.is_row(extents),
            Form::Extents => false,
            Form::Clusters if self.left(extents).is_some() => false,
            Form::Clusters => extents.iter().all(|extent| match *extent {
                MapExtent::Data { block, len, .. } => {
                    !self.is_shared(len, extents.len()) && self.is_as_it_is(block.0)
                }
                MapExtent::Hole { .. } => false,
            }),
        }
    }

    /// Returns whether content is in blocks that follow each other, all of it.
    fn is_row(&self, extents: &[MapExtent]) -> bool {
        let mut next = None;
        extents.iter().all(|extent| {
            let Ok((_, placed)) = self.whole(extent) else {
                return false;
            };
            let end = placed.start + u64::from(placed.stored);
            next.replace(end).is_none_or(|next| next == placed.start)
        })
    }

    /// Returns the chunks of a content that is not in a row of blocks.
    fn chunks(&self, extents: &[MapExtent]) -> Result<Chunks> {
        let mut pieces = Pieces::new(self.apart);
        // addresses on a device count from its own beginning
        let before = if self.apart { BLOCK } else { 0 };
        for extent in extents {
            let start = match extent {
                MapExtent::Hole { .. } => None,
                // an end is kept back only of what is in a row
                MapExtent::Data { .. } => Some(self.whole(extent)?.1.start - before),
            };
            pieces.push(extent_len(extent), start);
        }
        pieces.chunks()
    }

    /// Returns whether a unit was not cut.
    fn is_as_it_is(&self, block: u32) -> bool {
        match &self.parts {
            Some(parts) => parts.get(block).is_some_and(|encoded| encoded.is_flat),
            None => self.pieces(block).is_empty(),
        }
    }

    /// Lays out the packed inode and tells its content; `None` if there are no fragments.
    pub(super) fn pack(&mut self, map: &ContentMap) -> Result<Option<Content<'static>>> {
        let blocks = self.packed_blocks(map);
        self.packed.clear();
        let (mut extents, mut clusters) = (Vec::new(), self.no_clusters());
        let mut size = 0;
        for block in blocks {
            let placed = *self.placed(block)?;
            self.packed.push((block, size));
            size += match self.form {
                Form::Clusters => self.unit_clusters(block, &placed, &mut clusters)?,
                Form::Plain | Form::Chunks | Form::Extents => {
                    self.unit_extents(block, &placed, size, &mut extents)?;
                    u64::from(placed.raw)
                }
            };
        }
        self.rests_from = size;
        for (start, pieces) in self.groups() {
            let mut number = start / BLOCK;
            for piece in pieces {
                clusters.push(piece.raw_len, number, piece.stored_len)?;
                number += u64::from(piece.stored_len) / BLOCK;
                size += u64::from(piece.raw_len);
            }
        }
        if let Some(behind) = self.behind_packed.filter(|_| size > 0) {
            match self.form {
                Form::Clusters => clusters.push(behind.raw, behind.start / BLOCK, BLOCK as u32)?,
                _ => extents.push(self.extent(size, &behind)),
            }
            size += u64::from(behind.raw);
        }
        let body = match self.form {
            Form::Clusters => Body::Clusters(clusters, &[]),
            Form::Plain | Form::Chunks | Form::Extents => Body::Extents(extents),
        };
        Ok((size > 0).then_some(Content { size, body }))
    }

    /// Lists the units that the packed inode has, in order.
    fn packed_blocks(&self, map: &ContentMap) -> Vec<u32> {
        let lists = (0..map.list_count()).map(|list| map.list(list));
        let mut blocks = Vec::new();
        for extents in lists {
            let is_packed = |len| match self.all_packed {
                true => self.is_all_packed(extents),
                false => self.is_shared(len, extents.len()),
            };
            let from = match self.all_packed {
                true => 0,
                false => extents.len().saturating_sub(1),
            };
            blocks.extend(
                extents
                    .iter()
                    .skip(from)
                    .filter_map(|extent| match *extent {
                        MapExtent::Data { block, len, .. } => is_packed(len).then_some(block.0),
                        MapExtent::Hole { .. } => None,
                    }),
            );
        }
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }

    /// Lists the ends that have to be written after all, as their files are not in a row of blocks.
    pub(super) fn homeless_ends(&self, map: &ContentMap) -> Result<Vec<(u32, &[u8])>> {
        let mut ends = BTreeMap::new();
        for list in 0..map.list_count() {
            let extents = map.list(list);
            if let Some(MapExtent::Data { block, .. }) = extents.last()
                && !self.is_flat(extents)
                && self.is_as_it_is(block.0)
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
        let body = match *extents {
            [MapExtent::Data { block, offset, .. }, ..] if self.is_all_packed(extents) => {
                Body::Packed(self.packed_at(block.0, offset)?)
            }
            [MapExtent::Data { block, offset, len }] if self.is_shared(len, 1) => {
                Body::Packed(self.packed_at(block.0, offset)?)
            }
            [MapExtent::Data { block, len, .. }]
                if self.rest(block.0).is_some_and(|rest| rest.len == len) =>
            {
                let offset = self.rest(block.0).map_or(0, |rest| rest.offset);
                Body::Packed(self.rests_from + offset)
            }
            _ if self.is_flat(extents) => self.flat(extents)?,
            _ if self.form == Form::Clusters => {
                let (clusters, end) = self.clusters(extents)?;
                Body::Clusters(clusters, end)
            }
            _ if self.form == Form::Chunks => Body::Chunks(self.chunks(extents)?),
            _ => Body::Extents(self.extents(extents)?),
        };
        Ok(Content { size, body })
    }

    /// Returns where a byte of a fragment is in the packed inode.
    fn packed_at(&self, block: u32, offset: u32) -> Result<u64> {
        let at = self.packed.binary_search_by_key(&block, |entry| entry.0);
        let entry = at.ok().and_then(|at| self.packed.get(at));
        let (_, start) = entry.ok_or_else(wrong)?;
        Ok(start + u64::from(offset))
    }

    fn flat(&self, extents: &[MapExtent]) -> Result<Body<'_>> {
        let (mut first, mut next, mut end) = (None, 0, &[][..]);
        for extent in extents {
            let (block, placed) = self.whole(extent)?;
            if first.is_some() && (placed.start != next || !end.is_empty()) {
                return Err(wrong());
            }
            first = first.or(Some(placed.start / BLOCK));
            next = placed.start + u64::from(placed.stored);
            end = self.end(block)?;
        }
        Ok(Body::Flat(first.unwrap_or(0), end))
    }

    fn no_clusters(&self) -> Clusters {
        Clusters::new(self.algorithm.map_or(0, Algorithm::number), self.big)
    }

    /// Returns the clusters of a file, and what of the last one is behind the inode.
    fn clusters(&self, extents: &[MapExtent]) -> Result<(Clusters, &[u8])> {
        let (mut clusters, mut end) = (self.no_clusters(), &[][..]);
        for (at, extent) in (1..).zip(extents) {
            match *extent {
                MapExtent::Data { block, offset, len }
                    if at == extents.len() && self.is_shared(len, extents.len()) =>
                {
                    clusters.end_in_packed(len, self.packed_at(block.0, offset)?)?;
                }
                _ => {
                    let (block, placed) = self.whole(extent)?;
                    self.unit_clusters(block, placed, &mut clusters)?;
                    end = match clusters.has_inline() {
                        true => self.end(block)?,
                        false => &[],
                    };
                }
            }
        }
        if let Some(rest) = self.left(extents) {
            clusters.end_in_packed(rest.len, self.rests_from + rest.offset)?;
        }
        Ok((clusters, end))
    }

    /// Adds the clusters of one unit, and tells the bytes of content that they have.
    fn unit_clusters(&self, block: u32, placed: &Placed, to: &mut Clusters) -> Result<u64> {
        if let Some(parts) = &self.parts {
            let encoded = parts.get(block).ok_or_else(wrong)?;
            let len = self.unit_parts(&encoded.parts, to)?;
            let Some(piece) = encoded.inline else {
                return Ok(len);
            };
            let end = self.end(block)?.len() as u32;
            let after = (placed.start + u64::from(placed.stored)) / BLOCK;
            match self.late.get(&block) {
                Some(late) => to.push(piece.raw_len, late / BLOCK, BLOCK as u32)?,
                // there was no room, and its block is the last one
                None if end == 0 => to.push(piece.raw_len, after - 1, BLOCK as u32)?,
                None => to.end_inline(piece.raw_len, end)?,
            }
            return Ok(len + u64::from(piece.raw_len));
        }
        let pieces = self.pieces(block);
        let (mut at, mut len) = (0, 0);
        for piece in pieces {
            match inline_len(piece) {
                Some(len) => to.end_inline(piece.raw_len, len)?,
                None => {
                    let number = self.place_of(block, at)? / BLOCK;
                    to.push(piece.raw_len, number, piece.stored_len)?;
                }
            }
            at += piece.stored_len;
            len += u64::from(piece.raw_len);
        }
        if !pieces.is_empty() {
            return Ok(len);
        }
        let mut number = placed.start / BLOCK;
        let end = self.end(block)?.len() as u32;
        let left = self.rest(block).map_or(0, |rest| rest.len);
        let whole = u64::from(placed.raw.saturating_sub(end + left));
        while len < whole {
            let raw = (whole - len).min(BLOCK);
            to.push(raw as u32, number, BLOCK as u32)?;
            number += 1;
            len += raw;
        }
        if end > 0 {
            let late = self.late.get(&block).ok_or_else(wrong)?;
            to.push(end, late / BLOCK, BLOCK as u32)?;
        }
        Ok(len + u64::from(end))
    }

    /// Adds the parts of one unit, and tells the bytes of content that they have.
    fn unit_parts(&self, parts: &[Part], to: &mut Clusters) -> Result<u64> {
        for part in parts {
            let number = self.place_of(part.unit, part.at)? / BLOCK;
            to.push_part(part, number)?;
        }
        Ok(parts.last().map_or(0, |part| u64::from(part.end())))
    }

    fn extents(&self, extents: &[MapExtent]) -> Result<Vec<Extent>> {
        let (mut found, mut logical) = (Vec::with_capacity(extents.len()), 0);
        for extent in extents {
            match extent {
                MapExtent::Hole { .. } => found.push(Extent {
                    logical,
                    start: 0,
                    stored: 0,
                    format: 0,
                    partial: false,
                }),
                MapExtent::Data { .. } => {
                    let (block, placed) = self.whole(extent)?;
                    self.unit_extents(block, placed, logical, &mut found)?;
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
        if let Some(parts) = &self.parts {
            for part in parts.get(block).ok_or_else(wrong)?.parts.iter() {
                let whole = Placed {
                    start: self.place_of(part.unit, part.at)?,
                    stored: part.stored,
                    raw: part.whole,
                };
                found.push(Extent {
                    partial: part.is_partial(),
                    ..self.extent(logical + u64::from(part.start), &whole)
                });
            }
            return Ok(());
        }
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
        // the algorithm's number plus one
        let format = |algorithm: Algorithm| u32::from(algorithm.number()) + 1;
        Extent {
            logical,
            start: placed.start,
            stored: placed.stored.min(placed.raw),
            format: self.algorithm.filter(|_| !is_raw).map_or(0, format),
            partial: false,
        }
    }

    /// Finds the unit that an extent is all of.
    fn whole(&self, extent: &MapExtent) -> Result<(u32, &Placed)> {
        let &MapExtent::Data { block, offset, len } = extent else {
            return Err(wrong());
        };
        let placed = self.placed(block.0)?;
        match offset == 0 && len == placed.raw {
            true => Ok((block.0, placed)),
            false => Err(wrong()),
        }
    }
}

/// Appends the map of a file that is in the packed inode.
pub(super) fn write_packed(offset: u64, to: &mut Vec<u8>) {
    to.resize(to.len().next_multiple_of(size_of::<MapHeader>()), 0);
    to.extend_from_slice(&(offset | 1 << 63).to_le_bytes());
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
pub(super) fn wrong() -> Error {
    Error::invalid("the map does not follow the geometry")
}
