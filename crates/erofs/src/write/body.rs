//! The location of files' content: in consecutive blocks and after the inode, in extents, in
//! pclusters, in chunks, or in the packed inode.
//!
//! In: the tables of content and the content map. Out: for each file what its inode records.
//! **Invariant:** a map that does not follow the writer's geometry is an error.

use std::borrow::Cow;
use std::collections::BTreeMap;

use sinterfs_model::{ContentMap, MapExtent, Result, StoredPart};

use super::chunk_map::{ChunkMap, ChunkPieces};
use super::cluster_map::ClusterMap;
use super::content_tables::ContentTables;
use super::encoded::PclusterRef;
use super::extent_map::ExtentEntry;
use super::limits::BLOCK;
use super::options::Form;
use super::packed_tails::SharedTail;
use super::unit_table::{PlacedUnit, map_violates_geometry};
use crate::layout::Algorithm;

/// The location of the content of an inode.
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
        let mut start = *start;
        for &piece in pieces {
            maps.push_stored(start, piece)?;
            start += u64::from(piece.stored_len);
        }
    }
    if let Some((start, len)) = tables.packed.prefixes.filter(|_| maps.size > 0) {
        maps.push_plain(start, len)?;
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
pub(super) fn displaced_tails<'a>(
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

/// Returns the unit of the last extent if that is a fragment, its offset in this, and its length.
fn last_fragment(tables: &ContentTables, extents: &[MapExtent]) -> Option<(u32, u32, u32)> {
    let &MapExtent::Data { block, offset, len } = extents.last()? else {
        return None;
    };
    let (options, has_units) = (&tables.options, extents.len() > 1);
    let is_fragment =
        len < options.unit() && options.tails().is_in_fragment(u64::from(len), has_units);
    is_fragment.then_some((block.0, offset, len))
}

/// Returns whether all of a content is in the packed inode, in consecutive units.
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
    let is_fragment = is_only && last_fragment(tables, extents).is_some();
    if is_fragment || is_all_packed(tables, extents) {
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
        Form::Chunks => !tables.options.on_device() && is_row(tables, extents),
        Form::Extents => false,
        Form::Clusters if last_fragment(tables, extents).is_some() => false,
        Form::Clusters if shared_tail(tables, extents).is_some() => false,
        Form::Clusters => extents.iter().all(|extent| match extent {
            MapExtent::Data { block, .. } => tables.is_flat_unit(block.0),
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
    let block = tables.options.own.extended.block.bytes();
    for extent in extents {
        let (unit, placed) = whole_unit(tables, extent)?;
        if first.is_some() && (placed.start != next || !tail.is_empty()) {
            return Err(map_violates_geometry());
        }
        first = first.or(Some(placed.start / block));
        next = placed.end();
        tail = tables.inline_tails.get(unit);
    }
    Ok((Body::Flat(first.unwrap_or(0)), tail))
}

/// Maps content that is in pclusters or in extents.
fn mapped<'a>(tables: &'a ContentTables, extents: &[MapExtent]) -> Result<(Body, &'a [u8])> {
    let (mut maps, mut inline) = (Maps::new(tables), &[][..]);
    let fragment = last_fragment(tables, extents).filter(|_| maps.in_blocks);
    let whole_units = extents.len() - usize::from(fragment.is_some());
    for extent in extents.iter().take(whole_units) {
        if let &MapExtent::Hole { len } = extent
            && !maps.in_blocks
        {
            maps.extents.push(ExtentEntry::hole(maps.size));
            maps.size += len;
            continue;
        }
        let (unit, _) = whole_unit(tables, extent)?;
        maps.push_unit(tables, unit)?;
        if maps.clusters.has_inline() {
            inline = tables.inline_tails.get(unit);
        }
    }
    if let Some((unit, offset, len)) = fragment {
        let offset = tables.packed.fragment_offset(unit, offset)?;
        maps.clusters.end_in_packed(len, offset)?;
    }
    if let Some(tail) = shared_tail(tables, extents) {
        let offset = tables.packed.tail_offset(tail);
        maps.clusters.end_in_packed(tail.len, offset)?;
    }
    Ok((maps.into_body(), inline))
}

fn chunks(tables: &ContentTables, extents: &[MapExtent]) -> Result<ChunkMap> {
    let on_device = tables.options.on_device();
    let mut pieces = ChunkPieces::new(on_device).in_blocks(tables.options.own.extended.block);
    for extent in extents {
        let start = match extent {
            MapExtent::Hole { .. } => None,
            // tails are kept only for contiguous content
            MapExtent::Data { .. } => Some(whole_unit(tables, extent)?.1.start),
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
            clusters: ClusterMap::new(number, u64::from(options.block_size) > BLOCK)
                .with_full_indexes(options.own.extended.legacy_compress),
            extents: Vec::new(),
            algorithm,
            in_blocks: options.form() == Form::Clusters,
        }
    }

    /// Adds the content of a unit: what it is decoded from, then its tail if that is not shared.
    fn push_unit(&mut self, tables: &ContentTables, unit: u32) -> Result<()> {
        let layout = tables.layout(unit)?;
        for one in layout.refs.iter() {
            self.push_ref(one, tables.units.offset_of(one.unit, one.at)?)?;
        }
        self.size += u64::from(layout.len_in_refs());
        let Some(tail) = layout.inline else {
            return Ok(());
        };
        if let Some(&start) = tables.inline_tails.displaced.get(&unit) {
            return self.push_plain(start, tail.decoded_len);
        }
        let kept = tables.inline_tails.get(unit).len() as u32;
        if kept == 0 {
            // there was no room for it, so it became the last block of the unit
            let start = tables.units.get(unit)?.end() - BLOCK;
            let stored_len = BLOCK as u32;
            return self.push_stored(start, StoredPart { stored_len, ..tail });
        }
        if layout.is_flat {
            return Err(map_violates_geometry());
        }
        self.size += u64::from(tail.decoded_len);
        self.clusters.end_inline(tail.decoded_len, kept)
    }

    /// Adds content that is decoded from a pcluster at an offset of the image.
    fn push_ref(&mut self, one: &PclusterRef, start: u64) -> Result<()> {
        if self.in_blocks {
            return self.clusters.push_ref(one, start / BLOCK);
        }
        let logical = self.size + u64::from(one.start);
        let entry = ExtentEntry::new(logical, start, one, self.algorithm);
        self.extents.push(entry);
        Ok(())
    }

    /// Adds all content of a pcluster that no unit refers to.
    fn push_stored(&mut self, start: u64, lens: StoredPart) -> Result<()> {
        self.push_ref(&PclusterRef::new(0, (0, 0), lens), start)?;
        self.size += u64::from(lens.decoded_len);
        Ok(())
    }

    /// Adds uncompressed content of a block at most.
    fn push_plain(&mut self, start: u64, decoded_len: u32) -> Result<()> {
        let stored_len = if self.in_blocks {
            BLOCK as u32
        } else {
            decoded_len
        };
        let lens = StoredPart {
            decoded_len,
            stored_len,
        };
        self.push_stored(start, lens)
    }

    /// Returns the one that content was added to.
    fn into_body(self) -> Body {
        if self.in_blocks {
            Body::Clusters(self.clusters)
        } else {
            Body::Extents(self.extents)
        }
    }
}

/// Lists the units that are fragments, in order.
fn fragments(tables: &ContentTables, map: &ContentMap) -> Vec<u32> {
    let mut units = Vec::new();
    for extents in (0..map.list_count()).map(|list| map.list(list)) {
        if is_all_packed(tables, extents) {
            units.extend(extents.iter().filter_map(|extent| match extent {
                MapExtent::Data { block, .. } => Some(block.0),
                MapExtent::Hole { .. } => None,
            }));
        } else if !tables.options.packs_all() {
            units.extend(last_fragment(tables, extents).map(|(unit, ..)| unit));
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
