//! Checks an image: every hash of every section, the order of sections, the metadata, and, if
//! requested, every block by decoding it.
//!
//! In: a source. Out: `Report`, which lists every problem with its location.
//!
//! **Invariant:** continues after damage as far as sections can be found. The report does not
//! depend on the number of threads. Memory: one block per thread, stored and decoded.

mod intact;
mod report;
mod sections;
mod tables;

use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Observer, Result};

use crate::read::{Dwarfs, ReadOptions, metadata_copy};

pub use intact::intact_sections;
pub use report::Report;
pub(crate) use tables::needed_block_lens;

/// Checks the image in a source with `threads` threads (0: one for each processor); `deep` also
/// decodes all blocks.
///
/// Damage is reported, not returned as an error. Fails only if nothing could be checked: there is
/// no image, its version is unknown, reading failed, or the observer cancelled.
pub fn check(
    source: Arc<dyn ReadAt>,
    options: &ReadOptions,
    deep: bool,
    threads: usize,
    observer: &dyn Observer,
) -> Result<Report> {
    let mut report = Report::default();
    let reader = Dwarfs::find(Arc::clone(&source), options)?;
    let end = reader.file_offset(reader.len());
    if options.len.is_none() && end < source.len() {
        let bytes = source.len() - end;
        report.after = bytes;
        report.findings.note(format!(
            "{bytes} bytes after the image, at {end:#x}, are not part of it"
        ));
    }
    let image = match Dwarfs::open(source, options) {
        Ok(image) => Some(image),
        Err(error) if error.kind() == sinterfs_model::Kind::Io => return Err(error),
        Err(error) => {
            report.findings.problem(error);
            None
        }
    };
    let found = sections::list(&reader, &options.limits, &mut report)?;
    let needed = image.as_ref().map(needed_block_lens);
    let job = sections::Job {
        reader: &reader,
        found: &found,
        deep,
        threads,
        block_limit: image
            .as_ref()
            .map_or(options.limits.block, Dwarfs::block_size),
        needed: needed.as_deref(),
        observer,
    };
    job.run(&mut report)?;
    if let Some(image) = &image {
        for error in image.damaged_metadata() {
            report.findings.problem(error);
        }
        let limit = options.limits.metadata;
        if let Some(stale) = metadata_copy::stale(&image.reader, &image.sections, limit) {
            report.findings.problem(stale);
        }
        if let Some(trouble) = image.unusable_xattrs() {
            report.findings.problem(trouble);
        }
        tables::check(image, &mut report);
    }
    Ok(report)
}
