//! Checks a file system as far as reading it needs: every directory, inode, block list, attribute.
//!
//! In: a source. Out: `InodeReport`, which lists every problem with its location.
//!
//! **Invariant:** continues after damage where possible. Counts, bitmaps and checksums are not
//! compared: that is the work of e2fsck.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, FileType, Image, Ino, InodeReport, Observer, Result, Stage, Tally};

use crate::layout::ROOT;
use crate::read::{Ext, ReadOptions};

/// Checks the file system in a source.
///
/// Damage is reported, not returned as an error. Fails only if nothing could be checked: there is
/// none, its features are unknown, reading failed, or the observer cancelled.
pub fn check(
    source: Arc<dyn ReadAt>,
    options: &ReadOptions,
    observer: &dyn Observer,
) -> Result<InodeReport> {
    let mut report = InodeReport::default();
    let Some(ext) = report.findings.opened(Ext::open(source, options))? else {
        return Ok(report);
    };
    let mut seen = HashSet::from([ROOT]);
    let mut left = vec![(ROOT, ROOT)];
    while let Some((number, parent)) = left.pop() {
        observer.check_cancelled()?;
        let inode = inode(&ext, number, &mut report)?;
        report.inodes += 1;
        observer.advance(Stage::Verify, Tally::items(1));
        if inode != Some(FileType::Directory) {
            continue;
        }
        let listing = ext.fields(number).and_then(|dir| ext.listing(number, &dir));
        if let Some(listing) = report.findings.record(listing)? {
            if listing.parent != parent {
                let (found, what) = (listing.parent, "the parent in the directory");
                let what = format!("{what} is inode {found}, it is in inode {parent}");
                let error = Error::corrupt(what).within(format!("inode {number}"));
                report.findings.problem(error);
            }
            let all = ext.left_out.end(Ino(number.into()));
            let located = |error: Error| error.within(format!("inode {number}"));
            report.findings.record(all.map_err(located))?;
            for entry in &listing.names {
                if seen.insert(entry.number) {
                    left.push((entry.number, number));
                } else if is_directory(&ext, entry.number) {
                    let what = "a directory is in more than one place";
                    let error = Error::corrupt(what).within(format!("inode {}", entry.number));
                    report.findings.problem(error);
                }
            }
        }
    }
    Ok(report)
}

/// Returns whether an inode is a directory; one that cannot be read is reported elsewhere.
fn is_directory(ext: &Ext, number: u32) -> bool {
    let kind = ext.fields(number).map(|inode| inode.mode.into());
    kind.ok().and_then(FileType::from_mode) == Some(FileType::Directory)
}

/// Reads all of an inode but its content.
fn inode(ext: &Ext, number: u32, report: &mut InodeReport) -> Result<Option<FileType>> {
    let ino = Ino(number.into());
    let Some(inode) = report.findings.record(ext.inode(ino))? else {
        return Ok(None);
    };
    report.findings.record(ext.xattrs(ino))?;
    match inode.kind {
        FileType::File => {
            let all = &mut |_| ControlFlow::Continue(());
            report.findings.record(ext.extents(ino, 0, all))?;
        }
        FileType::Symlink => {
            report.findings.record(ext.read_link(ino))?;
        }
        _ => {}
    }
    Ok(Some(inode.kind))
}
