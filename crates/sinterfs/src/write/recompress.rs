//! Making a new image of an image without the tree that it was made of: block by block while their
//! size stays, or by the whole pipeline.
//!
//! Enters a request; leaves the new image's file. **Invariant:** the new image holds what the old
//! one does; damage to the old one is an error, and then nothing is left of the new one.

use std::path::Path;
use std::sync::Arc;

use sinterfs_format::{FormerRuns, MetadataPlan, RewriteOptions};
use sinterfs_model::{Error, Kind, Observer, Result, Setting, Source, Tree};
use sinterfs_platform::Scratch;
use sinterfs_source::image::content_map;

use crate::formats;
use crate::image::Image;
use crate::open;
use crate::open::trusted_source;
use crate::open_options::{OpenOptions, shared_cache};
use crate::output::Output;
use crate::output::destination::Destination;
use crate::place;
use crate::write::attributes::AttributeChanges;
use crate::write::base::former_runs;
use crate::write::header::HeaderBytes;
use crate::write::history;
use crate::write::input::opened::OpenInput;
use crate::write::into_registry;
use crate::write::job::{BuildJob, Prepared};
use crate::write::recompress_request::{RecompressParts, RecompressReport, RecompressRequest};
use crate::write::report::{demand_losses, interrupted};
use crate::write::resolve::create_options;
use crate::write::write_image::write_image;

/// Makes a new image of an image. On an error nothing is left of it.
pub fn recompress(
    request: &RecompressRequest,
    observer: &dyn Observer,
) -> Result<RecompressReport> {
    let build = &request.build;
    let scratch = Scratch::new(build.scratch_dir());
    let make = |destination: &Destination| {
        let mut request = request.clone();
        request.build.destination = destination.clone();
        recompress_to_destination(&request, observer)
    };
    let (mut report, pushed) =
        into_registry::make_for(&build.destination, &scratch, &request.open, make)?;
    match &mut report.rebuilt {
        Some(rebuilt) => rebuilt.pushed = pushed,
        None => report.pushed = pushed,
    }
    Ok(report)
}

/// Fails if the name of the output promises another format than that of the image, which is kept.
fn require_same_format(opened: &Image, output: Option<&Path>) -> Result<()> {
    let Some(output) = output else { return Ok(()) };
    let format = opened.format();
    match formats::promised(output) {
        Ok(None) => Ok(()),
        Ok(Some(promised)) if promised.name() == format => Ok(()),
        _ => {
            let what = format!("the format stays {format}, and this name is for another one");
            Err(Error::invalid(what).path(output))
        }
    }
}

fn recompress_to_destination(
    request: &RecompressRequest,
    observer: &dyn Observer,
) -> Result<RecompressReport> {
    let located = |error: Error| match error.kind() {
        Kind::Corrupt => error.path(place::shown(&request.image)),
        _ => error,
    };
    let file = place::source(&request.image, &request.open)?;
    let cache = shared_cache(request.open.cache_bytes);
    let options = OpenOptions {
        cache: Some(Arc::clone(&cache)),
        ..request.open.clone()
    };
    let trusted = trusted_source::establish(file, &options.beside(&request.image));
    let trusted = trusted.map_err(|e| e.path(place::shown(&request.image)))?;
    let opened = open::open_trusted(&trusted).map_err(|e| e.path(place::shown(&request.image)))?;
    require_same_format(&opened, request.build.output_name().as_deref())?;
    let block_size = opened.raw().info().totals.block_size;
    let input = OpenInput::of_image(&opened, &request.image, &cache, request.build.threads)?;
    input.warn(observer);
    let header = HeaderBytes::choose(&request.header, &trusted.source, opened.handle().offset())?;
    if let Some(header) = &header {
        let format = trusted.format()?;
        header.check(format.name(), format.is_found_behind_header())?;
    }
    let prepared = Prepared {
        input,
        command: "recompress",
        former: if request.build.history {
            former_runs(&opened).map_err(located)?
        } else {
            FormerRuns::default()
        },
        base: None,
        header,
    };
    let cut_anew = request
        .build
        .block_size
        .is_some_and(|size| size != block_size)
        || request.build.purpose.is_some();
    let report = if request.rebuild || cut_anew {
        check_rebuild(request)?;
        rebuild(request, &opened, prepared, observer)
    } else {
        check_rewrite(request)?;
        rewrite(request, &opened, &prepared, observer)
    };
    report.map_err(located)
}

/// Fails for options that apply only if blocks are kept.
fn check_rebuild(request: &RecompressRequest) -> Result<()> {
    let asked = [
        (request.parts != RecompressParts::All, "choosing parts"),
        (request.categories.is_some(), "choosing categories"),
        (request.keep_smaller, "keeping smaller blocks"),
    ];
    refuse(&asked, |what| {
        Error::invalid(format!(
            "{what} has no effect when all content is compressed again"
        ))
    })
}

/// Fails for options that only a rebuild supports.
fn check_rewrite(request: &RecompressRequest) -> Result<()> {
    let build = &request.build;
    let asked = [
        (build.lookback.is_some(), "looking back for repeats"),
        (build.read_cost.is_some(), "a price for reads"),
        (build.order.is_some(), "another order of files"),
        (build.sort.is_some(), "a sort file"),
        (build.hot.is_some(), "a list of files needed first"),
        (!build.duplicates, "storing equal files more than once"),
        (build.categorizers.is_some(), "the choice of categories"),
        (build.memory.is_some(), "a bound of memory"),
        (build.max_zeros.is_some(), "a limit of zeros"),
        (build.scratch.is_some(), "a scratch directory"),
    ];
    refuse(&asked, |what| {
        let option = Setting::Rebuild;
        let what = format!(
            "{what} is possible only when all content is compressed again \
                            ({option})"
        );
        Error::invalid(what).about([option])
    })
}

fn refuse(asked: &[(bool, &str)], error: impl Fn(&str) -> Error) -> Result<()> {
    match asked.iter().find(|(is_asked, _)| *is_asked) {
        Some((_, what)) => Err(error(what)),
        None => Ok(()),
    }
}

fn rebuild(
    request: &RecompressRequest,
    opened: &Image,
    prepared: Prepared,
    observer: &dyn Observer,
) -> Result<RecompressReport> {
    let build = &request.build;
    let new = formats::by_name(opened.format())?;
    let job = BuildJob::new(new.format.name(), build, || Ok(prepared));
    let report = write_image(new, job, observer)?;
    Ok(RecompressReport {
        format: report.format,
        old_bytes: opened.raw().info().totals.stored,
        recoded: report.pipeline.image.blocks,
        image: report.pipeline.image.clone(),
        pushed: None,
        rebuilt: Some(report),
    })
}

fn rewrite(
    request: &RecompressRequest,
    opened: &Image,
    prepared: &Prepared,
    observer: &dyn Observer,
) -> Result<RecompressReport> {
    let build = &request.build;
    let format = opened.raw().info().format;
    // before options that have other words in formats whose blocks are not copied
    let reuse = opened.handle().reuse().ok_or_else(|| {
        let option = Setting::Rebuild;
        Error::unsupported(format!(
            "blocks of {format} images cannot be copied to a new image; {option} packs all content \
             again"
        ))
        .about([option])
    })?;
    let new = formats::by_name(format)?.by_pipeline()?;
    let mut create = create_options(build, format, new, prepared)?;
    if create.solid.history.is_some() {
        create.solid.history = Some(history::of_recompression(request, &create.compression));
    }
    let by_category = std::mem::take(&mut create.solid.by_category);
    let blocks = matches!(
        request.parts,
        RecompressParts::All | RecompressParts::Blocks
    );
    if !blocks && !by_category.is_empty() {
        return Err(Error::invalid(
            "a codec for a category has no effect when blocks are kept",
        ));
    }
    let remade = if needs_tree(request) {
        Some(tables(&prepared.input, request, observer)?)
    } else {
        None
    };
    check_entry(prepared, request, observer)?;
    let metadata = match (&remade, request.parts) {
        (Some((tree, map)), _) => MetadataPlan::Rebuild(tree, map),
        (None, RecompressParts::All | RecompressParts::Metadata) => MetadataPlan::Encode,
        (None, RecompressParts::Blocks | RecompressParts::None) => MetadataPlan::Keep,
    };
    let options = RewriteOptions {
        compression: blocks.then(|| create.compression.parse()).transpose()?,
        by_category,
        selection: request.categories.clone(),
        keep_smaller: request.keep_smaller,
        metadata,
        create,
        threads: build.threads,
    };
    let output = Output::open(&build.destination, &request.open, None)?;
    let output = output.instead_of(build.former_parity.clone());
    let mut out = output.writer();
    if let Some(header) = &prepared.header {
        header.write(&mut out)?;
        if header.is_program() {
            output.make_executable()?;
        }
    }
    let written = reuse.rewrite(Box::new(out), &options, observer);
    let mut written = written.map_err(|error| interrupted(error, observer))?;
    if remade.is_some() {
        prepared.input.add_unrepresented(&mut written.image.losses);
    }
    if build.strict {
        demand_losses(&written.image.losses)?;
    }
    output.commit()?;
    Ok(RecompressReport {
        format,
        old_bytes: opened.raw().info().totals.stored,
        image: written.image,
        recoded: written.recoded,
        pushed: None,
        rebuilt: None,
    })
}

/// Fails if the program that is to run in the image does not.
fn check_entry(
    prepared: &Prepared,
    request: &RecompressRequest,
    observer: &dyn Observer,
) -> Result<()> {
    let entry = prepared.header.as_ref().and_then(HeaderBytes::entry);
    let (Some(entry), Some(source)) = (entry, prepared.input.image()) else {
        return Ok(());
    };
    let transform = request.build.attributes.transform()?;
    sinterfs_pipeline::check_program(&source.scan(observer)?, &transform, &entry)
}

/// Returns whether the metadata has to be made anew of the tree.
fn needs_tree(request: &RecompressRequest) -> bool {
    let build = &request.build;
    request.rebuild_metadata
        || build.pack_metadata.is_some()
        || build.time_resolution.is_some()
        || build.keep_all_times
        || build.attributes != AttributeChanges::default()
}

/// Makes the tree of an image, changed as asked, and the map of its content.
fn tables(
    input: &OpenInput,
    request: &RecompressRequest,
    observer: &dyn Observer,
) -> Result<(Tree, sinterfs_model::ContentMap)> {
    let Some(source) = input.image() else {
        return Err(Error::invalid("metadata can be rebuilt for one image only"));
    };
    let mut tree = source.scan(observer)?;
    let map = content_map(source, &tree)?;
    request.build.attributes.transform()?.apply(&mut tree)?;
    Ok((tree, map))
}
