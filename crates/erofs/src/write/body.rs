//! Where the content of files is: in a row of blocks and behind the inode, in extents, in
//! pclusters, in chunks, or in the packed inode.
//!
//! In: the tables of content and the content map. Out: for each file what its inode records.
//! **Invariant:** the map follows the geometry that the writer asked for, or that is an error.

use std::borrow::Cow;
use std::collections::BTreeMap;

use sinterfs_model::{ContentMap, MapExtent, Result};

use super::chunk_map::{ChunkMap, ChunkPieces};
use super::cluster_map::ClusterMap;
use super::content_tables::ContentTables;
use super::extent_map::ExtentEntry;
use super::limits::BLOCK;
use super::options::Form;
use super::packed_tails::SharedTail;
use super::unit_table::{PlacedUnit, map_violates_geometry};
use crate::read::Algorithm;

/// Where the content of an inode is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// In a row of blocks from this one on.
    Flat(u64),
    /// In the packed inode, from this byte on.
    Packed(u64),
    /// In extents.
    Extents(Vec<ExtentEntry>),
    /// In pclusters.
    Clusters(ClusterMap),
    /// In chunks.
    Chunks(ChunkMap),
}

/// The content of an inode.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Content<'a> {
    /// Its length in bytes.
    pub(super) size: u64,
    pub(super) body: Body,
    /// Its inline tail.
    pub(super) tail: Cow<'a, [u8]>,
}

/// Finds the content of a file.
pub(super) fn content<'a>(tables: &'a ContentTables, extents: &[MapExtent]) -> Result<Content<'a>> {
    let size = extents.iter().map(extent_len).sum();
    let (body, tail) = if let Some(offset) = packed_offset(tables, extents)? {
        (Body::Packed(offset), &[][..])
    } else if is_flat(tables, extents) {
        flat(tables, extents)?
    } else if tables.options.form() == Form::Chunks {
        (Body::Chunks(chunks(tables, extents)?), &[][..])
    } else {
        mapped(tables, extents)?
    };
    let tail = tail.into();
    Ok(Content { size, body, tail })
}

/// Lays out the packed inode.
pub(super) fn place_fragments(tables: &mut ContentTables, map: &ContentMap) -> Result<()> {
    let fragments = fragments(tables, map).into_iter();
    let fragments = fragments.map(|unit| Ok((unit, tables.layout(unit)?.len())));
    let fragments = fragments.collect::<Result<_>>()?;
    tables.packed.place(fragments);
    Ok(())
}

/// Returns the content of the packed inode; `None` if there is none.
pub(super) fn packed_content(tables: &ContentTables) -> Result<Option<Content<'static>>> {
    let mut maps = Maps::new(tables);
    for unit in tables.packed.fragments() {
        maps.push_unit(tables, unit)?;
    }
    for (start, pieces) in &tables.packed.groups {
        let mut block = start / BLOCK;
        for piece in pieces {
            maps.clusters
                .push(piece.decoded_len, block, piece.stored_len)?;
            block += u64::from(piece.stored_len) / BLOCK;
            maps.size += u64::from(piece.decoded_len);
        }
    }
    if let Some((start, len)) = tables.packed.prefixes.filter(|_| maps.size > 0) {
        maps.push_stored(start, len)?;
    }
    let size = maps.size;
    Ok((size > 0).then(|| Content {
        size,
        body: maps.into_body(),
        tail: Cow::default(),
    }))
}

/// Lists the inline tails that have to be written after all, as their files are not in a row of
/// blocks, by unit.
pub(super) fn homeless_tails<'a>(
    tables: &'a ContentTables,
    map: &ContentMap,
) -> BTreeMap<u32, &'a [u8]> {
    let mut tails = BTreeMap::new();
    for list in 0..map.list_count() {
        let extents = map.list(list);
        if let Some(MapExtent::Data { block, .. }) = extents.last()
            && tables.is_flat_unit(block.0)
            && !is_flat(tables, extents)
        {
            tails.insert(block.0, tables.inline_tails.get(block.0));
        }
    }
    tails.retain(|_, tail| !tail.is_empty());
    tails
}

/// Returns whether an extent of so many bytes, one of `count`, is a fragment.
fn is_fragment(tables: &ContentTables, len: u32, count: usize) -> bool {
    let options = &tables.options;
    len < options.unit() && options.tails().is_in_fragment(u64::from(len), count > 1)
}

/// Returns whether all of a content is in the packed inode, in a row of units of its own.
fn is_all_packed(tables: &ContentTables, extents: &[MapExtent]) -> bool {
    tables.options.packs_all() && !extents.is_empty() && !has_holes(extents)
}

/// Returns where the shared tail of a content is, if it has one.
fn shared_tail(tables: &ContentTables, extents: &[MapExtent]) -> Option<SharedTail> {
    match *extents.last()? {
        MapExtent::Data { block, .. } => tables.shared_tail(block.0),
        MapExtent::Hole { .. } => None,
    }
}

/// Returns the offset of a content in the packed inode, if all of it is there.
fn packed_offset(tables: &ContentTables, extents: &[MapExtent]) -> Result<Option<u64>> {
    let Some(&MapExtent::Data { block, offset, len }) = extents.first() else {
        return Ok(None);
    };
    let is_only = extents.len() == 1;
    if is_all_packed(tables, extents) || is_only && is_fragment(tables, len, 1) {
        return tables.packed.fragment_offset(block.0, offset).map(Some);
    }
    let tail = tables.shared_tail(block.0).filter(|tail| tail.len == len);
    Ok(tail
        .filter(|_| is_only)
        .map(|tail| tables.packed.tail_offset(tail)))
}

/// Returns whether content is in a row of blocks, maybe with an inline tail.
fn is_flat(tables: &ContentTables, extents: &[MapExtent]) -> bool {
    match tables.options.form() {
        _ if extents.is_empty() => true,
        Form::Plain => !has_holes(extents),
        Form::Chunks => tables.options.device.is_none() && is_row(tables, extents),
        Form::Extents => false,
        Form::Clusters if shared_tail(tables, extents).is_some() => false,
        Form::Clusters => extents.iter().all(|extent| match *extent {
            MapExtent::Data { block, len, .. } => {
                !is_fragment(tables, len, extents.len()) && tables.is_flat_unit(block.0)
            }
            MapExtent::Hole { .. } => false,
        }),
    }
}

/// Returns whether content is in units that follow each other, all of it.
fn is_row(tables: &ContentTables, extents: &[MapExtent]) -> bool {
    let mut next = None;
    extents.iter().all(|extent| {
        let Ok((_, placed)) = whole_unit(tables, extent) else {
            return false;
        };
        next.replace(placed.end())
            .is_none_or(|next| next == placed.start)
    })
}

fn flat<'a>(tables: &'a ContentTables, extents: &[MapExtent]) -> Result<(Body, &'a [u8])> {
    let (mut first, mut next, mut tail) = (None, 0, &[][..]);
    for extent in extents {
        let (unit, placed) = whole_unit(tables, extent)?;
        if first.is_some() && (placed.start != next || !tail.is_empty()) {
            return Err(map_violates_geometry());
        }
        first = first.or(Some(placed.start / BLOCK));
        next = placed.end();
        tail = tables.inline_tails.get(unit);
    }
    Ok((Body::Flat(first.unwrap_or(0)), tail))
}

/// Maps content that is in pclusters or in extents.
fn mapped<'a>(tables: &'a ContentTables, extents: &[MapExtent]) -> Result<(Body, &'a [u8])> {
    let (mut maps, mut inline) = (Maps::new(tables), &[][..]);
    for (number, extent) in (1..).zip(extents) {
        match *extent {
            MapExtent::Hole { len } if !maps.in_blocks => {
                maps.extents.push(ExtentEntry::hole(maps.size));
                maps.size += len;
            }
            MapExtent::Data { block, offset, len }
                if maps.in_blocks
                    && number == extents.len()
                    && is_fragment(tables, len, extents.len()) =>
            {
                let offset = tables.packed.fragment_offset(block.0, offset)?;
                maps.clusters.end_in_packed(len, offset)?;
            }
            _ => {
                let (unit, _) = whole_unit(tables, extent)?;
                maps.push_unit(tables, unit)?;
                if maps.clusters.has_inline() {
                    inline = tables.inline_tails.get(unit);
                }
            }
        }
    }
    if let Some(tail) = shared_tail(tables, extents) {
        let offset = tables.packed.tail_offset(tail);
        maps.clusters.end_in_packed(tail.len, offset)?;
    }
    Ok((maps.into_body(), inline))
}

fn chunks(tables: &ContentTables, extents: &[MapExtent]) -> Result<ChunkMap> {
    let on_device = tables.options.device.is_some();
    let mut pieces = ChunkPieces::new(on_device);
    // addresses on a device count from its own beginning
    let before = if on_device { BLOCK } else { 0 };
    for extent in extents {
        let start = match extent {
            MapExtent::Hole { .. } => None,
            // tails are kept only of what is in a row
            MapExtent::Data { .. } => Some(whole_unit(tables, extent)?.1.start - before),
        };
        pieces.push(extent_len(extent), start);
    }
    pieces.chunks()
}

/// The maps of a content as units are added; by the form one of them stays empty.
struct Maps {
    /// Bytes of content so far.
    size: u64,
    clusters: ClusterMap,
    extents: Vec<ExtentEntry>,
    algorithm: Option<Algorithm>,
    in_blocks: bool,
}

impl Maps {
    fn new(tables: &ContentTables) -> Self {
        let options = &tables.options;
        let algorithm = options.compression.algorithm();
        let number = algorithm.map_or(0, Algorithm::number);
        Self {
            size: 0,
            clusters: ClusterMap::new(number, u64::from(options.block_size) > BLOCK),
            extents: Vec::new(),
            algorithm,
            in_blocks: options.form() == Form::Clusters,
        }
    }

    /// Adds the content of a unit: what it is decoded from, then its tail if that is not shared.
    fn push_unit(&mut self, tables: &ContentTables, unit: u32) -> Result<()> {
        let layout = tables.layout(unit)?;
        for one in layout.refs.iter() {
            let start = tables.units.offset_of(one.unit, one.at)?;
            if self.in_blocks {
                self.clusters.push_ref(one, start / BLOCK)?;
            } else {
                let logical = self.size + u64::from(one.start);
                let entry = ExtentEntry::new(logical, start, one, self.algorithm);
                self.extents.push(entry);
            }
        }
        self.size += u64::from(layout.len_in_refs());
        let Some(tail) = layout.inline else {
            return Ok(());
        };
        if let Some(&start) = tables.inline_tails.homeless.get(&unit) {
            return self.push_stored(start, tail.decoded_len);
        }
        let kept = tables.inline_tails.get(unit).len() as u32;
        if kept == 0 {
            // there was no room for it, so it became the last block of the unit
            let last = tables.units.get(unit)?.end() / BLOCK - 1;
            self.clusters.push(tail.decoded_len, last, BLOCK as u32)?;
        } else if layout.is_flat {
            return Err(map_violates_geometry());
        } else {
            self.clusters.end_inline(tail.decoded_len, kept)?;
        }
        self.size += u64::from(tail.decoded_len);
        Ok(())
    }

    /// Returns the one that content was added to.
    fn into_body(self) -> Body {
        if self.in_blocks {
            Body::Clusters(self.clusters)
        } else {
            Body::Extents(self.extents)
        }
    }

    /// Adds uncompressed content that is stored for itself.
    fn push_stored(&mut self, start: u64, len: u32) -> Result<()> {
        if self.in_blocks {
            self.clusters.push(len, start / BLOCK, BLOCK as u32)?;
        } else {
            let entry = ExtentEntry::uncompressed(self.size, start, len);
            self.extents.push(entry);
        }
        self.size += u64::from(len);
        Ok(())
    }
}

/// Lists the units that are fragments, in order.
fn fragments(tables: &ContentTables, map: &ContentMap) -> Vec<u32> {
    let mut units = Vec::new();
    for list in 0..map.list_count() {
        let extents = map.list(list);
        let unit = |extent: &MapExtent| match *extent {
            MapExtent::Data { block, len, .. } => Some((block.0, len)),
            MapExtent::Hole { .. } => None,
        };
        if !tables.options.packs_all() {
            let last = extents.last().and_then(unit);
            units.extend(
                last.filter(|&(_, len)| is_fragment(tables, len, extents.len()))
                    .map(|(unit, _)| unit),
            );
        } else if is_all_packed(tables, extents) {
            units.extend(extents.iter().filter_map(unit).map(|(unit, _)| unit));
        }
    }
    units.sort_unstable();
    units.dedup();
    units
}

/// Returns the unit that an extent is all of.
fn whole_unit(tables: &ContentTables, extent: &MapExtent) -> Result<(u32, PlacedUnit)> {
    let &MapExtent::Data { block, offset, len } = extent else {
        return Err(map_violates_geometry());
    };
    let placed = tables.units.get(block.0)?;
    if offset == 0 && len == placed.raw {
        Ok((block.0, placed))
    } else {
        Err(map_violates_geometry())
    }
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
