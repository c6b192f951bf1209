//! Resolves the options of a new image from the request and its level.
//!
//! **Invariant:** an option that the format has no meaning for is an error.

use std::sync::Arc;

use sinterfs_codec::Encoding;
use sinterfs_format::{CreateOptions, Level, PipelineFormat, ScratchFiles, SolidOptions};
use sinterfs_model::{Categorizers, Error, Result, Setting};
use sinterfs_platform::Scratch;
use sinterfs_source::Action;

use crate::write::history;
use crate::write::job::Prepared;
use crate::write::level_of::level_of;
use crate::write::request::BuildRequest;
use crate::write::times;

/// Resolves the options for the format.
pub(crate) fn create_options(
    request: &BuildRequest,
    name: &str,
    format: &dyn PipelineFormat,
    prepared: &Prepared,
) -> Result<CreateOptions> {
    refuse_unknown(name, format, &given(request))?;
    let level = level_of(format, request)?;
    let block_size = request.block_size.unwrap_or(1 << level.block_bits);
    if !block_size.is_power_of_two() {
        return Err(Error::invalid(format!(
            "block size {block_size}: must be a power of two"
        )));
    }
    let compression = request.compression.as_deref().unwrap_or(level.compression);
    if request.block_size.is_some() && !format.cuts_blocks(compression) {
        let option = Setting::BlockSize;
        let what = format!("{option} does not apply to {name} images without compression");
        return Err(Error::invalid(what).about([option]));
    }
    let mut per_file = request.per_file.clone();
    if request.level == 0 && request.compression.is_none() && per_file.raw.is_none() {
        per_file.raw = Some("all".to_owned());
    }
    Ok(CreateOptions {
        compression: compression.to_owned(),
        block_size,
        create_timestamp: request.create_timestamp,
        threads: request.threads,
        scratch: scratch_files(request),
        solid: solid_options(request, level, prepared)?,
        duplicates: request.duplicates,
        per_file,
        volume: request.volume.clone(),
        streams: prepared.input.stream_attributes().clone(),
    })
}

/// Returns what opens scratch files in the request's directory.
fn scratch_files(request: &BuildRequest) -> ScratchFiles {
    let scratch = Scratch::new(request.scratch_dir());
    ScratchFiles(Arc::new(move || scratch.file()))
}

/// Fails with `Invalid` for the first option that a format has no meaning for.
fn refuse_unknown(
    name: &str,
    format: &dyn PipelineFormat,
    given: &[(bool, Setting)],
) -> Result<()> {
    let mut unknown = given
        .iter()
        .filter(|&&(is_given, option)| is_given && !format.knows(option));
    match unknown.next() {
        Some(&(_, option)) => {
            let what = format!("{option} does not apply to {name} images");
            Err(Error::invalid(what).about([option]))
        }
        None => Ok(()),
    }
}

/// Lists the options that not every format knows, and whether they are given.
pub(crate) fn given(request: &BuildRequest) -> Vec<(bool, Setting)> {
    let (per_file, volume) = (&request.per_file, &request.volume);
    let composefs = &request.composefs;
    // "all" means the kinds that the format distinguishes
    let chosen = request
        .categorizers
        .filter(|&chosen| chosen != Categorizers::ALL);
    let media = chosen.is_some_and(|chosen| chosen.audio || chosen.images);
    vec![
        (
            !request.by_category.is_empty(),
            Setting::CategoryCompression,
        ),
        (
            request.metadata_compression.is_some(),
            Setting::MetadataCompression,
        ),
        (media, Setting::MediaCategories),
        (request.base.is_some(), Setting::Base),
        (request.lookback.is_some(), Setting::Lookback),
        (request.purpose.is_some(), Setting::Purpose),
        (request.read_cost.is_some(), Setting::ReadCost),
        (request.time_resolution.is_some(), Setting::TimeResolution),
        (request.keep_all_times, Setting::AllTimes),
        (request.pack_metadata.is_some(), Setting::PackMetadata),
        (!request.history, Setting::History),
        (!request.section_index, Setting::SectionIndex),
        (request.with_digest, Setting::WithDigest),
        (request.metadata_copy, Setting::MetadataCopy),
        (per_file.tails.is_some(), Setting::Tails),
        (
            request.actions.iter().any(Action::sets_layout),
            Setting::ActionLayout,
        ),
        (
            request.actions.iter().any(Action::stores_uncompressed),
            Setting::ActionUncompressed,
        ),
        (!request.duplicates, Setting::Duplicates),
        (asks_time_of_creation(request), Setting::CreateTimestamp),
        (per_file.raw.is_some(), Setting::Uncompressed),
        (per_file.chunk_size.is_some(), Setting::ChunkSize),
        (request.blob_device.is_some(), Setting::BlobDevice),
        (per_file.no_holes, Setting::Holes),
        (per_file.no_xattrs, Setting::Xattrs),
        (!per_file.xattr_prefixes.is_empty(), Setting::XattrPrefixes),
        (per_file.no_export, Setting::Exports),
        (per_file.no_padding, Setting::Padding),
        (volume.uuid.is_some(), Setting::Uuid),
        (volume.label.is_some(), Setting::Label),
        (volume.target_kernel.is_some(), Setting::TargetKernel),
        (volume.extended.is_some(), Setting::Extended),
        (composefs.digest_store.is_some(), Setting::DigestStore),
        (
            composefs.min_version.is_some() || composefs.max_version.is_some(),
            Setting::FormatVersion,
        ),
        (composefs.skip_devices, Setting::SkipDevices),
        (composefs.user_xattrs, Setting::UserXattrs),
    ]
}

/// Returns whether the request names a time of creation itself; that of SOURCE_DATE_EPOCH, which
/// limits the times of files, too, is for formats that record one.
fn asks_time_of_creation(request: &BuildRequest) -> bool {
    let of_files = request.attributes.latest_time.map(i64::unsigned_abs);
    request.create_timestamp.is_some() && request.create_timestamp != of_files
}

fn solid_options(
    request: &BuildRequest,
    level: &Level,
    prepared: &Prepared,
) -> Result<SolidOptions> {
    let of_images = prepared.input.times();
    let time_resolution = match (&request.time_resolution, of_images) {
        (Some(text), _) => times::resolution(text)?,
        (None, Some((unit, _))) => unit,
        (None, None) => 1_000_000_000,
    };
    let metadata = request
        .metadata_compression
        .as_deref()
        .unwrap_or(level.metadata_compression);
    let mut by_category = Vec::new();
    for (category, compression) in &request.by_category {
        by_category.push((category.clone(), compression.parse()?));
    }
    Ok(SolidOptions {
        by_category,
        flac_level: level.special.flac,
        // a codec named by the user is the only one; content that it hardly shrinks is stored
        incompressible: match request.compression {
            Some(_) => Encoding::default(),
            None => level.special.incompressible.parse()?,
        },
        // cheap to decode, unless the user names a codec
        hot: match request.compression {
            Some(_) => None,
            None => level.special.hot.map(str::parse).transpose()?,
        },
        metadata_compression: metadata.parse()?,
        time_resolution,
        keep_all_times: request.keep_all_times || of_images.is_some_and(|(_, all)| all),
        history: request
            .history
            .then(|| history::of_build(request, level, prepared.command, time_resolution)),
        former: prepared.former.clone(),
        packing: request.pack_metadata.clone(),
        section_index: request.section_index,
        digest: request.with_digest,
        metadata_copy: request.metadata_copy,
    })
}
