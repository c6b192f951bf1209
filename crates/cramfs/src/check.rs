//! Checks an image: its checksum, every inode, and the block pointers of every file.
//!
//! In: a source. Out: `InodeReport`, which lists every problem with its location.
//!
//! **Invariant:** continues after damage where possible. Whether blocks decode shows when all files
//! are read.

use std::ops::ControlFlow;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_block::checksum::crc32;
use sinterfs_model::{Error, FileType, Image, Ino, InodeReport, Observer, Result, Stage, Tally};

use crate::layout::CHECKSUM_AT;
use crate::read::{Cramfs, ReadOptions};

/// Bytes that are read at once for the checksum.
const READ_LEN: u64 = 1 << 18;

/// Checks the image in a source.
///
/// Damage is reported, not returned as an error. Fails only if nothing could be checked: there is
/// no image, its flags are unknown, reading failed, or the observer cancelled.
pub fn check(
    source: Arc<dyn ReadAt>,
    options: &ReadOptions,
    observer: &dyn Observer,
) -> Result<InodeReport> {
    let mut report = InodeReport::default();
    let len = source.len();
    let Some(image) = report.findings.opened(Cramfs::open(source, options))? else {
        return Ok(report);
    };
    let head = image.head();
    if head.version() == 1 {
        let note = "the image is of version 1: it has no checksum";
        report.findings.note(note.to_owned());
    } else {
        report.findings.record(checksum(&image, observer))?;
        report.findings.record(counts(&image))?;
    }
    let end = image.offset().saturating_add(head.size);
    if len > end {
        report.findings.note(format!(
            "{} bytes after the image, at {end:#x}, are not part of it",
            len - end
        ));
    }
    inodes(&image, &mut report, observer)?;
    Ok(report)
}

/// Compares the checksum, which covers the image from the superblock on, with its own bytes zero.
fn checksum(image: &Cramfs, observer: &dyn Observer) -> Result<()> {
    let (head, window) = (image.head(), &image.blocks.window);
    let mut crc = u32::MAX;
    let mut at = head.at;
    while at < head.size {
        observer.check_cancelled()?;
        let len = READ_LEN.min(head.size - at);
        let mut piece = window.read(at, len)?.to_vec();
        if at == head.at
            && let Some(own) = piece.get_mut(CHECKSUM_AT..CHECKSUM_AT + 4)
        {
            own.fill(0);
        }
        crc = crc32(crc, &piece);
        at += len;
    }
    let (expected, found) = (head.checksum, !crc);
    if expected == found {
        return Ok(());
    }
    let what = format!("expected the checksum {expected:#010x}, found {found:#010x}");
    Err(Error::corrupt(what).at("superblock", image.offset() + head.at))
}

/// Compares the number of inodes.
fn counts(image: &Cramfs) -> Result<()> {
    let (expected, found) = (image.head().files, image.nodes.all().len());
    if u64::from(expected) == found as u64 {
        return Ok(());
    }
    let what = format!("expected {expected} inodes, found {found}");
    Err(Error::corrupt(what).at("superblock", image.offset() + image.head().at))
}

fn inodes(image: &Cramfs, report: &mut InodeReport, observer: &dyn Observer) -> Result<()> {
    observer.expect(Stage::Verify, Tally::items(image.nodes.all().len() as u64));
    for problem in image.nodes.left_out.each() {
        report.findings.problem(problem);
    }
    for (number, node) in (1..).zip(image.nodes.all()) {
        observer.check_cancelled()?;
        let found = match node.kind {
            _ if FileType::from_mode(node.fields.mode.into()).is_none() => {
                image.inode(Ino(number)).map(drop)
            }
            FileType::File => image.extents_of(&node.fields, 0, &mut |_| ControlFlow::Continue(())),
            FileType::Symlink => image.read_link(Ino(number)).map(drop),
            _ => Ok(()),
        };
        report.findings.record(found)?;
        report.inodes += 1;
        observer.advance(Stage::Verify, Tally::items(1));
    }
    Ok(())
}
