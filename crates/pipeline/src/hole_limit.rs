//! Refuses files whose holes would be stored or hashed as zeros without end.
//!
//! In: the scanned tree, for a format that has no holes. Out: an error before anything is written.
//! A small image can have files with holes of 2^63 bytes.

use sinterfs_model::{
    Content, Error, ExtentSource, Geometry, NodeId, Result, Setting, Source, Tree,
};

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

/// Fails with `Limit` if files of a tree have more than `max` bytes of holes, which a format
/// without holes stores as zeros.
pub fn refuse_long_holes(source: &dyn Source, tree: &Tree, max: u64) -> Result<()> {
    if tree.stats().bytes <= max {
        return Ok(());
    }
    let least = LEAST_SIZE.min(max);
    let mut left = max;
    for (node, id) in tree.nodes().iter().zip(0..) {
        let Content::File { size } = node.content else {
            continue;
        };
        if size < least {
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
            let option = Setting("max_zeros");
            let what = format!(
                "a file with {zeros} bytes of holes: the format has no holes, and at most {max} \
                 bytes of zeros are written instead ({option} sets this limit)"
            );
            Error::limit(what).about([option]).path(path)
        })?;
    }
    Ok(())
}
