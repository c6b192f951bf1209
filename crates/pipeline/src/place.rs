//! Assigns the extents of contents to files.
//!
//! Enters what the segment stage made of each content; leaves the content map, with one list of
//! extents for all files that share a content, and the tree with sizes as stored.
//! **Invariant:** every regular file gets a list, files without bytes an empty one.

use sinterfs_model::{Content, ContentMap, MapExtent, NodeId, Result, Tree};

use crate::dedupe::Contents;
use crate::store::{Owner, StoredContents};
use crate::{Report, paths};

/// Where the content of each file was stored, and the numbers of the report that follow from it.
pub(crate) struct Placed {
    pub map: ContentMap,
    /// The blocks of the base that are used.
    pub used: Vec<u32>,
    pub report: Report,
}

/// Assigns each file its list of extents, and its node the size that was stored.
pub(crate) fn place(
    tree: &mut Tree,
    contents: &Contents,
    stored: StoredContents,
) -> Result<Placed> {
    let StoredContents { segmented, owners } = stored;
    let mut report = Report {
        matched_bytes: segmented.matched,
        reused_blocks: segmented.used.blocks.len() as u64,
        reused_bytes: segmented.used.bytes,
        unused_bytes: segmented.used.bytes - segmented.used.used,
        ..Report::default()
    };
    let mut rejected: Vec<NodeId> = owners
        .iter()
        .filter_map(|owner| match owner {
            Owner::Rejected(file) => Some(*file),
            Owner::Content(_) => None,
        })
        .collect();
    rejected.sort_unstable();
    for extent in &segmented.extents {
        if let MapExtent::Hole { len } = extent {
            report.hole_bytes = report.hole_bytes.saturating_add(*len);
        }
    }
    // the extents are not copied: for small units they are the largest table there is
    let ends = segmented.lists.iter().map(|list| list.end);
    let mut map = ContentMap::with_lists(tree.nodes().len(), segmented.extents, ends)?;
    for (number, (owner, list)) in (0..).zip(owners.iter().zip(&segmented.lists)) {
        let mut assign = |file: NodeId| {
            map.assign(file, number);
            tree.nodes_mut()[file.index()].content = Content::File { size: list.size };
        };
        match *owner {
            Owner::Rejected(file) => assign(file),
            Owner::Content(index) => {
                let content = &contents.items[index as usize];
                assign(content.original);
                for &file in contents.duplicates(content) {
                    if rejected.binary_search(&file).is_err() {
                        assign(file);
                        report.duplicates += 1;
                        report.duplicate_bytes = report.duplicate_bytes.saturating_add(list.size);
                    }
                }
            }
        }
    }
    let no_extents = map.push(&[]);
    for &file in &contents.empty {
        map.assign(file, no_extents);
        debug_assert_eq!(paths::size(tree, file), 0);
    }
    Ok(Placed {
        map,
        used: segmented.used.blocks,
        report,
    })
}
