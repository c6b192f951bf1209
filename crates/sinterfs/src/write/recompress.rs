//! Making a new image of an image without the tree that it was made of: block by block while their
//! size stays, or by the whole pipeline.
//!
//! Enters a request; leaves the new image's file. **Invariant:** the new image holds what the old
//! one does; damage to the old one is an error, and then nothing is left of the new one.

use std::path::Path;
use std::sync::Arc;

use sinterfs_format::{
    FormerRuns, MetadataPlan, PipelineFormat, PlanOptions, Rework, RewriteOptions,
};
use sinterfs_model::{Error, Kind, Observer, Result, Setting, Source, Tree};
use sinterfs_platform::Scratch;
use sinterfs_source::image::content_map;

use crate::formats::options::{self, FormatOptions};
use crate::image::Image;
use crate::open;
use crate::open_options::{OpenOptions, shared_cache};
use crate::place;
use crate::verify::trusted_source;
use crate::write::attributes::AttributeChanges;
use crate::write::base::former_runs;
use crate::write::by_format::build_by_format;
use crate::write::header::HeaderBytes;
use crate::write::history;
use crate::write::input::opened::OpenInput;
use crate::write::job::{BuildJob, Prepared};
use crate::write::output::Output;
use crate::write::recompress_request::{RecompressParts, RecompressReport, RecompressRequest};
use crate::write::report::{demand_losses, interrupted};
use crate::write::request::Destination;
use crate::write::resolve::{create_options, refused};
use crate::write::upload;

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
    let (mut report, pushed) = upload::make_for(&build.destination, &scratch, &request.open, make)?;
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
    match options::promised(output) {
        Ok(None) => Ok(()),
        Ok(Some(promised)) if promised.name() == format => Ok(()),
        _ => {
            let what = format!("the format stays {format}, and this name is for another one");
            Err(Error::invalid(what).path(output))
        }
    }
}

/// Returns the format of the image with the options of the request.
fn format_of(request: &RecompressRequest, image: &str) -> Result<FormatOptions> {
    let mut format = match &request.build.format {
        Some(format) if format.format() == image => format.clone(),
        Some(other) => {
            let other = other.format();
            let what = format!("the format stays {image}, and options of {other} do not apply");
            return Err(Error::invalid(what));
        }
        None => options::by_name(image)?,
    };
    let mut options = request.options.iter();
    options.try_for_each(|(name, value)| format.set(name, value))?;
    let plan = format.pipeline().map(PipelineFormat::plan);
    if plan.is_some_and(|plan| plan.base.is_some()) {
        return Err(refused("base", "recompression"));
    }
    Ok(format)
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
    require_same_format(&opened, request.build.destination.name().as_deref())?;
    let format = format_of(request, opened.format())?;
    let rework = format
        .pipeline()
        .map(PipelineFormat::rework)
        .unwrap_or_default();
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
        former: match format.pipeline().map(PipelineFormat::plan) {
            Some(PlanOptions { history: true, .. }) => former_runs(&opened).map_err(located)?,
            _ => FormerRuns::default(),
        },
        base: None,
        header,
    };
    let other_size = request
        .build
        .block_size
        .is_some_and(|size| size != block_size);
    let report = if request.rebuild || rework.all || other_size {
        check_rebuild(request)?;
        rebuild(request, &format, &opened, prepared, observer)
    } else {
        check_rewrite(request, rework)?;
        rewrite(request, &format, &opened, &prepared, observer)
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
fn check_rewrite(request: &RecompressRequest, rework: Rework) -> Result<()> {
    let build = &request.build;
    let option = Setting("rebuild");
    if let Some(asked) = rework.only_with_all {
        let what =
            format!("{asked} is possible only when all content is compressed again ({option})");
        return Err(Error::invalid(what).about([asked, option]));
    }
    let asked = [
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
    format: &FormatOptions,
    opened: &Image,
    prepared: Prepared,
    observer: &dyn Observer,
) -> Result<RecompressReport> {
    let build = &request.build;
    let job = BuildJob::new(format, build, || Ok(prepared));
    let report = build_by_format(job, observer)?;
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
    options: &FormatOptions,
    opened: &Image,
    prepared: &Prepared,
    observer: &dyn Observer,
) -> Result<RecompressReport> {
    let build = &request.build;
    let format = opened.raw().info().format;
    // before options that have other words in formats whose blocks are not copied
    let reuse = opened.handle().reuse().ok_or_else(|| {
        let option = Setting("rebuild");
        Error::unsupported(format!(
            "blocks of {format} images cannot be copied to a new image; {option} packs all content \
             again"
        ))
        .about([option])
    })?;
    let new = options.by_pipeline()?;
    let mut create = create_options(build, format, new, prepared)?;
    create.run = history::of_recompression(request, &create.compression);
    let blocks = matches!(
        request.parts,
        RecompressParts::All | RecompressParts::Blocks
    );
    let remade = if needs_tree(request, new.rework()) {
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
        format: new,
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
fn needs_tree(request: &RecompressRequest, rework: Rework) -> bool {
    let changes = &request.build.attributes;
    request.rebuild_metadata || rework.tree || *changes != AttributeChanges::default()
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
