//! Verifying an image: the format's checksums and structure, then, if asked, every file as a reader
//! sees it.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use sinterfs_block::ReadAt;
use sinterfs_block::digest::Verified;
use sinterfs_format::{CheckOptions, CheckReport, Format, ReadOptions};
use sinterfs_model::{Error, Findings, Image, Kind, Observer, Result, Stage, Tally};
use sinterfs_platform::names;

use crate::formats;
use crate::image::disk::ChosenPartition;
use crate::open::reader_options::format_to_open;
use crate::open::trusted_source::{self, TrustedSource};
use crate::open_options::OpenOptions;
use crate::place;

/// Verifies an image: checksums and structure, with `deep` also every block and file.
///
/// Damage is in the report; an error means that nothing could be checked.
pub fn check(
    path: &Path,
    options: &OpenOptions,
    depth: CheckOptions,
    observer: &dyn Observer,
) -> Result<CheckReport> {
    let located = |error: Error| error.path(place::shown(path));
    let source = place::source(path, options)?;
    let plain = Arc::clone(&source);
    let asked = options.beside(path);
    let trusted = trusted_source::prove(source, &asked).map_err(located)?;
    if let Some(verified) = &trusted.verified {
        let problems = wrong_bytes(verified, depth, observer)?;
        if !problems.is_empty() {
            let mut report = CheckReport::default();
            report.problems = problems;
            report.root_digest = trusted.root();
            report.signed.clone_from(&trusted.comment);
            return Ok(report);
        }
    }
    let trusted = trusted_source::inside(trusted).map_err(located)?;
    let TrustedSource {
        source,
        options,
        verified,
        in_image,
        unproven_header,
        comment,
        disk,
        ..
    } = &trusted;
    let source = Arc::clone(source);
    let format = format_to_open(&trusted).map_err(located)?;
    let mut report = format
        .check(Arc::clone(&source), &options.read(), depth, observer)
        .map_err(located)?;
    let notes = disk.iter().flat_map(ChosenPartition::notes);
    report.notes.extend(notes);
    match verified {
        Some(_) => {
            report.root_digest = trusted.root();
            report.signed = comment.clone();
            if *in_image {
                let more = uncovered(plain, &asked, depth, observer).map_err(located)?;
                report.problems.extend(more.problems);
                // who names the offset of the image knows what is before it
                let before = unproven_header * u64::from(asked.offset.is_none());
                name_uncovered(&mut report, before, more.after);
            }
        }
        None => own_digest(format, &source, options, &mut report, depth, observer)?,
    }
    if depth.deep {
        let is_sound = report.problems.is_empty();
        // which files are hurt is of interest where the image is opened for salvage only
        let salvaging = ReadOptions {
            salvage: true,
            ..options.read()
        };
        match format.open(source, &salvaging).map_err(located) {
            Ok(opened) => read_files(&**opened.image(), &mut report, depth, observer)?,
            // the problems include what keeps the image from being opened
            Err(_) if !is_sound => {}
            Err(error) => return Err(error),
        }
    }
    keep_first(&mut report.problems);
    Ok(report)
}

/// Returns whether a file is an image of a known format.
pub fn is_image(path: &Path) -> Result<bool> {
    let options = OpenOptions::default();
    let source = place::source(path, &options)?;
    match formats::for_image(&source, &options) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == Kind::Unsupported => Ok(false),
        Err(error) => Err(error.path(place::shown(path))),
    }
}

/// Returns what is wrong with an image as it is without its proof. Its digests do not cover their
/// own header and what follows them, such as a section index; that says nothing about content, but
/// who proves an image expects no weaker check than who does not.
fn uncovered(
    source: Arc<dyn ReadAt>,
    options: &OpenOptions,
    depth: CheckOptions,
    observer: &dyn Observer,
) -> Result<CheckReport> {
    let depth = CheckOptions {
        deep: false,
        ..depth
    };
    let options = OpenOptions {
        trust: None,
        ..options.clone()
    };
    let format = formats::for_image(&source, &options)?;
    format.check(source, &options.read(), depth, observer)
}

/// Names what of the file nothing vouches for: a problem where the image is signed, since who runs
/// or passes on the file takes all of it for signed; a note where only its digest is known.
fn name_uncovered(report: &mut CheckReport, before: u64, after: u64) {
    let is_signed = report.signed.is_some();
    let by = if is_signed { "signature" } else { "digest" };
    for (bytes, place) in [(before, "before"), (after, "after")] {
        if bytes > 0 {
            let what = format!("{bytes} bytes {place} the image are not covered by its {by}");
            let list = if is_signed {
                &mut report.problems
            } else {
                &mut report.notes
            };
            list.push(what);
        }
    }
}

/// Reads every file, and adds to a report which of them cannot be read.
fn read_files(
    image: &dyn Image,
    report: &mut CheckReport,
    depth: CheckOptions,
    observer: &dyn Observer,
) -> Result<()> {
    let collector = Collector {
        inner: observer,
        found: Mutex::default(),
    };
    let is_sound = report.problems.is_empty();
    match sinterfs_ops::verify(image, depth.threads, &collector) {
        Ok(verified) => report.files = verified.files,
        // metadata that cannot be walked is among the problems already
        Err(error) if !is_sound && error.kind() != Kind::Cancelled => {}
        Err(error) => return Err(error),
    }
    let found = collector.found.into_inner();
    let found = found.unwrap_or_else(PoisonError::into_inner);
    let (problems, _) = found.findings.into_messages();
    report.problems.extend(problems);
    report.damaged.extend(found.paths);
    Ok(())
}

/// Removes problems that were found by an earlier step, too.
fn keep_first(problems: &mut Vec<String>) {
    let mut seen = HashSet::new();
    problems.retain(|problem| seen.insert(problem.clone()));
}

/// Compares the image with the digests that it has of itself.
fn own_digest(
    format: &dyn Format,
    source: &Arc<dyn ReadAt>,
    options: &OpenOptions,
    report: &mut CheckReport,
    depth: CheckOptions,
    observer: &dyn Observer,
) -> Result<()> {
    let own = format
        .digested()
        .map_or(Ok(None), |format| format.digest(source, &options.read()));
    match own {
        Ok(None) => {}
        Ok(Some(own)) => {
            let root = own.digests.root();
            let verified = Verified::new(Arc::clone(source), own.start, own.digests)?;
            report
                .problems
                .extend(wrong_bytes(&verified, depth, observer)?);
            report.root_digest = Some(root);
        }
        Err(error) if error.kind() == Kind::Io => return Err(error),
        Err(error) => {
            // where the image itself cannot be read, that has been reported
            let is_known = report
                .problems
                .iter()
                .any(|problem| *problem == error.to_string());
            report
                .problems
                .extend((!is_known).then(|| error.to_string()));
        }
    }
    Ok(())
}

/// Returns which parts of an image are not what its digests were made of.
fn wrong_bytes(
    verified: &Verified,
    depth: CheckOptions,
    observer: &dyn Observer,
) -> Result<Vec<String>> {
    let threads = match depth.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let mut findings = Findings::default();
    let wrong = verified.check(threads, observer)?;
    wrong.into_iter().for_each(|error| findings.problem(error));
    Ok(findings.into_messages().0)
}

/// Keeps what is wrong for the report and passes on everything else.
struct Collector<'a> {
    inner: &'a dyn Observer,
    found: Mutex<Found>,
}

/// What reading files found.
#[derive(Default)]
struct Found {
    findings: Findings<String>,
    /// The paths that are concerned, as many as there are findings.
    paths: BTreeSet<Vec<u8>>,
}

/// The most paths that are kept.
const PATHS: usize = 1 << 20;

impl Observer for Collector<'_> {
    fn expect(&self, stage: Stage, total: Tally) {
        self.inner.expect(stage, total);
    }

    fn advance(&self, stage: Stage, done: Tally) {
        self.inner.advance(stage, done);
    }

    fn warn(&self, warning: &Error) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.findings.problem(warning.to_string());
        if let Some(path) = warning
            .concerned_path()
            .filter(|_| found.paths.len() < PATHS)
        {
            found.paths.insert(names::bytes(path).into_owned());
        }
    }

    fn cancelled(&self) -> bool {
        self.inner.cancelled()
    }
}
