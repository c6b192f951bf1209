//! What is asked of a format for a new image: the request's options and the level's, resolved.
//!
//! **Invariant:** an option that the format has no meaning for is an error.

use sinterfs_block::codec::Encoding;
use sinterfs_model::{Error, Result};
use sinterfs_pipeline::Categorizers;

use crate::write::asked::Asked;
use crate::write::create::{CreateOptions, SolidOptions};
use crate::write::job::Prepared;
use crate::write::level::Level;
use crate::write::pipeline_format::PipelineFormat;
use crate::write::request::BuildRequest;
use crate::write::times;

/// Resolves what is asked of the format.
pub(crate) fn create_options(
    request: &BuildRequest,
    name: &str,
    format: &dyn PipelineFormat,
    prepared: &Prepared,
) -> Result<CreateOptions> {
    Asked::refuse_unknown(name, |option| format.knows(option), &asked(request))?;
    let level = format.level(request.level, &request.volume)?;
    let block_size = request.block_size.unwrap_or(1 << level.block_bits);
    if !block_size.is_power_of_two() {
        return Err(Error::invalid(format!(
            "block size {block_size}: must be a power of two"
        )));
    }
    let compression = request.compression.as_deref().unwrap_or(level.compression);
    let mut per_file = request.per_file.clone();
    if request.level == 0 && request.compression.is_none() && per_file.raw.is_none() {
        per_file.raw = Some("all".to_owned());
    }
    Ok(CreateOptions {
        compression: compression.to_owned(),
        block_size,
        create_timestamp: request.create_timestamp,
        threads: request.threads,
        solid: solid_options(request, level, prepared)?,
        duplicates: request.duplicates,
        per_file,
        volume: request.volume.clone(),
    })
}

/// Lists the options that not every format knows, and whether they are asked for.
pub(crate) fn asked(request: &BuildRequest) -> Vec<(bool, Asked)> {
    let (per_file, volume) = (&request.per_file, &request.volume);
    let composefs = &request.composefs;
    // all kinds are all that the format can tell apart
    let chosen = request
        .categorizers
        .filter(|&chosen| chosen != Categorizers::ALL);
    let media = chosen.is_some_and(|chosen| chosen.audio || chosen.images);
    vec![
        (!request.by_category.is_empty(), Asked::CategoryCompression),
        (
            request.metadata_compression.is_some(),
            Asked::MetadataCompression,
        ),
        (media, Asked::Media),
        (request.base.is_some(), Asked::Base),
        (request.lookback.is_some(), Asked::Lookback),
        (request.time_resolution.is_some(), Asked::TimeResolution),
        (request.keep_all_times, Asked::AllTimes),
        (request.pack_metadata.is_some(), Asked::PackMetadata),
        (!request.history, Asked::NoHistory),
        (!request.section_index, Asked::NoSectionIndex),
        (request.with_digest, Asked::WithDigest),
        (per_file.tails.is_some(), Asked::Tails),
        (per_file.raw.is_some(), Asked::NoCompress),
        (per_file.chunk_size.is_some(), Asked::ChunkSize),
        (request.blob_device.is_some(), Asked::BlobDevice),
        (per_file.no_holes, Asked::NoSparse),
        (per_file.no_xattrs, Asked::NoXattrs),
        (!per_file.xattr_prefixes.is_empty(), Asked::XattrPrefix),
        (per_file.no_export, Asked::NoExports),
        (per_file.no_padding, Asked::NoPad),
        (volume.uuid.is_some(), Asked::Uuid),
        (volume.label.is_some(), Asked::Label),
        (volume.target_kernel.is_some(), Asked::TargetKernel),
        (volume.extended.is_some(), Asked::Extended),
        (composefs.digest_store.is_some(), Asked::DigestStore),
        (
            composefs.min_version.is_some() || composefs.max_version.is_some(),
            Asked::FormatVersion,
        ),
        (composefs.skip_devices, Asked::SkipDevices),
        (composefs.user_xattrs, Asked::UserXattrs),
    ]
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
        // who names a codec gets no other, and what that would hardly make smaller is stored
        incompressible: match request.compression {
            Some(_) => Encoding::None,
            None => level.special.incompressible.parse()?,
        },
        // decoded in a moment, unless somebody names a codec
        hot: match request.compression {
            Some(_) => None,
            None => level.special.hot.map(str::parse).transpose()?,
        },
        metadata_compression: metadata.parse()?,
        time_resolution,
        keep_all_times: request.keep_all_times || of_images.is_some_and(|(_, all)| all),
        history: request
            .history
            .then(|| settings_in_words(request, level, prepared.command, time_resolution)),
        former: prepared.former.clone(),
        packing: request.pack_metadata.clone(),
        section_index: request.section_index,
        digest: request.with_digest,
    })
}

/// Returns the settings that made the image: what its bytes depend on besides the input, and neither
/// paths nor the number of threads.
fn settings_in_words(
    request: &BuildRequest,
    level: &Level,
    command: &str,
    time_unit: u64,
) -> Vec<String> {
    let order = request.order.unwrap_or(level.order);
    let mut words = vec![
        "sinter".to_owned(),
        command.to_owned(),
        format!("--level={}", request.level),
        format!(
            "--compression={}",
            request.compression.as_deref().unwrap_or(level.compression)
        ),
        format!(
            "--block-size={}",
            request.block_size.unwrap_or(1 << level.block_bits)
        ),
        format!("--order={order}"),
        match &request.time_resolution {
            Some(text) => format!("--time-resolution={text}"),
            None => format!("--time-resolution={}", times::shown(time_unit)),
        },
    ];
    for (category, compression) in &request.by_category {
        words.push(format!("--compression={category}::{compression}"));
    }
    words.extend(request.categorizers.map(|chosen| match chosen {
        Categorizers::NONE => "--no-categorize".to_owned(),
        chosen => format!("--categorize={chosen}"),
    }));
    if !request.duplicates {
        words.push("--no-duplicates".to_owned());
    }
    words.extend(request.sort.as_ref().map(|_| "--sort".to_owned()));
    words.extend(request.hot.as_ref().map(|_| "--hot".to_owned()));
    words.extend(request.base.as_ref().map(|_| "--base".to_owned()));
    words.extend(
        request
            .lookback
            .map(|blocks| format!("--lookback={blocks}")),
    );
    words
}
