//! Checks an image: the integrity table, the content of every blob by its SHA-1, and every inode.
//!
//! In: a source. Out: `InodeReport`, which lists every problem with its location.
//!
//! **Invariant:** continues after damage where possible. Content is decoded only for a deep check.

use std::sync::Arc;

use sinterfs_block::checksum::{Sha1, Sha1Digest};
use sinterfs_block::{Bytes, ReadAt};
use sinterfs_model::{Error, FileType, Image, Ino, InodeReport, Observer, Result, Stage, Tally};

use crate::layout::{HEADER_LEN, HeaderFlags, word};
use crate::read::{Part, ReadOptions, Wim};

/// Bytes that are read at once.
const PIECE: u64 = 1 << 20;

/// The bytes of an integrity table before its digests, and of each of these.
const TABLE_HEAD: u64 = 12;
const DIGEST_LEN: u64 = 20;

/// Digests that are read together.
const TOGETHER: u64 = 4096;

/// Checks the image in a source; `deep` is whether all content is read.
///
/// Damage is reported, not returned as an error. Fails only if nothing could be checked: there is
/// no image, a part is missing, reading failed, or the observer cancelled.
pub fn check(
    source: Arc<dyn ReadAt>,
    more: &[Arc<dyn ReadAt>],
    options: &ReadOptions,
    deep: bool,
    observer: &dyn Observer,
) -> Result<InodeReport> {
    let mut report = InodeReport::default();
    let Some(mut image) = report.findings.opened(Wim::open(source, more, options))? else {
        return Ok(report);
    };
    if image.header().flags.has(HeaderFlags::WRITE_IN_PROGRESS) {
        let note = "WRITE_IN_PROGRESS is set: the file may be incomplete";
        report.findings.note(note.to_owned());
    }
    if let Some(error) = image.xml_damage.take() {
        report.findings.problem(error);
    }
    for problem in image.left_out() {
        report.findings.problem(problem);
    }
    for part in 0..image.contents.parts.len() {
        integrity(&image, part, &mut report, observer)?;
    }
    if deep {
        blobs(&image, &mut report, observer)?;
    }
    for (number, node) in (1..).zip(&image.nodes.all) {
        observer.check_cancelled()?;
        if node.kind == FileType::Symlink {
            report
                .findings
                .record(image.read_link(Ino(number)).map(drop))?;
        }
        report.inodes += 1;
    }
    Ok(report)
}

/// Reads every blob; one that is read as a whole is compared with its SHA-1.
fn blobs(image: &Wim, report: &mut InodeReport, observer: &dyn Observer) -> Result<()> {
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
            observer.check_cancelled()?;
            match image.contents.read_blob(number, offset, &mut room) {
                Ok(0) => break,
                Ok(read) => {
                    offset += read as u64;
                    observer.advance(Stage::Verify, Tally::bytes(read as u64));
                }
                Err(error) => {
                    report.findings.record::<()>(Err(error))?;
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Digests of the bytes between the header and the end of the blob table.
struct IntegrityTable {
    /// The position of the first digest.
    at: u64,
    count: u64,
    /// The bytes that each digest covers.
    step: u64,
    /// The end of the bytes that they cover.
    end: u64,
}

impl IntegrityTable {
    /// Reads the head of a table.
    fn read(file: &Part) -> Result<Self> {
        let entry = file.header.integrity;
        if entry.stored < TABLE_HEAD {
            let what = format!("a table of {} bytes", entry.stored);
            return Err(Error::corrupt(what));
        }
        let head = file.window.read(entry.at, TABLE_HEAD)?;
        let (count, step) = (u64::from(word(&head, 4)), u64::from(word(&head, 8)));
        let blobs = file.header.blobs;
        let end = blobs.at.saturating_add(blobs.stored);
        let covered = end.saturating_sub(HEADER_LEN as u64);
        let is_whole = step > 0
            && covered.div_ceil(step) == count
            && (entry.stored - TABLE_HEAD) / DIGEST_LEN == count;
        if !is_whole || end > file.window.len() {
            let what = format!("{count} digests of {step} bytes each");
            return Err(Error::corrupt(what));
        }
        Ok(Self {
            at: entry.at.saturating_add(TABLE_HEAD),
            count,
            step,
            end,
        })
    }

    /// Returns up to `TOGETHER` digests from one on.
    fn digests(&self, file: &Part, first: u64) -> Result<Bytes> {
        let count = TOGETHER.min(self.count - first);
        let at = self.at.saturating_add(first * DIGEST_LEN);
        file.window.read(at, count * DIGEST_LEN)
    }
}

/// Compares a part with its integrity table.
fn integrity(
    image: &Wim,
    part: usize,
    report: &mut InodeReport,
    observer: &dyn Observer,
) -> Result<()> {
    let Some(file) = image.contents.parts.get(part) else {
        return Ok(());
    };
    if file.header.integrity.stored == 0 {
        return Ok(());
    }
    let table_at = file.header.integrity.at;
    let located = |error: Error| {
        let at = file.window.start().saturating_add(table_at);
        error.at("integrity table", at)
    };
    let table = IntegrityTable::read(file).map_err(located);
    let Some(table) = report.findings.record(table)? else {
        return Ok(());
    };
    let (mut at, mut first) = (HEADER_LEN as u64, 0);
    while first < table.count {
        let digests = table.digests(file, first).map_err(located);
        let Some(digests) = report.findings.record(digests)? else {
            return Ok(());
        };
        for digest in digests.as_chunks::<20>().0 {
            let until = at.saturating_add(table.step).min(table.end);
            if sha1(file, at, until, observer)? != *digest {
                let what = format!("the bytes from {at:#x} to {until:#x} have another SHA-1");
                report.findings.problem(located(Error::corrupt(what)));
            }
            at = until;
        }
        first += TOGETHER;
    }
    Ok(())
}

/// Computes the digest of bytes of a part.
fn sha1(file: &Part, mut at: u64, end: u64, observer: &dyn Observer) -> Result<Sha1Digest> {
    let mut state = Sha1::default();
    while at < end {
        observer.check_cancelled()?;
        let now = PIECE.min(end - at);
        state.update(&file.window.read(at, now)?);
        at += now;
    }
    Ok(state.finish())
}
