//! Indexes: images without content of files, which say where an archive has it.
//!
//! In: an opened source. Out: metadata; the archive becomes the device of the image, or follows it
//! in its file. **Invariant:** a content that the source does not have as it is, in whole blocks,
//! is an error, and never stored.

use sinterfs_format::IndexWriter;
use sinterfs_model::{
    Content, ContentMap, Error, MapExtent, NodeId, Observer, Result, Source, Tree,
};
use sinterfs_pipeline::WarningCounter;
use sinterfs_source::Transform;

use crate::write::report::PipelineReport;

/// Writes the index of a source.
pub(super) fn write(
    mut writer: Box<dyn IndexWriter>,
    source: &dyn Source,
    transform: &Transform,
    observer: &dyn Observer,
) -> Result<PipelineReport> {
    let warnings = WarningCounter::new(observer);
    let mut tree = source.scan(&warnings)?;
    let mut map = ContentMap::new(tree.nodes().len());
    for (node, id) in tree.nodes().iter().zip((0..).map(NodeId)) {
        let Content::File { size: 1.. } = node.content else {
            continue;
        };
        observer.check_cancelled()?;
        let extents = refer(&mut *writer, source, &tree, id);
        let extents = extents
            .map_err(|error| error.path(String::from_utf8_lossy(&tree.path(id)).into_owned()))?;
        let list = map.push(&extents);
        map.assign(id, list);
    }
    transform.apply(&mut tree)?;
    let mut report = PipelineReport::default();
    report.tree = tree.stats();
    report.left_out = warnings.count();
    report.image = writer.finish(&tree, &map)?;
    Ok(report)
}

/// Finds a content in the source.
fn refer(
    writer: &mut dyn IndexWriter,
    source: &dyn Source,
    tree: &Tree,
    file: NodeId,
) -> Result<Vec<MapExtent>> {
    let content = source.open(tree, file)?;
    let ranges = content.stored().ok_or_else(|| {
        Error::unsupported("an index refers to content of an archive that is not compressed")
    })?;
    writer.refer(&ranges, content.len()?)
}
