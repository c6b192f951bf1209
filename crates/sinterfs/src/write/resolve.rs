//! Resolves the options of a new image from the request and its level.
//!
//! **Invariant:** an option of all formats that this one has no meaning for is an error.

use std::sync::Arc;

use sinterfs_format::{CreateOptions, PipelineFormat, ScratchFiles};
use sinterfs_model::{Categorizers, Error, Result, Setting};
use sinterfs_platform::Scratch;
use sinterfs_source::Action;

use crate::write::history;
use crate::write::job::Prepared;
use crate::write::level_of::level_of;
use crate::write::request::BuildRequest;

/// Resolves the options for the format.
pub(crate) fn create_options(
    request: &BuildRequest,
    name: &str,
    format: &dyn PipelineFormat,
    prepared: &Prepared,
) -> Result<CreateOptions> {
    refuse_without_effect(request, name, format)?;
    let settings = level_of(format, request)?;
    let block_size = request.block_size.unwrap_or(1 << settings.block_bits);
    if !block_size.is_power_of_two() {
        return Err(Error::invalid(format!(
            "block size {block_size}: must be a power of two"
        )));
    }
    let compression = request
        .compression
        .as_deref()
        .unwrap_or(settings.compression);
    if request.block_size.is_some() && !format.cuts_blocks(compression) {
        let option = Setting("block_size");
        let what = format!("{option} does not apply to {name} images without compression");
        return Err(Error::invalid(what).about([option]));
    }
    Ok(CreateOptions {
        compression: compression.to_owned(),
        is_compression_chosen: request.compression.is_some(),
        level: request.level,
        settings,
        block_size,
        create_timestamp: request.create_timestamp,
        threads: request.threads,
        scratch: scratch_files(request),
        duplicates: request.duplicates,
        xattrs: request.keep_xattrs,
        streams: prepared.input.stream_attributes().clone(),
        source_times: prepared.input.times(),
        run: history::of_build(request, settings, prepared.command),
        former: prepared.former.clone(),
    })
}

/// Returns what opens scratch files in the request's directory.
fn scratch_files(request: &BuildRequest) -> ScratchFiles {
    let scratch = Scratch::new(request.scratch_dir());
    ScratchFiles(Arc::new(move || scratch.file()))
}

/// Fails with `Invalid` for an option that most formats have a meaning for, but not this one.
fn refuse_without_effect(
    request: &BuildRequest,
    name: &str,
    format: &dyn PipelineFormat,
) -> Result<()> {
    let known = format.capabilities();
    // "all" means the kinds that the format distinguishes
    let chosen = request.categorizers;
    let chosen = chosen.filter(|&chosen| chosen != Categorizers::ALL);
    let media = chosen.is_some_and(|chosen| chosen.audio || chosen.images);
    let given = |is_set: fn(&Action) -> bool| request.actions.iter().any(is_set);
    let options = [
        (media, known.media_categories, "media_categories"),
        (
            given(Action::sets_layout),
            known.placed_tails,
            "actions about tails and alignment",
        ),
        (
            given(Action::stores_uncompressed),
            known.uncompressed_files,
            "actions about compression",
        ),
        (!request.duplicates, known.repeated_files, "duplicates"),
        (
            asks_time_of_creation(request),
            known.creation_time,
            "create_timestamp",
        ),
    ];
    let unknown = options
        .into_iter()
        .find(|(is_given, is_known, _)| *is_given && !is_known);
    unknown.map_or(Ok(()), |(.., option)| {
        Err(refused(option, &format!("{name} images")))
    })
}

/// Returns the error about an option of all formats that has no meaning here.
pub(crate) fn refused(option: &'static str, of: &str) -> Error {
    let option = Setting(option);
    Error::invalid(format!("{option} does not apply to {of}")).about([option])
}

/// Returns whether the request names a time of creation itself; that of SOURCE_DATE_EPOCH, which
/// limits the times of files, too, is for formats that record one.
pub(crate) fn asks_time_of_creation(request: &BuildRequest) -> bool {
    let of_files = request.attributes.latest_time.map(i64::unsigned_abs);
    request.create_timestamp.is_some() && request.create_timestamp != of_files
}
