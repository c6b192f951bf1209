//! Refuses files whose holes would be stored or hashed as zeros without end.
//!
//! In: the scanned tree, for a format that has no holes. Out: an error before anything is written.
//! A small image can have files with holes of 2^63 bytes.

use sinterfs_model::{Content, Error, ExtentSource, Geometry, NodeId, Result, Source, Tree};

/// The most bytes of holes that are stored as zeros.
const MAX_ZEROS: u64 = 256 << 30;

/// Holes of shorter files are not counted.
const LEAST_SIZE: u64 = 1 << 20;

/// Returns whether a format stores holes as zeros.
pub(crate) fn stores_zeros(geometry: &Geometry) -> bool {
    match geometry {
        Geometry::PerFile { holes, .. } => !holes,
        Geometry::Stream { .. } => true,
        _ => false,
    }
}

/// Fails with `Limit` if files of a tree have more holes than a format without holes stores.
pub fn refuse_long_holes(source: &dyn Source, tree: &Tree) -> Result<()> {
    if tree.stats().bytes <= MAX_ZEROS {
        return Ok(());
    }
    let mut left = MAX_ZEROS;
    for (node, id) in tree.nodes().iter().zip(0..) {
        let Content::File { size } = node.content else {
            continue;
        };
        if size < LEAST_SIZE {
            continue;
        }
        let file = NodeId(id);
        // what cannot be read is reported when it is read
        let extents = source
            .open(tree, file)
            .and_then(|content| content.extents())
            .unwrap_or_default();
        let holes = extents
            .iter()
            .filter(|extent| matches!(extent.source, ExtentSource::Hole));
        let zeros = holes.map(|extent| extent.len).fold(0, u64::saturating_add);
        left = left.checked_sub(zeros).ok_or_else(|| {
            let path = String::from_utf8_lossy(&tree.path(file)).into_owned();
            let what = format!(
                "a file with {zeros} bytes of holes: the format has no holes, and at most {} GiB \
                 of zeros are written instead",
                MAX_ZEROS >> 30
            );
            Error::limit(what).path(path)
        })?;
    }
    Ok(())
}
