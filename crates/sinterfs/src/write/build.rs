//! Building an image: the request's format is found, and its writer gets the request and the way
//! to open the input.

use std::num::NonZeroU64;

use sinterfs_format::FormerRuns;
use sinterfs_model::{Error, Observer, Result, Setting};
use sinterfs_platform::Scratch;
use sinterfs_platform::names;
use sinterfs_source::{Action, Edits, Exclude, directory};

use crate::formats;
use crate::image::container_config::CONTAINER_ATTRIBUTE;
use crate::open::open_with;
use crate::write::base::OpenBase;
use crate::write::filters;
use crate::write::header::HeaderBytes;
use crate::write::input::kinds::Input;
use crate::write::input::open::open as open_input;
use crate::write::input::request::Request;
use crate::write::into_registry;
use crate::write::job::{BuildJob, Prepared};
use crate::write::level_of::level_of;
use crate::write::report::BuildReport;
use crate::write::request::BuildRequest;
use crate::write::write_image::write_image;

/// Builds an image. On an error nothing is left of it.
pub fn build(request: &BuildRequest, observer: &dyn Observer) -> Result<BuildReport> {
    into_registry::refuse_offline(&request.destination, &request.open)?;
    let new = formats::for_output(request.format.as_deref(), request.output_name().as_deref())?;
    let scratch = Scratch::new(request.scratch_dir());
    let (mut report, pushed) = into_registry::make_for(
        &request.destination,
        &scratch,
        &request.open,
        |destination| {
            let request = &BuildRequest {
                destination: destination.clone(),
                format: Some(new.format.name().to_owned()),
                ..request.clone()
            };
            let job = BuildJob::new(new.format.name(), request, || {
                let prepared = prepare(request, observer)?;
                if let Some(header) = &prepared.header {
                    header.check(new.format.name(), new.format.is_found_behind_header())?;
                }
                Ok(prepared)
            });
            write_image(new, job, observer)
        },
    )?;
    report.pushed = pushed;
    Ok(report)
}

/// Returns whether the report of a build is going to name the digest of the image.
pub fn reports_digest(request: &BuildRequest) -> bool {
    let new = formats::for_output(request.format.as_deref(), request.output_name().as_deref());
    new.is_ok_and(|new| new.reports_digest())
}

/// Opens everything that a build reads.
pub(crate) fn prepare(request: &BuildRequest, observer: &dyn Observer) -> Result<Prepared> {
    if request.one_file_system {
        filters::require_directory(&request.input)?;
    }
    if request.archive_root.is_some() && !matches!(request.input, Input::Archive(_)) {
        let what = "only an archive can have one of its directories as the root: of a directory, \
                    name the subdirectory itself";
        return Err(Error::invalid(what));
    }
    refuse_without_definitions(request)?;
    let mut directory = directory_options(request)?;
    let input = open_input(&Request {
        observer,
        input: &request.input,
        open: &request.open,
        edits: edits(request, &mut directory)?,
        archive_root: request
            .archive_root
            .as_deref()
            .map(|root| names::bytes(root).into()),
        implied: request.implied,
        keeps_config: keeps_config(request),
        directory,
        manifest: request.manifest.clone(),
        scratch: Scratch::new(request.scratch_dir()),
        threads: request.threads,
        strict: request.strict,
    })?;
    input.warn(observer);
    let base = open_base(request)?;
    let former = match (&base, request.history) {
        (_, false) => FormerRuns::default(),
        (Some(base), true) => base.former_runs()?.and(input.former_runs()?),
        (None, true) => input.former_runs()?,
    };
    let header = request.header.as_ref().map(HeaderBytes::new);
    Ok(Prepared {
        command: match request.input {
            Input::Merge { layers: None, .. } => "merge",
            Input::Image { .. } => "convert",
            _ => "build",
        },
        input,
        former,
        base,
        header: header.transpose()?,
    })
}

/// Fails for options about definitions of files where there are none.
fn refuse_without_definitions(request: &BuildRequest) -> Result<()> {
    let about = [
        (request.pseudo_dir.is_some(), Setting::PseudoDirectories),
        (request.pseudo_override, Setting::PseudoOverride),
    ];
    let has_some = !request.pseudo.is_empty() || !request.pseudo_files.is_empty();
    match about.into_iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) if !has_some => {
            let (one, file) = (Setting::Pseudo, Setting::PseudoFiles);
            let what = format!("{option} requires definitions of files: {one} or {file}");
            Err(Error::invalid(what).about([option, one, file]))
        }
        _ => Ok(()),
    }
}

/// Returns whether the configuration of a container image is kept: not where a digest is reported
/// that others compute of the same files.
fn keeps_config(request: &BuildRequest) -> bool {
    let writing = formats::for_output(request.format.as_deref(), request.output_name().as_deref());
    !writing.is_ok_and(|writing| writing.reports_digest())
        && !request.per_file.no_xattrs
        && request.xattrs.keeps(CONTAINER_ATTRIBUTE.as_bytes())
}

/// Opens the image whose blocks are taken over.
fn open_base(request: &BuildRequest) -> Result<Option<OpenBase>> {
    let Some(path) = &request.base else {
        return Ok(None);
    };
    let clashes = [
        (request.hot.is_some(), Setting::HotList),
        (!request.duplicates, Setting::Duplicates),
    ];
    if let Some(&(_, option)) = clashes.iter().find(|(is_given, _)| *is_given) {
        let base = Setting::Base;
        let what =
            format!("{option} and {base} exclude each other: content stays where the base has it");
        return Err(Error::invalid(what).about([option, base]));
    }
    let opened = open_with(path, &request.open)?;
    Ok(Some(OpenBase::new(opened, path.clone())))
}

/// Returns the changes of the tree after its scan. Nothing was left out of an image before that.
fn edits(request: &BuildRequest, directory: &mut directory::Options) -> Result<Edits> {
    let mut edits = Edits {
        pseudo: filters::pseudo(&request.pseudo, &request.pseudo_files)?,
        pseudo_dir: filters::pseudo_dir(request.pseudo_dir.as_deref())?,
        add_xattrs: filters::xattrs_to_add(&request.xattrs_add)?,
        xattrs: request.xattrs.clone(),
        separate_links: request.separate_links,
        actions: request.actions.clone(),
        block_size: block_size(request)?,
        shard: request.shard,
        contexts: filters::contexts(request.file_contexts.as_deref())?,
        mount_point: mount_point(request),
        marks: request.marks,
        ..Edits::default()
    };
    if request.pseudo_override {
        edits.owners = request.attributes.owners();
    }
    if matches!(request.input, Input::Image { .. } | Input::Dump { .. }) {
        edits.exclude = directory.exclude.clone();
    } else if request.actions.iter().any(Action::tells_why_empty) && !directory.exclude.chooses() {
        // what is excluded is taken off the tree later, for which its names alone are scanned
        edits.exclude = directory.exclude.clone();
        directory.keep_excluded_names = true;
        if !matches!(request.input, Input::Directory(_)) {
            directory.exclude = Exclude::default();
        }
    }
    Ok(edits)
}

/// Returns the path that the root is mounted at, without slashes at its end.
fn mount_point(request: &BuildRequest) -> Vec<u8> {
    let path = request.mount_point.as_deref().map(names::bytes);
    let names = path
        .as_deref()
        .unwrap_or_default()
        .split(|&byte| byte == b'/');
    let names = names.filter(|name| !name.is_empty());
    names.flat_map(|name| [b"/", name].concat()).collect()
}

/// Returns the block size of the image, if it has blocks and actions may ask for it.
fn block_size(request: &BuildRequest) -> Result<Option<NonZeroU64>> {
    if request.actions.is_empty() {
        return Ok(None);
    }
    if let Some(size) = request.block_size {
        return Ok(NonZeroU64::new(size));
    }
    let new = formats::for_output(request.format.as_deref(), request.output_name().as_deref())?;
    let Some(format) = new.pipeline else {
        return Ok(None);
    };
    let level = level_of(format, request)?;
    Ok(NonZeroU64::new(1 << level.block_bits))
}

fn directory_options(request: &BuildRequest) -> Result<directory::Options> {
    Ok(directory::Options {
        exclude: filters::only(
            filters::exclude(&request.filters)?,
            &request.filters,
            &request.input,
        )?,
        keep_excluded_dirs: false,
        keep_excluded_names: false,
        one_file_system: request.one_file_system,
        no_xattrs: request.per_file.no_xattrs,
        // an image must not hold the one that it replaces, nor its device
        skip: [request.path(), request.blob_device.as_deref()]
            .into_iter()
            .flatten()
            .filter_map(|path| sinterfs_platform::files::identity(path).ok())
            .map(|found| (found.device, found.ino))
            .collect(),
        threads: request.threads,
    })
}

#[cfg(test)]
mod tests {
    use sinterfs_source::IdsByName;

    use super::*;
    use crate::write::filters::Filter;

    /// Returns whether the scan and the edits exclude, and whether the scan keeps excluded names.
    fn excluding(action: &str) -> (bool, bool, bool) {
        let id = |text: &str| text.parse().map_err(|_| format!("no `{text}`"));
        let ids = IdsByName {
            user: &id,
            group: &id,
        };
        let request = BuildRequest {
            filters: vec![Filter::Exclude("d".to_owned())],
            actions: vec![Action::parse(action, &ids).unwrap()],
            ..BuildRequest::new("tree")
        };
        let mut directory = directory_options(&request).unwrap();
        let edits = edits(&request, &mut directory).unwrap();
        (
            !directory.exclude.is_empty(),
            !edits.exclude.is_empty(),
            directory.keep_excluded_names,
        )
    }

    #[test]
    fn what_is_excluded_is_not_scanned_for_actions() {
        assert_eq!(excluding("chmod(go-w)@true"), (true, false, false));
        assert_eq!(excluding("empty@true"), (true, false, false));
        assert_eq!(excluding("empty(source)@true"), (true, true, true));
    }
}
