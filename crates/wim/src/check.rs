//! Checks an image: the integrity table, the content of every blob by its SHA-1, and every inode.
//!
//! In: a source. Out: `Report`, which lists every problem with its location.
//!
//! **Invariant:** continues after damage where possible. Content is decoded only for a deep check.

use std::sync::Arc;

use sinterfs_block::checksum::Sha1;
use sinterfs_block::{Bytes, ReadAt};
use sinterfs_model::{Error, FileType, Findings, Image, Ino, Kind, Observer, Result, Stage, Tally};

use crate::layout::{HEADER_LEN, HeaderFlags, word};
use crate::read::{OpenOptions, Wim};

/// Bytes that are read at once.
const PIECE: u64 = 1 << 20;

/// What a check found.
#[derive(Debug, Default)]
pub struct Report {
    /// The number of inodes checked.
    pub inodes: u64,
    /// Problems and notes, in the order of the image.
    pub findings: Findings,
}

impl Report {
    /// Records damage as a finding; returns errors that end the check.
    fn record(&mut self, result: Result<()>) -> Result<()> {
        match result {
            Ok(()) => Ok(()),
            Err(error) if matches!(error.kind(), Kind::Io | Kind::Cancelled) => Err(error),
            Err(error) => {
                self.findings.problem(error);
                Ok(())
            }
        }
    }
}

/// Checks the image in a source; `deep` tells whether all content is read.
///
/// Damage is reported, not returned as an error. Fails only if nothing could be checked: there is
/// no image, a part is missing, reading failed, or the observer cancelled.
pub fn check(
    source: Arc<dyn ReadAt>,
    options: &OpenOptions,
    deep: bool,
    observer: &dyn Observer,
) -> Result<Report> {
    let mut report = Report::default();
    let image = match Wim::open(source, options) {
        Ok(image) => image,
        Err(error) if matches!(error.kind(), Kind::Corrupt | Kind::Limit) => {
            report.findings.problem(error);
            return Ok(report);
        }
        Err(error) => return Err(error),
    };
    if image.header().flags.has(HeaderFlags::WRITE_IN_PROGRESS) {
        let note = "the header says that a program was writing the file";
        report.findings.note(note.to_owned());
    }
    for what in image.left_out() {
        report
            .findings
            .problem(Error::corrupt(what.clone()).within("metadata"));
    }
    for part in 0..image.contents.parts.len() {
        integrity(&image, part, &mut report, observer)?;
    }
    if deep {
        blobs(&image, &mut report, observer)?;
    }
    for (number, node) in (1..).zip(&image.nodes.all) {
        fail_if_cancelled(observer)?;
        if node.kind == FileType::Symlink {
            report.record(image.read_link(Ino(number)).map(drop))?;
        }
        report.inodes += 1;
    }
    Ok(report)
}

/// Reads every blob; one that is read as a whole is compared with its SHA-1.
fn blobs(image: &Wim, report: &mut Report, observer: &dyn Observer) -> Result<()> {
    let table = &image.contents.table;
    observer.expect(Stage::Verify, Tally::bytes(image.decoded_bytes()));
    // in the order of the file, so that each chunk is decoded once
    let mut order: Vec<u32> = (0..).take(table.blobs.len()).collect();
    order.sort_by_key(|number| {
        let found = table.get(*number);
        found.map(|(blob, resource)| (resource.part, resource.at, blob.at))
    });
    let mut room = vec![0; usize::try_from(PIECE).unwrap_or(0)];
    for number in order {
        let mut offset = 0;
        loop {
            fail_if_cancelled(observer)?;
            match image.contents.read_blob(number, offset, &mut room) {
                Ok(0) => break,
                Ok(read) => {
                    offset += read as u64;
                    observer.advance(Stage::Verify, Tally::bytes(read as u64));
                }
                Err(error) => {
                    report.record(Err(error))?;
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Compares a part with its integrity table, which covers what is between the header and the end of
/// the blob table.
fn integrity(image: &Wim, part: usize, report: &mut Report, observer: &dyn Observer) -> Result<()> {
    let Some(file) = image.contents.parts.get(part) else {
        return Ok(());
    };
    let entry = file.header.integrity;
    if entry.stored == 0 {
        return Ok(());
    }
    let located = |error: Error| {
        error.at(
            "integrity table",
            file.window.start().saturating_add(entry.at),
        )
    };
    let table = file.window.read(entry.at, entry.stored);
    let table: Bytes = match table {
        Ok(table) => table,
        Err(error) => return report.record(Err(Error::corrupt(error.to_string()))),
    };
    let (count, step) = (word(&table, 4), word(&table, 8));
    let start = HEADER_LEN as u64;
    let end = file
        .header
        .blobs
        .at
        .saturating_add(file.header.blobs.stored);
    let digests = table.get(12..).unwrap_or_default().as_chunks::<20>().0;
    let expected = end.saturating_sub(start).checked_div(step.into());
    let is_whole = expected.is_some_and(|whole| {
        let rest = u64::from(end.saturating_sub(start) % u64::from(step) != 0);
        whole + rest == u64::from(count) && digests.len() as u64 == u64::from(count)
    });
    if !is_whole || end > file.window.len() {
        let what = format!("{count} digests of {step} bytes each");
        return report.record(Err(located(Error::corrupt(what))));
    }
    let mut at = start;
    for digest in digests {
        let until = at.saturating_add(step.into()).min(end);
        let mut state = Sha1::default();
        let from = at;
        while at < until {
            fail_if_cancelled(observer)?;
            let now = PIECE.min(until - at);
            state.update(&file.window.read(at, now)?);
            at += now;
        }
        if state.finish() != *digest {
            let what = format!("the bytes from {from:#x} to {until:#x} have another SHA-1");
            report.record(Err(located(Error::corrupt(what))))?;
        }
    }
    Ok(())
}

fn fail_if_cancelled(observer: &dyn Observer) -> Result<()> {
    if observer.cancelled() {
        return Err(Error::new(Kind::Cancelled, "stopped on request"));
    }
    Ok(())
}
