//! Checks an image: `check`, which lists every problem with its location.
//!
//! **Invariant:** continues after damage where possible. Whether blocks decode shows when all files
//! are read.

use std::ops::ControlFlow;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, FileType, Image, Ino, InodeReport, Observer, Result, Stage, Tally};

use crate::layout::SECTOR;
use crate::read::{BootEntry, Iso9660, ReadOptions};

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
    let Some(image) = report.findings.opened(Iso9660::open(source, options))? else {
        return Ok(report);
    };
    report.findings.record(volume(&image))?;
    if image.associated_files() > 0 {
        report.findings.note(format!(
            "{} associated files, which are not shown",
            image.associated_files()
        ));
    }
    if let Some(catalog) = image.boot_catalog() {
        report.findings.record(catalog.and_then(|catalog| {
            if catalog.is_valid {
                return boot_images(&image, &catalog.entries);
            }
            let what = "the checksum of the validation entry is wrong";
            Err(Error::corrupt(what).within("boot catalog"))
        }))?;
    }
    for dir in image.nodes.left_out.directories() {
        let found = image.nodes.left_out.end(dir);
        let located = |error: Error| error.within(format!("directory {:#x}", dir.0));
        report.findings.record(found.map_err(located))?;
    }
    inodes(&image, &mut report, observer)?;
    Ok(report)
}

/// Checks that the boot images are within the image, as far as they are loaded.
fn boot_images(image: &Iso9660, entries: &[BootEntry]) -> Result<()> {
    for (number, entry) in (1..).zip(entries) {
        let start = u64::from(entry.sector) * SECTOR;
        // what emulates a floppy is as long as one
        let len = match entry.emulation & 0xf {
            1 => 1200 << 10,
            2 => 1440 << 10,
            3 => 2880 << 10,
            _ => u64::from(entry.sectors.max(1)) * 512,
        };
        let end = start.saturating_add(len);
        let is_used = entry.bootable || entry.sector > 0;
        if is_used && end > image.window.len() {
            let what = format!("boot image {number} ends at {end:#x}, after the end of the image");
            return Err(Error::corrupt(what).within("boot catalog"));
        }
    }
    Ok(())
}

/// Compares the size of the volume with the size of the source.
fn volume(image: &Iso9660) -> Result<()> {
    let (expected, found) = (image.info().totals.stored, image.window.len());
    if expected <= found {
        return Ok(());
    }
    let what = format!("a volume of {expected} bytes, of which there are {found}");
    Err(Error::corrupt(what).within("volume descriptor"))
}

fn inodes(image: &Iso9660, report: &mut InodeReport, observer: &dyn Observer) -> Result<()> {
    observer.expect(Stage::Verify, Tally::items(image.nodes.all().len() as u64));
    for (number, node) in (1..).zip(image.nodes.all()) {
        observer.check_cancelled()?;
        let ino = Ino(number);
        let found = match node.kind {
            FileType::File => image
                .extents(ino, 0, &mut |_| ControlFlow::Continue(()))
                .and_then(|()| within(image, number - 1)),
            FileType::Symlink => image.read_link(ino).map(drop),
            _ => Ok(()),
        };
        report.findings.record(found)?;
        report.findings.record(image.xattrs(ino).map(drop))?;
        report.inodes += 1;
        observer.advance(Stage::Verify, Tally::items(1));
    }
    Ok(())
}

/// Checks that all sections of a file are within the image.
fn within(image: &Iso9660, index: u64) -> Result<()> {
    let node = u32::try_from(index)
        .ok()
        .and_then(|index| image.nodes.get(index));
    let Some(node) = node else {
        return Ok(());
    };
    let stored = image.stored(node);
    let ends = stored
        .sections()
        .iter()
        .map(|section| stored.end_of(section));
    let end = ends.max().unwrap_or(0);
    if end <= image.window.len() {
        return Ok(());
    }
    let what = format!("content that ends at {end:#x}, after the end of the image");
    Err(Error::corrupt(what).at("directory record", image.offset() + node.record))
}
