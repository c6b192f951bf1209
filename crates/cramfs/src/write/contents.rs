//! Places the content of files and symlinks: block pointers, then blocks.
//!
//! In: the encoded blocks, the map of content, and the inodes. Out: offsets, and the bytes in their
//! order.
//!
//! **Invariant:** content is placed in the order of its first block, equal content once; offsets
//! are multiples of four below 2^28. Format: `docs/formats/cramfs.md`, "Block pointers".

use std::collections::{HashMap, HashSet};

use sinterfs_model::{Content, ContentMap, Error, MapExtent, NodeId, Result, Tree};

use super::compression::ZlibCompression;
use super::inventory::{Inventory, size};
use crate::layout::{ByteOrder, OFFSET_LIMIT};

/// The division and encoding of content.
#[derive(Debug, Clone, Copy)]
pub(super) struct CutOptions {
    pub(super) order: ByteOrder,
    pub(super) unit: u32,
    pub(super) compression: ZlibCompression,
}

/// The encoded blocks of files, by their numbers; files that are left out have none.
pub(super) type Blocks = [Vec<u8>];

/// The content of a file or symlink.
#[derive(Debug)]
enum Source {
    /// The number of a list of the content map.
    List(u32),
    /// The encoded blocks of the target of a symlink.
    Target(Vec<Vec<u8>>),
}

/// All content with its offsets.
#[derive(Debug)]
pub(super) struct PlacedContents {
    options: CutOptions,
    placed: Vec<(u64, Source)>,
    lists: HashMap<u32, u64>,
    targets: HashMap<NodeId, u64>,
    /// The offset after the last byte.
    pub(super) end: u64,
    /// The number of blocks.
    pub(super) count: u64,
}

impl PlacedContents {
    /// Places all content from an offset on.
    pub(super) fn new(
        options: CutOptions,
        start: u64,
        (tree, map): (&Tree, &ContentMap),
        inventory: &Inventory<'_>,
        blocks: &Blocks,
    ) -> Result<Self> {
        let mut contents = Self {
            options,
            placed: Vec::new(),
            lists: HashMap::new(),
            targets: HashMap::new(),
            end: start,
            count: 0,
        };
        for list in lists(tree, map, inventory) {
            let units = units(map.list(list), options.unit)?;
            let mut stored = 0;
            for block in units.iter().flatten() {
                stored += block_of(blocks, *block)?.len() as u64;
            }
            let at = contents.reserve(units.len(), stored)?;
            contents.lists.insert(list, at);
            contents.placed.push((at, Source::List(list)));
        }
        for entry in &inventory.entries {
            let Content::Symlink(target) = tree.node(entry.node).content else {
                continue;
            };
            if contents.targets.contains_key(&entry.node) {
                continue;
            }
            let pieces = tree.bytes(target).chunks(options.unit as usize);
            let encoded = pieces.map(|piece| options.compression.encode(piece));
            let encoded = encoded.collect::<Result<Vec<_>>>()?;
            let stored = encoded.iter().map(|block| block.len() as u64).sum();
            let at = contents.reserve(encoded.len(), stored)?;
            contents.targets.insert(entry.node, at);
            contents.placed.push((at, Source::Target(encoded)));
        }
        Ok(contents)
    }

    /// Takes room for pointers and blocks, and returns its offset.
    fn reserve(&mut self, blocks: usize, stored: u64) -> Result<u64> {
        let at = self.end.next_multiple_of(4);
        if at >= OFFSET_LIMIT {
            return Err(too_large());
        }
        self.end = at + blocks as u64 * 4 + stored;
        self.count += blocks as u64;
        Ok(at)
    }

    /// Returns the offset of the content of a file or symlink; zero for what has none.
    pub(super) fn offset(&self, map: &ContentMap, node: NodeId) -> u64 {
        let list = map.list_of(node).and_then(|list| self.lists.get(&list));
        let found = list.or_else(|| self.targets.get(&node));
        found.copied().unwrap_or(0)
    }

    /// Emits all content, with zeros up to the first offset and between contents.
    pub(super) fn emit(
        &self,
        mut at: u64,
        map: &ContentMap,
        blocks: &Blocks,
        emit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        for (start, source) in &self.placed {
            let gap = usize::try_from(start.saturating_sub(at)).unwrap_or(0);
            emit([0; 4].get(..gap).unwrap_or_default())?;
            let content: Vec<&[u8]> = match source {
                Source::Target(encoded) => encoded.iter().map(Vec::as_slice).collect(),
                Source::List(list) => {
                    let units = units(map.list(*list), self.options.unit)?.into_iter();
                    let bytes = |unit| match unit {
                        Some(block) => block_of(blocks, block),
                        None => Ok(&[][..]),
                    };
                    units.map(bytes).collect::<Result<_>>()?
                }
            };
            let mut end = start + content.len() as u64 * 4;
            for block in &content {
                end += block.len() as u64;
                let pointer = u32::try_from(end).map_err(|_| too_large())?;
                emit(&self.options.order.bytes(pointer))?;
            }
            for block in content {
                emit(block)?;
            }
            at = end;
        }
        Ok(())
    }
}

/// Returns the lists of stored files that are not empty, in the order of their first blocks; those
/// without blocks are last, in the order of their names.
fn lists(tree: &Tree, map: &ContentMap, inventory: &Inventory<'_>) -> Vec<u32> {
    let (mut seen, mut found) = (HashSet::new(), Vec::new());
    for (rank, entry) in inventory.entries.iter().enumerate() {
        let Content::File { .. } = tree.node(entry.node).content else {
            continue;
        };
        let Some(list) = map.list_of(entry.node) else {
            continue;
        };
        let extents = map.list(list);
        if size(extents) == 0 || !seen.insert(list) {
            continue;
        }
        let first = extents.iter().find_map(|extent| match extent {
            MapExtent::Data { block, .. } => Some(block.0),
            MapExtent::Hole { .. } => None,
        });
        found.push((first.unwrap_or(u32::MAX), rank, list));
    }
    found.sort_unstable();
    found.into_iter().map(|(_, _, list)| list).collect()
}

/// Returns the block of each unit of a file; `None` for a hole.
fn units(extents: &[MapExtent], unit: u32) -> Result<Vec<Option<u32>>> {
    let mut units = Vec::new();
    for (left, extent) in (0..extents.len()).rev().zip(extents) {
        let whole = match *extent {
            MapExtent::Hole { len } => {
                let count = usize::try_from(len.div_ceil(unit.into())).unwrap_or(0);
                units.resize(units.len() + count, None);
                len.is_multiple_of(unit.into())
            }
            MapExtent::Data { block, offset, len } => {
                if offset != 0 || len > unit {
                    return Err(unsupported_layout());
                }
                units.push(Some(block.0));
                len == unit
            }
        };
        if !whole && left > 0 {
            return Err(unsupported_layout());
        }
    }
    Ok(units)
}

fn block_of(blocks: &Blocks, block: u32) -> Result<&[u8]> {
    let found = blocks.get(block as usize).filter(|bytes| !bytes.is_empty());
    found.map(Vec::as_slice).ok_or_else(|| {
        Error::invalid(format!(
            "a file has content in block {block}, which was not written"
        ))
    })
}

#[cold]
pub(super) fn too_large() -> Error {
    Error::limit("the image would be larger than 256 MiB, which CRAMFS cannot address")
}

#[cold]
fn unsupported_layout() -> Error {
    Error::invalid("content was cut in a way that CRAMFS cannot store")
}

#[cfg(test)]
mod tests {
    use sinterfs_model::BlockId;

    use super::*;

    fn data(block: u32, len: u32) -> MapExtent {
        MapExtent::Data {
            block: BlockId(block),
            offset: 0,
            len,
        }
    }

    #[test]
    fn units_follow_the_geometry() {
        let hole = |len| MapExtent::Hole { len };
        let found = units(&[data(4, 4096), hole(8192), data(5, 10)], 4096).unwrap();
        assert_eq!(found, [Some(4), None, None, Some(5)]);
        assert_eq!(units(&[hole(4097)], 4096).unwrap(), [None, None]);
        for bad in [
            [data(0, 10), data(1, 10)],
            [hole(5), data(0, 4096)],
            [data(0, 4096), data(1, 4097)],
        ] {
            assert!(units(&bad, 4096).is_err());
        }
    }
}
