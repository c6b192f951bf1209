//! Building composefs images: content goes into a store of objects, if there is one, and an image
//! of the files' metadata is written with their digests.
//!
//! Enters: a request; a directory, images, or a dump. Leaves: an image, objects.
//!
//! **Invariant:** the image depends on the files alone, not on the store or on threads. It gets its
//! name when all objects that it names are durable. A file that cannot be read is reported and has
//! no content in the image: a digest is that of all of a content.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;

use sinterfs_erofs::composefs::{Body, Files, Kept, KeptXattrs, Versions};
use sinterfs_format::level;
use sinterfs_model::{Error, Loss, NodeId, Observer, Result, Setting, Summary, Time, Tree};
use sinterfs_pipeline::WarningCounter;
use sinterfs_source::archive::ImpliedDirectories;

use crate::composefs::contents::{self, ContentHasher};
use crate::composefs::dump;
use crate::composefs::object_store::ObjectStore;
use crate::output::Output;
use crate::write::attributes::AttributeChanges;
use crate::write::input::kinds::Input;
use crate::write::input::opened::OpenInput;
use crate::write::job::BuildJob;
use crate::write::report::{BuildReport, ObjectsReport, PipelineReport, demand_all, interrupted};
use crate::write::request::BuildRequest;
use crate::write::resolve::given;

/// Builds a composefs image. On an error nothing is left of it.
pub(crate) fn build(job: BuildJob<'_>, observer: &dyn Observer) -> Result<BuildReport> {
    let (format, request) = (job.format, job.request);
    if let Input::Dump { path, objects } = &request.input {
        return build_from_dump(format, request, path, objects.as_deref());
    }
    let prepared = job.open()?;
    let built = build_from_input(format, request, &prepared.input, observer);
    built.map_err(|error| prepared.input.located(error))
}

/// Builds an image of an opened input.
fn build_from_input(
    format: &'static str,
    request: &BuildRequest,
    input: &OpenInput,
    observer: &dyn Observer,
) -> Result<BuildReport> {
    refuse_foreign(request)?;
    refuse_store_within(request)?;
    let store = request.composefs.digest_store.as_deref();
    let store = store.map(ObjectStore::open).transpose()?;
    let output = Output::open(&request.destination, &request.open, None)?;
    let output = output.instead_of(request.former_parity.clone());
    let counting = WarningCounter::new(observer);
    let packed = input.read(&counting, |source, observer| {
        let mut tree = source.scan(observer)?;
        sinterfs_pipeline::refuse_long_holes(source, &tree, request.max_zeros())?;
        let left_out = counting.count();
        let reader = ContentHasher::new(&tree, store.as_ref(), observer);
        let counts =
            sinterfs_pipeline::for_each_file(source, &tree, request.threads, &reader, observer)?;
        let (mut bodies, changed) = reader.finish();
        let mut pipeline = pipeline(
            &tree,
            &bodies,
            left_out,
            changed.saturating_add(counts.grown),
        );
        pipeline.unreadable = counts.unreadable;
        request.attributes_at_end().transform()?.apply(&mut tree)?;
        let single = |node: NodeId| tree.node(node).links <= 1;
        let files = Files::of_tree(&tree, kept(request), |node| {
            Ok(match bodies.get_mut(node.index()) {
                Some(body) if single(node) => std::mem::replace(body, Body::None),
                Some(body) => body.clone(),
                None => Body::None,
            })
        })?;
        Ok((files, pipeline))
    });
    let (files, mut pipeline) = packed.map_err(|error| interrupted(error, observer))?;
    pipeline.left_out = pipeline.left_out.saturating_add(input.left_out());
    input.add_unrepresented(&mut pipeline.image.losses);
    let times = input.times_of_access(&pipeline.tree);
    pipeline.image.losses.extend(times);
    pipeline.memory = input
        .cache_bytes()
        .saturating_add(request.threads as u64 * contents::MEMORY);
    let draft = Draft {
        format,
        output,
        files,
        pipeline,
    };
    draft.finish(request, store.as_ref())
}

/// Builds an image of a dump.
fn build_from_dump(
    format: &'static str,
    request: &BuildRequest,
    dump: &Path,
    objects: Option<&Path>,
) -> Result<BuildReport> {
    let attributes = &request.attributes;
    refuse_foreign(request)?;
    refuse_for_dump(request, objects)?;
    let output = Output::open(&request.destination, &request.open, None)?;
    let output = output.instead_of(request.former_parity.clone());
    let mut files = dump::files(dump)?;
    files.change_times(|time| match (attributes.time, attributes.latest_time) {
        (Some(secs), _) => Time { secs, nanos: 0 },
        (None, Some(secs)) => time.min(Time { secs, nanos: 0 }),
        (None, None) => time,
    });
    let mut pipeline = PipelineReport::default();
    pipeline.tree = files.stats();
    let draft = Draft {
        format,
        output,
        files,
        pipeline,
    };
    draft.finish(request, None)
}

/// The plan of an image before its bytes are written.
struct Draft {
    format: &'static str,
    output: Output,
    files: Files,
    pipeline: PipelineReport,
}

impl Draft {
    /// Writes the image, and names it once all objects are durable.
    fn finish(self, request: &BuildRequest, store: Option<&ObjectStore>) -> Result<BuildReport> {
        let (files, mut pipeline) = (self.files, self.pipeline);
        let default = Versions::default();
        let versions = Versions {
            min: request.composefs.min_version.unwrap_or(default.min),
            max: request.composefs.max_version.unwrap_or(default.max),
        };
        let (objects, bytes) = files.objects();
        let mut out = self.output.writer();
        let written = sinterfs_erofs::composefs::write(files, versions, &mut out)?;
        out.flush()
            .map_err(|error| Error::io("cannot write the image", error))?;
        let (new_objects, new_bytes) = store.map_or(Ok((0, 0)), ObjectStore::sync)?;
        pipeline.image.image_bytes = written.bytes;
        pipeline.image.metadata_bytes = written.bytes;
        let report = BuildReport {
            format: self.format,
            pipeline,
            conflicts: Default::default(),
            objects: Some(ObjectsReport {
                digest: written.digest,
                version: written.version,
                objects,
                bytes,
                new_objects,
                new_bytes,
            }),
            pushed: None,
        };
        if request.strict {
            demand_all(&report)?;
        }
        self.output.commit()?;
        Ok(report)
    }
}

/// Returns the counts of the read files.
fn pipeline(tree: &Tree, bodies: &[Body], left_out: u64, changed: u64) -> PipelineReport {
    let stats = tree.stats();
    let (mut seen, mut duplicates, mut duplicate_bytes) = (HashSet::new(), 0, 0_u64);
    for body in bodies {
        if let Body::Object { size, digest, .. } = body
            && !seen.insert(digest)
        {
            duplicates += 1;
            duplicate_bytes = duplicate_bytes.saturating_add(*size);
        }
    }
    let losses = Loss::counted([(
        "hard links, whose names get separate inodes",
        stats.hard_links,
    )]);
    let mut report = PipelineReport::default();
    report.tree = stats;
    report.left_out = left_out;
    report.changed = changed;
    report.duplicates = duplicates;
    report.duplicate_bytes = duplicate_bytes;
    report.image = Summary {
        losses,
        ..Summary::default()
    };
    report
}

fn kept(request: &BuildRequest) -> Kept {
    Kept {
        devices: !request.composefs.skip_devices,
        xattrs: match (request.per_file.no_xattrs, request.composefs.user_xattrs) {
            (true, _) => KeptXattrs::None,
            (false, true) => KeptXattrs::User,
            (false, false) => KeptXattrs::All,
        },
    }
}

/// The options of some formats that composefs knows, too.
const KNOWN: [Setting; 5] = [
    Setting::Xattrs,
    Setting::DigestStore,
    Setting::FormatVersion,
    Setting::SkipDevices,
    Setting::UserXattrs,
];

/// Fails for options of compression, order and layout, which have no meaning here.
fn refuse_foreign(request: &BuildRequest) -> Result<()> {
    let general = [
        (request.level != level::DEFAULT, Setting::Level),
        (request.purpose.is_some(), Setting::Purpose),
        (request.compression.is_some(), Setting::Compression),
        (request.block_size.is_some(), Setting::BlockSize),
        (request.header.is_some(), Setting::Header),
        (request.categorizers.is_some(), Setting::Categorize),
        (request.order.is_some(), Setting::Order),
        (request.sort.is_some(), Setting::Sort),
        (request.hot.is_some(), Setting::HotList),
        (request.memory.is_some(), Setting::Memory),
        (request.scratch.is_some(), Setting::Scratch),
    ];
    let mut given = given(request);
    given.retain(|(_, option)| !KNOWN.contains(option));
    refuse(given.into_iter().chain(general), "composefs images")
}

/// Fails for an option that has no meaning where a dump says all of an image.
fn refuse_for_dump(request: &BuildRequest, objects: Option<&Path>) -> Result<()> {
    let (composefs, attributes) = (&request.composefs, &request.attributes);
    let options = [
        (objects.is_some(), Setting::DigestStore),
        (composefs.digest_store.is_some(), Setting::DigestStore),
        (composefs.skip_devices, Setting::SkipDevices),
        (composefs.user_xattrs, Setting::UserXattrs),
        (request.per_file.no_xattrs, Setting::Xattrs),
        (!request.filters.is_empty(), Setting::Filters),
        (!request.pseudo.is_empty(), Setting::Pseudo),
        (!request.pseudo_files.is_empty(), Setting::PseudoFiles),
        (request.file_contexts.is_some(), Setting::FileContexts),
        (!request.xattrs.is_empty(), Setting::XattrFilter),
        (request.one_file_system, Setting::OneFileSystem),
        (request.shard.is_some(), Setting::Shard),
        (!request.actions.is_empty(), Setting::Actions),
        (request.separate_links, Setting::SeparateLinks),
        (!request.xattrs_add.is_empty(), Setting::XattrsAdded),
        (request.archive_root.is_some(), Setting::ArchiveRoot),
        (request.pseudo_dir.is_some(), Setting::PseudoDirectories),
        (request.pseudo_override, Setting::PseudoOverride),
        (
            request.implied != ImpliedDirectories::default(),
            Setting::ImpliedDirectories,
        ),
    ];
    refuse(options, "dumps")?;
    let only_times = AttributeChanges {
        time: attributes.time,
        latest_time: attributes.latest_time,
        ..AttributeChanges::default()
    };
    if *attributes != only_times {
        let what = "changes of owners, permissions or the root do not apply to dumps";
        return Err(Error::invalid(what));
    }
    Ok(())
}

fn refuse(options: impl IntoIterator<Item = (bool, Setting)>, of: &str) -> Result<()> {
    match options.into_iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) => {
            let what = format!("{option} does not apply to {of}");
            Err(Error::invalid(what).about([option]))
        }
        None => Ok(()),
    }
}

/// Fails if the store would pack itself.
fn refuse_store_within(request: &BuildRequest) -> Result<()> {
    let (Input::Directory(dir), Some(store)) = (&request.input, &request.composefs.digest_store)
    else {
        return Ok(());
    };
    let dir = std::fs::canonicalize(dir)
        .map_err(|error| Error::io("cannot resolve the input directory", error).path(dir))?;
    // a store that is still to be made is where its closest parent is
    let parent = std::path::absolute(store)
        .unwrap_or_else(|_| store.clone())
        .ancestors()
        .find_map(|above| std::fs::canonicalize(above).ok());
    match parent {
        Some(parent) if parent.starts_with(&dir) => {
            Err(Error::invalid("the object store is in the directory that is packed").path(store))
        }
        _ => Ok(()),
    }
}
