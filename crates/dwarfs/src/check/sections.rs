//! Sections: found one after the other, compared with the index, hashed and decoded in parallel.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use sinterfs_model::{Error, Kind, Limits, Observer, Result, Stage, Tally};

use super::report::Report;
use crate::framing;
use crate::layout::{IndexEntry, SectionType};
use crate::read::digest::digests;
use crate::read::section::{SectionHeader, SectionRange, SectionReader};

/// Finds all sections by following the headers, and compares them with the index.
pub(super) fn list(
    reader: &SectionReader,
    limits: &Limits,
    report: &mut Report,
) -> Result<Vec<(SectionHeader, SectionRange)>> {
    let mut found = Vec::new();
    for section in reader.walk() {
        match section {
            Ok(section) => found.push(section),
            Err(error) if error.kind() == Kind::Io => return Err(error),
            Err(error) => report.findings.problem(error),
        }
        if found.len() as u64 > limits.sections {
            report.findings.problem(Error::limit(format!(
                "more than {} sections",
                limits.sections
            )));
            break;
        }
    }
    check_order(reader, &found, report);
    check_index(reader, limits, &mut found, report)?;
    check_table(reader, &found, report);
    Ok(found)
}

/// Compares the list of sections in the digests with the sections before them. Damaged digests are
/// found elsewhere.
fn check_table(
    reader: &SectionReader,
    found: &[(SectionHeader, SectionRange)],
    report: &mut Report,
) {
    let is_digest = |(header, _): &(SectionHeader, _)| header.kind == SectionType::DIGEST;
    let Some(at) = found.iter().position(is_digest) else {
        return;
    };
    let (before, rest) = found.split_at(at);
    let range = rest.first().map(|(_, range)| *range);
    let stored = range.and_then(|range| digests(reader, range).ok());
    let Some(table) = stored.and_then(|stored| stored.table()) else {
        return;
    };
    let entry = |(header, range): &(SectionHeader, SectionRange)| {
        IndexEntry::new(header.kind, range.offset).map(|entry| entry.0.get())
    };
    let entries: Option<Vec<u64>> = before.iter().map(entry).collect();
    if entries != Some(table) {
        let at = reader.file_offset(range.map_or(0, |range| range.offset));
        let what = "the list of sections in the digests does not match the image";
        let error = Error::corrupt(what).at(SectionType::DIGEST.to_string(), at);
        report.findings.problem(error);
    }
}

fn check_order(
    reader: &SectionReader,
    found: &[(SectionHeader, SectionRange)],
    report: &mut Report,
) {
    for ((header, range), expected) in found.iter().zip(0_u32..) {
        let offset = reader.file_offset(range.offset);
        if header.kind.name().is_none() {
            report
                .findings
                .note(format!("unknown {} at {offset:#x}", header.kind));
        }
        let Some(v2) = &header.v2 else { continue };
        if v2.number.get() != expected {
            let number = v2.number.get();
            report.findings.problem(
                Error::corrupt(format!("section number {number}, expected {expected}"))
                    .at(header.kind.to_string(), offset),
            );
        }
        if v2.file.minor != reader.minor {
            report.findings.note(format!(
                "the {} at {offset:#x} has version 2.{}, the image 2.{}",
                header.kind, v2.file.minor, reader.minor
            ));
        }
    }
}

/// Compares the index with the sections found; adds those that only the index lists.
fn check_index(
    reader: &SectionReader,
    limits: &Limits,
    found: &mut Vec<(SectionHeader, SectionRange)>,
    report: &mut Report,
) -> Result<()> {
    let Some(entries) = reader.index(limits)? else {
        if let Some((_, range)) = found
            .iter()
            .find(|(header, _)| header.kind == SectionType::SECTION_INDEX)
        {
            report.findings.problem(
                Error::corrupt("the section index is damaged; reading continues without it")
                    .at("SECTION_INDEX", reader.file_offset(range.offset)),
            );
        }
        return Ok(());
    };
    let indexed: BTreeSet<u64> = entries.iter().map(|(_, range)| range.offset).collect();
    for (header, range) in found.iter() {
        if !indexed.contains(&range.offset) {
            let offset = reader.file_offset(range.offset);
            report.findings.note(format!(
                "the {} at {offset:#x} is not in the index",
                header.kind
            ));
        }
    }
    let walked: BTreeSet<u64> = found.iter().map(|(_, range)| range.offset).collect();
    for (kind, range) in entries {
        if walked.contains(&range.offset) {
            continue;
        }
        match reader.header_of(range, kind) {
            Ok(header) => found.push((header, range)),
            Err(error) if error.kind() == Kind::Io => return Err(error),
            Err(error) => report.findings.problem(error),
        }
    }
    Ok(())
}

/// The sections to hash and decode.
pub(super) struct Job<'a> {
    pub(super) reader: &'a SectionReader,
    pub(super) found: &'a [(SectionHeader, SectionRange)],
    pub(super) deep: bool,
    /// The number of threads; 0 means one for each processor.
    pub(super) threads: usize,
    /// The largest decoded length of a block.
    pub(super) block_limit: u64,
    /// The decoded length that chunks need of each block, if the metadata could be read.
    pub(super) needed: Option<&'a [u64]>,
    pub(super) observer: &'a dyn Observer,
}

/// The result of checking one section.
#[derive(Default)]
struct Outcome {
    problems: Vec<Error>,
    decoded: bool,
}

impl Job<'_> {
    /// Checks all sections on several threads.
    pub(super) fn run(&self, report: &mut Report) -> Result<()> {
        let bytes = self
            .found
            .iter()
            .fold(0_u64, |sum, (_, range)| sum.saturating_add(range.len));
        let items = self.found.len() as u64;
        self.observer.expect(
            Stage::Verify,
            Tally {
                items,
                bytes,
                stored: bytes,
            },
        );
        let blocks = self.block_numbers();
        let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let threads = sinterfs_workers::thread_count(self.threads);
        sinterfs_workers::run(threads.min(self.found.len()), "check", || {
            while !self.observer.cancelled() {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some((section, block)) = self.found.get(index).zip(blocks.get(index)) else {
                    break;
                };
                let outcome = self.check(section, *block);
                if let Ok(mut outcomes) = outcomes.lock() {
                    outcomes.push((index, outcome));
                }
            }
        });
        self.observer.check_cancelled()?;
        let mut outcomes = outcomes.into_inner().unwrap_or_default();
        outcomes.sort_by_key(|(index, _)| *index);
        report.sections = items;
        report.bytes = bytes;
        for (_, outcome) in outcomes {
            report.blocks = report.blocks.saturating_add(u64::from(outcome.decoded));
            for problem in outcome.problems {
                if problem.kind() == Kind::Io {
                    return Err(problem);
                }
                report.findings.problem(problem);
            }
        }
        Ok(())
    }

    /// Numbers the blocks among the sections.
    fn block_numbers(&self) -> Vec<Option<usize>> {
        let mut count = 0;
        let number = |(header, _): &(SectionHeader, SectionRange)| {
            (header.kind == SectionType::BLOCK).then(|| {
                count += 1;
                count - 1
            })
        };
        self.found.iter().map(number).collect()
    }

    fn check(&self, section: &(SectionHeader, SectionRange), block: Option<usize>) -> Outcome {
        let (header, range) = section;
        let mut outcome = Outcome::default();
        let name = match block {
            Some(block) => format!("block {block}"),
            None => header.kind.to_string(),
        };
        let offset = self.reader.file_offset(range.offset);
        let mut problem = |error: Error| outcome.problems.push(error.at(name.clone(), offset));
        match self.reader.sha512_256_matches(*range, header) {
            Ok(Some(false)) => problem(Error::corrupt("SHA-512/256 does not match")),
            Ok(_) => {}
            Err(error) => problem(error),
        }
        let stored = self.reader.stored(*range, header);
        let stored = stored.map_err(&mut problem).ok();
        if let (Some(stored), Some(block), true) = (stored, block, self.deep) {
            let id = header.compression.0.get();
            match framing::decode(id, &stored, self.block_limit) {
                Ok(decoded) => {
                    let needed = self.needed.and_then(|needed| needed.get(block).copied());
                    let len = decoded.len() as u64;
                    if let Some(needed) = needed.filter(|needed| *needed > len) {
                        problem(Error::corrupt(format!(
                            "the block has {len} bytes, but files need {needed}"
                        )));
                    }
                    outcome.decoded = true;
                }
                Err(error) => problem(error),
            }
        }
        let done = Tally {
            items: 1,
            bytes: range.len,
            stored: range.len,
        };
        self.observer.advance(Stage::Verify, done);
        outcome
    }
}
