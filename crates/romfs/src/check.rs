//! Checks an image: the sums of the superblock and of all file headers, and every symlink.
//!
//! In: a source. Out: `InodeReport`, which lists every problem with its location.
//!
//! **Invariant:** continues after damage where possible. Content has no checksums.

use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, FileType, Image, Ino, InodeReport, Observer, Result, Stage, Tally};

use crate::read::{ReadOptions, Romfs, adds_up};

/// The bytes that the checksum of the superblock covers.
const SUMMED: u64 = 512;

/// Checks the image in a source.
///
/// Damage is reported, not returned as an error. Fails only if nothing could be checked: there is
/// no image, reading failed, or the observer cancelled.
pub fn check(
    source: Arc<dyn ReadAt>,
    options: &ReadOptions,
    observer: &dyn Observer,
) -> Result<InodeReport> {
    let mut report = InodeReport::default();
    let Some(image) = report.findings.opened(Romfs::open(source, options))? else {
        return Ok(report);
    };
    let len = SUMMED.min(image.window.len());
    sum(&image, 0, len, "superblock", &mut report)?;
    for problem in image.inodes.left_out.each() {
        report.findings.problem(problem);
    }
    for entry in image.inodes.dangling() {
        let name = String::from_utf8_lossy(&entry.name);
        let error = Error::corrupt(format!("{name:?} is a hard link that stands for no file"));
        let at = image.offset() + u64::from(entry.at);
        report.findings.problem(error.at("file header", at));
    }
    let nodes = &image.inodes.nodes;
    observer.expect(Stage::Verify, Tally::items(nodes.len() as u64));
    for (number, node) in (1..).zip(nodes) {
        observer.check_cancelled()?;
        let len = node.fields.content.saturating_sub(node.at);
        sum(
            &image,
            node.at.into(),
            len.into(),
            "file header",
            &mut report,
        )?;
        let content = match node.kind {
            FileType::File => image.has_content(node),
            FileType::Symlink => image.read_link(Ino(number)).map(drop),
            _ => Ok(()),
        };
        report.findings.record(content)?;
        report.inodes += 1;
        observer.advance(Stage::Verify, Tally::items(1));
    }
    Ok(report)
}

/// Reports bytes whose words do not add up to zero.
fn sum(
    image: &Romfs,
    at: u64,
    len: u64,
    what: &'static str,
    report: &mut InodeReport,
) -> Result<()> {
    if !adds_up(&image.window.read(at, len)?) {
        let error = Error::corrupt("the checksum is wrong");
        report.findings.problem(error.at(what, image.offset() + at));
    }
    Ok(())
}
