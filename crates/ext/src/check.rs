//! Checks a file system as far as reading it needs: every directory, inode, block list, attribute.
//!
//! In: a source. Out: `Report`, which lists every problem with its location.
//!
//! **Invariant:** continues after damage where possible. Counts, bitmaps and checksums are not
//! compared: that is the work of e2fsck.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, FileType, Findings, Image, Ino, Kind, Observer, Result, Stage, Tally};

use crate::layout::ROOT;
use crate::read::{Ext, OpenOptions};

/// What a check found.
#[derive(Debug, Default)]
pub struct Report {
    /// The number of inodes checked.
    pub inodes: u64,
    /// Problems and notes, in the order of the walk.
    pub findings: Findings,
}

impl Report {
    /// Records damage as a finding; returns errors that end the check.
    fn record<T>(&mut self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(found) => Ok(Some(found)),
            Err(error) if matches!(error.kind(), Kind::Io | Kind::Cancelled) => Err(error),
            Err(error) => {
                self.findings.problem(error);
                Ok(None)
            }
        }
    }
}

/// Checks the file system in a source.
///
/// Damage is reported, not returned as an error. Fails only if nothing could be checked: there is
/// none, its features are unknown, reading failed, or the observer cancelled.
pub fn check(
    source: Arc<dyn ReadAt>,
    options: &OpenOptions,
    observer: &dyn Observer,
) -> Result<Report> {
    let mut report = Report::default();
    let ext = match Ext::open(source, options) {
        Ok(ext) => ext,
        Err(error) if matches!(error.kind(), Kind::Corrupt | Kind::Limit) => {
            report.findings.problem(error);
            return Ok(report);
        }
        Err(error) => return Err(error),
    };
    let mut seen = HashSet::from([ROOT]);
    let mut left = vec![(ROOT, ROOT)];
    while let Some((number, parent)) = left.pop() {
        observer.check_cancelled()?;
        let inode = inode(&ext, number, &mut report)?;
        report.inodes += 1;
        observer.advance(
            Stage::Verify,
            Tally {
                items: 1,
                ..Tally::default()
            },
        );
        if inode != Some(FileType::Directory) {
            continue;
        }
        let listing = ext.fields(number).and_then(|dir| ext.listing(number, &dir));
        if let Some(listing) = report.record(listing)? {
            if listing.parent != parent {
                let (found, what) = (listing.parent, "the parent in the directory");
                let what = format!("{what} is inode {found}, it is in inode {parent}");
                let error = Error::corrupt(what).within(format!("inode {number}"));
                report.findings.problem(error);
            }
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
fn inode(ext: &Ext, number: u32, report: &mut Report) -> Result<Option<FileType>> {
    let ino = Ino(number.into());
    let Some(inode) = report.record(ext.inode(ino))? else {
        return Ok(None);
    };
    report.record(ext.xattrs(ino))?;
    match inode.kind {
        FileType::File => {
            let all = &mut |_| ControlFlow::Continue(());
            report.record(ext.extents(ino, 0, all))?;
        }
        FileType::Symlink => {
            report.record(ext.read_link(ino))?;
        }
        _ => {}
    }
    Ok(Some(inode.kind))
}
