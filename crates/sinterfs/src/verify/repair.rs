//! Restoring an image from its parity.
//!
//! In: an image and its parity file. Out: both as they were when the parity was made, or the image
//! as a new file. **Invariant:** a file gets its name only when its bytes were compared with the
//! checksums in the parity file, and the file that it replaces keeps another name: what is taken
//! for damage may be a newer image. Spec: `docs/formats/parity.md`.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_format::{Bid, CheckOptions, Format};
use sinterfs_model::{Error, Observer, Quiet, Result, Setting};
use sinterfs_parity::{ParityRecord, Restored, restore};
use sinterfs_platform::files;

use super::parity::{ParityReport, Sources, scratch, write_record};
use super::seems_sound::seems_sound;
use crate::formats;
use crate::open_options::OpenOptions;
use crate::output::Output;
use crate::place;

/// Bytes that are compared at once.
const STEP: u64 = 1 << 20;

/// The most images that are kept under names of their own beside one image.
const MOST_KEPT: u32 = 1000;

/// What is to be repaired, and how.
#[derive(Debug, Clone, Default)]
pub struct RepairRequest {
    /// The image file.
    pub image: PathBuf,
    /// Its parity file.
    pub parity: PathBuf,
    /// The file for the restored image, if neither of the two is to be changed.
    pub output: Option<PathBuf>,
    /// Whether `output` may exist, and an image that seems to be sound is replaced.
    pub force: bool,
    /// Threads that work; 0 means as many as the machine runs at once.
    pub threads: usize,
}

/// What a repair did.
#[derive(Debug)]
#[non_exhaustive]
pub struct RepairReport {
    /// What was found before.
    pub found: ParityReport,
    /// Where the image is now that was replaced.
    pub kept: Option<PathBuf>,
    /// Why the parity is still damaged, although the image is restored.
    pub parity_failed: Option<Error>,
}

/// Restores an image, and its parity, as they were when the parity was made: in place, or the image
/// as a new file. What is not damaged is not written. The image that was there is kept under
/// another name, `IMAGE.damaged`.
///
/// `Corrupt` if more is damaged than can be restored, `Invalid` if the image seems to be another
/// one than that of the parity, and not a damaged one; nothing is changed then.
pub fn repair(request: &RepairRequest, observer: &dyn Observer) -> Result<RepairReport> {
    let (image, parity) = (&*request.image, &*request.parity);
    let sources = Sources::open(image, parity)?;
    let examined = sources.examine(request.threads, observer)?;
    let mut report = RepairReport {
        found: ParityReport::new(&examined),
        kept: None,
        parity_failed: None,
    };
    let found = report.found;
    let output = match &request.output {
        Some(output) => Some((&**output, request.force)),
        None if found.is_image_damaged() => {
            may_replace(request, found, observer)?;
            Some((image, true))
        }
        None if found.is_parity_damaged() => None,
        None => return Ok(report),
    };
    let scratch = scratch(output.map_or(parity, |(path, _)| path));
    let output = output.map(|(path, replace)| Output::create(path, replace));
    let output = output.transpose()?;
    let (data, record) = restore(
        &sources.image,
        &sources.parity,
        &examined,
        || scratch.file(),
        request.threads,
        observer,
    )
    .map_err(|error| error.path(image))?;
    let in_place = request.output.is_none() && output.is_some() && !request.force;
    if in_place && differs_where_intact(image, &data)? {
        return Err(another(image));
    }
    match (output, &request.output) {
        (Some(output), Some(path)) => {
            write_image(&data, &record, &output, path)?;
            output.commit()?;
            return Ok(report);
        }
        (Some(output), None) => {
            write_image(&data, &record, &output, image)?;
            output.resemble(image)?;
            report.kept = Some(replace_and_keep(image, output)?);
        }
        (None, _) => {}
    }
    if found.is_parity_damaged() {
        let written = replace_parity(parity, &record);
        match (written, &report.kept) {
            (Err(error), Some(_)) => report.parity_failed = Some(error),
            (written, _) => written?,
        }
    }
    Ok(report)
}

/// Fails if an image is not to be replaced, although it is not the one of its parity.
fn may_replace(
    request: &RepairRequest,
    found: ParityReport,
    observer: &dyn Observer,
) -> Result<()> {
    let image = &*request.image;
    require_file(image)?;
    let is_asked = request.force || !found.is_repairable;
    if !is_asked && is_strange(image, found)? {
        return Err(another(image));
    }
    if !is_asked && seems_sound(image, &request.parity, request.threads, observer)? {
        return Err(not_damaged(image));
    }
    Ok(())
}

/// Returns whether less than half of an image is what the parity was made of.
fn is_strange(image: &Path, found: ParityReport) -> Result<bool> {
    let len = std::fs::metadata(image).map(|found| found.len());
    let len = len.map_err(|error| Error::io("cannot stat", error).path(image))?;
    let there = len
        .div_ceil(found.shard_bytes.max(1))
        .min(u64::from(found.data_shards));
    let intact = u64::from(found.data_shards).saturating_sub(found.damage.data as u64);
    Ok(intact.saturating_mul(2) < there)
}

/// Returns whether a part of an image that is as it was written, by its own checksum, is another
/// one in what the parity restores.
fn differs_where_intact(image: &Path, restored: &Restored<'_>) -> Result<bool> {
    let options = OpenOptions::default();
    let source = place::source(image, &options)?;
    let parts = formats::for_image(&source, &options)
        .and_then(|format| intact_parts(format, &source, &options));
    // bytes may be missing before a part, or be too many
    let moved = [0, source.len().abs_diff(restored.len())];
    let earlier = source.len() < restored.len();
    // what cannot be recognized any more has no such parts
    for part in parts.unwrap_or_default() {
        let is_there = |moved: &u64| {
            let at = if earlier {
                part.start.checked_add(*moved)
            } else {
                part.start.checked_sub(*moved)
            };
            at.map_or(Ok(false), |at| {
                is_same(&*source, part.clone(), restored, at)
            })
        };
        let found: Vec<bool> = moved.iter().map(is_there).collect::<Result<_>>()?;
        if !found.contains(&true) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns parts of an image that are as they were written: by their checksums or, where a format
/// has none, its head if the structure of the image has no damage.
fn intact_parts(
    format: &dyn Format,
    source: &Arc<dyn ReadAt>,
    options: &OpenOptions,
) -> Result<Vec<Range<u64>>> {
    let Some(provable) = format.provable() else {
        return Ok(Vec::new());
    };
    let options = &options.read();
    let mut parts = provable.intact_parts(source, options)?;
    let head = provable.head();
    let starts_here = matches!(format.bid(source, options)?, Bid::Certain);
    if parts.is_empty() && !head.is_empty() && starts_here {
        let depth = CheckOptions {
            deep: false,
            threads: 0,
        };
        let report = format.check(Arc::clone(source), options, depth, &Quiet)?;
        parts.extend(report.problems.is_empty().then_some(head));
    }
    Ok(parts)
}

/// Returns whether a range has the same bytes as those from `other` on of a restored image.
fn is_same(
    source: &dyn ReadAt,
    part: Range<u64>,
    restored: &Restored<'_>,
    other: u64,
) -> Result<bool> {
    let len = part.end.saturating_sub(part.start);
    if other
        .checked_add(len)
        .is_none_or(|end| end > restored.len())
    {
        return Ok(false);
    }
    let mut done = 0;
    while done < len {
        let step = STEP.min(len - done);
        let [own, new] = [
            source.read(part.start + done, step)?,
            restored.read(other + done, step)?,
        ];
        if *own != *new {
            return Ok(false);
        }
        done += step;
    }
    Ok(true)
}

fn another(image: &Path) -> Error {
    let option = Setting::Replace;
    let what = format!(
        "the parity seems to belong to another image, or to an earlier version: undamaged parts \
         do not match it; use {option} to restore its image all the same, or -o to \
         write that to a new file"
    );
    Error::invalid(what).about([option]).path(image)
}

/// Fails for an image that is not in a regular file.
pub(super) fn require_file(image: &Path) -> Result<()> {
    if image.is_file() {
        return Ok(());
    }
    let what = "only files are repaired in place, since a device cannot be kept under another \
                name; write the image to a new file";
    Err(Error::invalid(what).path(image))
}

fn replace_parity(path: &Path, record: &ParityRecord) -> Result<()> {
    if !path.is_file() {
        let what = "only files are repaired in place; write a new parity file";
        return Err(Error::invalid(what).path(path));
    }
    let output = Output::create(path, true)?;
    write_record(record, &output, path)?;
    output.resemble(path)?;
    output.commit()
}

fn write_image(
    data: &Restored<'_>,
    record: &ParityRecord,
    output: &Output,
    path: &Path,
) -> Result<()> {
    let mut out = output.writer();
    data.for_each_part(record, |part| {
        let written = out.write_all(part);
        written.map_err(|error| Error::io("cannot write the image", error).path(path))
    })
}

fn not_damaged(image: &Path) -> Error {
    let option = Setting::Replace;
    let what = format!(
        "the image is not the one of which the parity was made, but passes its own check, so it \
         may be a newer one; use {option} to restore the former image all the same"
    );
    Error::invalid(what).about([option]).path(image)
}

/// Renames a complete file to the image, and the image to another name, which is returned.
pub(super) fn replace_and_keep(image: &Path, output: Output) -> Result<PathBuf> {
    let image = std::fs::canonicalize(image)
        .map_err(|error| Error::io("cannot resolve the image", error).path(image))?;
    let kept = keep(&image)?;
    let committed = output.commit();
    if let Err(error) = committed {
        undo(&image, &kept);
        return Err(error);
    }
    Ok(kept)
}

/// Links a file under a further name beside it that no file has, and returns that.
fn keep(image: &Path) -> Result<PathBuf> {
    let failed = |error: std::io::Error, name: &Path| {
        Error::io("cannot keep the damaged image under this name", error).path(name)
    };
    for number in 1..=MOST_KEPT {
        let mut name = OsString::from(image);
        name.push(".damaged");
        if number > 1 {
            name.push(format!(".{number}"));
        }
        let name = PathBuf::from(name);
        match std::fs::hard_link(image, &name) {
            Ok(()) => return Ok(name),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) if has_no_links(&error) => {
                // without links, the image has no name of its own for a moment
                match files::rename_new(image, &name) {
                    Ok(()) => return Ok(name),
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(failed(error, &name)),
                }
            }
            Err(error) => return Err(failed(error, &name)),
        }
    }
    let what = format!("{MOST_KEPT} images are kept beside it; remove some of them");
    Err(Error::limit(what).path(image))
}

/// Returns whether links cannot be made here: FAT has none, and of other users' files there may be
/// none.
fn has_no_links(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::PermissionDenied | ErrorKind::Unsupported | ErrorKind::TooManyLinks
    )
}

/// Removes the further name of an image that was not replaced. What fails leaves the image under
/// both names, or under that one.
fn undo(image: &Path, kept: &Path) {
    match (files::identity(image), files::identity(kept)) {
        (Ok(now), Ok(before)) if now == before => drop(std::fs::remove_file(kept)),
        (Err(_), Ok(_)) => {
            drop(std::fs::hard_link(kept, image).or_else(|_| files::rename_new(kept, image)));
        }
        _ => {}
    }
}
