//! Checks a file system: all entries, directories and extents.
//!
//! In: a source. Out: `InodeReport`, which lists every problem.
//!
//! **Invariant:** continues after damage where possible. Content has no checksums.

use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, InodeReport, Observer, Result, Stage, Tally};

use crate::read::{ReadOptions, UNSTORED, Udf, UdfNode};

/// Checks the file system in a source.
///
/// Damage is reported, not returned as an error. Fails only if nothing could be checked: there is
/// no file system, reading failed, or the observer cancelled.
pub fn check(
    source: Arc<dyn ReadAt>,
    options: &ReadOptions,
    observer: &dyn Observer,
) -> Result<InodeReport> {
    let mut report = InodeReport::default();
    let Some(image) = report.findings.opened(Udf::open(source, options))? else {
        return Ok(report);
    };
    for problem in image
        .damage()
        .chain(image.left_out())
        .chain(image.lost_streams())
    {
        report.findings.problem(problem);
    }
    let nodes = &image.nodes.nodes;
    observer.expect(Stage::Verify, Tally::items(nodes.len() as u64));
    for (number, node) in (1_u64..).zip(nodes) {
        observer.check_cancelled()?;
        if let Some(problem) = problem(&image, number, node) {
            report.findings.problem(problem);
        }
        report.inodes += 1;
        observer.advance(Stage::Verify, Tally::items(1));
    }
    Ok(report)
}

/// Returns what is wrong with an inode.
fn problem(image: &Udf, number: u64, node: &UdfNode) -> Option<Error> {
    if let Some(damage) = &node.damage {
        return Some(damage.error_of(number));
    }
    let pieces = image.pieces(&node.content, node.size);
    let stored = pieces.iter().filter(|piece| piece.at != UNSTORED);
    let end = stored
        .map(|piece| piece.at.saturating_add(piece.len))
        .max()?;
    (end > image.window.len()).then(|| {
        let what = format!("inode {number:#x}: content past the end of the file");
        Error::corrupt(what).at("content", image.offset().saturating_add(end))
    })
}
