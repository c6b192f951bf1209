//! The report of a build, and the errors of a strict request.

use sinterfs_block::verity::VerityDigest;
use sinterfs_model::{Error, Kind, Loss, LossKind, Observer, Result, Setting};
use sinterfs_source::merge::Conflicts;

pub use sinterfs_pipeline::Report as PipelineReport;

/// The result of a build.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BuildReport {
    /// The format's name.
    pub format: &'static str,
    /// The report of the pipeline.
    pub pipeline: PipelineReport,
    /// The entries hidden where several trees overlap.
    pub conflicts: Conflicts,
    /// Counts of content outside the image, for composefs.
    pub objects: Option<ObjectsReport>,
    /// The name with the digest of its manifest in the registry that the image was pushed to.
    pub pushed: Option<String>,
}

impl BuildReport {
    /// Returns whether every file was read whole, unchanged and at once, and the image keeps it.
    pub fn is_complete(&self) -> bool {
        self.incomplete() == 0
    }

    /// Counts files that were left out, cut, changed while they were read, could not be read at
    /// the first attempt, or that the image does not keep.
    pub fn incomplete(&self) -> u64 {
        self.not_read() + self.not_kept()
    }

    /// Counts entries, and attributes of entries, that the image does not keep although the format
    /// has such.
    pub fn not_kept(&self) -> u64 {
        let losses = self.pipeline.image.losses.iter();
        let of_entries = losses.filter(|loss| loss.is_of_entries());
        of_entries.map(|loss| loss.count).sum()
    }

    fn not_read(&self) -> u64 {
        let pipeline = &self.pipeline;
        pipeline.left_out + pipeline.unreadable + pipeline.changed + pipeline.retried
    }
}

/// Counts of the content of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectsReport {
    /// The fs-verity digest of the image.
    pub digest: VerityDigest,
    /// The version of the format.
    pub version: u32,
    /// Distinct objects that the image names.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Objects that the store did not have.
    pub new_objects: u64,
    /// Their bytes.
    pub new_bytes: u64,
}

/// Returns the error of work that was stopped on request: whichever stage noticed it first, the
/// reason is the same.
pub(crate) fn interrupted(error: Error, observer: &dyn Observer) -> Error {
    if observer.cancelled() {
        Error::new(Kind::Cancelled, "interrupted; nothing was written")
    } else {
        error
    }
}

/// Fails if anything was lost, as `strict` requires.
pub(crate) fn demand_all(report: &BuildReport) -> Result<()> {
    let count = report.not_read();
    if count > 0 {
        let option = Setting("strict");
        let what = format!("{count} files could not be read as they were ({option})");
        return Err(Error::invalid(what).about([option]));
    }
    demand_losses(&report.pipeline.image.losses)
}

/// Returns the first paths of a loss in words.
fn named(loss: &Loss) -> String {
    const MAX: usize = 10;
    if loss.paths.is_empty() {
        return String::new();
    }
    let first = loss.paths.iter().take(MAX);
    let first: Vec<_> = first.map(|path| String::from_utf8_lossy(path)).collect();
    let more = if loss.count > MAX as u64 { ", ..." } else { "" };
    format!(": {}{more}", first.join(", "))
}

/// Fails if the format could not keep something.
pub(crate) fn demand_losses(losses: &[Loss]) -> Result<()> {
    // what is named comes first
    let of_entries = losses.iter().find(|loss| loss.is_of_entries());
    let mut lost = losses.iter().filter(|loss| loss.kind != LossKind::OneTree);
    match of_entries.or(lost.next()) {
        Some(loss) => {
            let option = Setting("strict");
            let can = if loss.settings().next().is_none() {
                "the format can't keep"
            } else {
                "the image would not keep"
            };
            let what = format!("{can} {loss}{} ({option})", named(loss));
            Err(Error::unsupported(what).about([option].into_iter().chain(loss.settings())))
        }
        None => Ok(()),
    }
}
