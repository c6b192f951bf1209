//! The content map of an image, for writing a new image around its blocks.
//!
//! **Invariant:** the map holds what `Image::extents` returns; files with equal extents share a
//! list.

use std::collections::HashMap;
use std::ops::ControlFlow;

use sinterfs_model::{
    BlockId, Content, ContentMap, Error, Extent, ExtentSource, MapExtent, NodeId, Result, Source,
    Tree,
};
use xxhash_rust::xxh3::Xxh3;

use super::ImageSource;

/// Returns the extents of the files of a scanned image, in the image's own blocks.
///
/// # Errors
/// `Unsupported` if a range does not fit a map: the format does not number its blocks.
pub fn content_map(source: &ImageSource, tree: &Tree) -> Result<ContentMap> {
    let mut map = ContentMap::new(tree.nodes().len());
    let mut lists: HashMap<u128, Vec<u32>> = HashMap::new();
    let is_file = |file: &NodeId| matches!(tree.node(*file).content, Content::File { .. });
    let nodes = (0..tree.nodes().len() as u32).map(NodeId);
    let mut files: Vec<NodeId> = nodes.filter(is_file).collect();
    // in the order of the blocks, so that the tables are as regular as those of the image
    files.sort_by_key(|&file| source.rank(tree, file));
    for file in files {
        let extents = extents(source, file)?;
        let same = lists.entry(hash(&extents)).or_default();
        let known = same.iter().find(|&&list| map.list(list) == extents);
        let list = match known {
            Some(&list) => list,
            None => {
                let list = map.push(&extents);
                same.push(list);
                list
            }
        };
        map.assign(file, list);
    }
    Ok(map)
}

fn extents(source: &ImageSource, file: NodeId) -> Result<Vec<MapExtent>> {
    let mut extents = Vec::new();
    let mut fits = true;
    source
        .image
        .extents(source.ino(file)?, 0, &mut |extent| match convert(&extent) {
            Some(converted) => {
                extents.push(converted);
                ControlFlow::Continue(())
            }
            None => {
                fits = false;
                ControlFlow::Break(())
            }
        })?;
    if fits {
        Ok(extents)
    } else {
        Err(Error::unsupported(
            "the image does not store content in numbered blocks",
        ))
    }
}

fn convert(extent: &Extent) -> Option<MapExtent> {
    Some(match extent.source {
        ExtentSource::Hole => MapExtent::Hole { len: extent.len },
        ExtentSource::Block { block, offset } => MapExtent::Data {
            block: BlockId(u32::try_from(block).ok()?),
            offset: u32::try_from(offset).ok()?,
            len: u32::try_from(extent.len).ok()?,
        },
    })
}

fn hash(extents: &[MapExtent]) -> u128 {
    let mut hash = Xxh3::new();
    for extent in extents {
        match *extent {
            MapExtent::Hole { len } => {
                hash.update(&[0]);
                hash.update(&len.to_le_bytes());
            }
            MapExtent::Data { block, offset, len } => {
                hash.update(&[1]);
                for number in [block.0, offset, len] {
                    hash.update(&number.to_le_bytes());
                }
            }
        }
    }
    hash.digest128()
}
