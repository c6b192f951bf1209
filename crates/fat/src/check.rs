//! Checks a file system: the clusters of all files, and names.
//!
//! In: a source. Out: `InodeReport`, which lists every problem.
//!
//! **Invariant:** continues after damage where possible. Content has no checksums.

use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, InodeReport, Observer, Result, Stage, Tally};

use crate::read::{Fat, FatNode, ReadOptions};

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
    let Some(image) = report.findings.opened(Fat::open(source, options))? else {
        return Ok(report);
    };
    for problem in image.left_out() {
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

/// Returns what is wrong with the clusters of an inode.
fn problem(image: &Fat, number: u64, node: &FatNode) -> Option<Error> {
    if let Some(damage) = &node.damage {
        return Some(damage.error(format!("inode {number:#x}: {}", damage.what)));
    }
    let ends = image.nodes.runs(node).iter().filter_map(|run| {
        let at = image.boot.position(run.cluster)?;
        Some(at + u64::from(run.count) * image.boot.cluster)
    });
    let what = format!("inode {number:#x}: clusters past the end of the file");
    let is_cut_off = ends.max()? > image.window_len();
    is_cut_off.then(|| Error::corrupt(what).at("table", image.table()))
}
