//! Checks an image: decodes every fblock, and follows every block number of every inode.
//!
//! In: a source. Out: `InodeReport`, which lists every problem with its location.
//!
//! **Invariant:** continues after damage where possible. The format has no checksums: damage that
//! decodes to other bytes is not found.

use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, FileType, Image, Ino, InodeReport, Observer, Result, Stage, Tally};

use crate::read::{Cromfs, ReadOptions};

/// Checks the image in a source.
///
/// Damage is reported, not returned as an error. Fails only if nothing could be checked: there is
/// no image, its version or flags are unknown, reading failed, or the observer cancelled.
pub fn check(
    source: Arc<dyn ReadAt>,
    options: &ReadOptions,
    observer: &dyn Observer,
) -> Result<InodeReport> {
    let mut report = InodeReport::default();
    let Some(image) = report.findings.opened(Cromfs::open(source, options))? else {
        return Ok(report);
    };
    fblocks(&image, &mut report, observer)?;
    inodes(&image, &mut report, observer)?;
    Ok(report)
}

/// Decodes every fblock.
fn fblocks(image: &Cromfs, report: &mut InodeReport, observer: &dyn Observer) -> Result<()> {
    let reader = &image.content.fblocks;
    let total = reader.places.iter().map(|place| u64::from(place.stored));
    observer.expect(Stage::Verify, Tally::bytes(total.sum()));
    for place in &reader.places {
        observer.check_cancelled()?;
        let decoded = reader.decode(*place).map(drop);
        report
            .findings
            .record(decoded.map_err(|e| e.at("fblock", reader.file_offset(place.at))))?;
        observer.advance(Stage::Verify, Tally::bytes(place.stored.into()));
    }
    Ok(())
}

/// Follows the block numbers of every inode.
fn inodes(image: &Cromfs, report: &mut InodeReport, observer: &dyn Observer) -> Result<()> {
    // inodes may overlap: then the numbers of all of them are more than the table has
    let mut left = image.inodes.table_len();
    for problem in image.inodes.left_out.each() {
        report.findings.problem(problem);
    }
    for (ino, node) in (1..).map(Ino).zip(&image.inodes.nodes) {
        observer.check_cancelled()?;
        let checked = match node.kind {
            FileType::File => image
                .inode(ino)
                .and_then(|_| blocks(image, node.number, &mut left)),
            FileType::Symlink => image.read_link(ino).map(drop),
            _ => Ok(()),
        };
        report.findings.record(checked)?;
        report.inodes += 1;
    }
    Ok(())
}

/// Fails if a block of a file is not within its fblock.
fn blocks(image: &Cromfs, number: u64, left: &mut u64) -> Result<()> {
    let list = image.inodes.inode(&image.content, number)?;
    *left = left.checked_sub(list.stored_len()).ok_or_else(|| {
        let error = Error::corrupt("the block numbers of several inodes are the same bytes");
        error.within(format!("inode {number:#x}"))
    })?;
    let unit = u64::from(list.block_size);
    for index in 0..list.count() {
        let block = image.content.fblocks.block(list.number(index)?)?;
        let place = image.content.fblocks.place(block.fblock)?;
        let len = unit.min(list.fields.size.saturating_sub(index.saturating_mul(unit)));
        if u64::from(block.offset).saturating_add(len) > place.len {
            let what = format!("{len} bytes of block {index} are not within its fblock");
            return Err(Error::corrupt(what).within(format!("inode {number:#x}")));
        }
    }
    Ok(())
}
