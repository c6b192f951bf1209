//! Building composefs images: content goes into a store of objects, if there is one, and an image of
//! what is known of the files is written from their digests.
//!
//! Enters: a request; a directory, images, or a dump. Leaves: an image, objects.
//!
//! **Invariant:** the image depends on the files alone, not on the store or on threads. It gets its name
//! when all objects that it names are durable. A file that cannot be read ends the build: nothing but
//! all of its content has its digest.

mod contents;
pub(crate) mod dump;
pub mod object_mount;
pub(crate) mod object_store;

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use sinterfs_block::verity::VerityDigest;
use sinterfs_erofs::composefs::{Body, Files, Kept, KeptXattrs, Versions};
use sinterfs_model::{Error, Loss, NodeId, Observer, Result, Summary, Time, Tree};
use sinterfs_pipeline::WarningCounter;

use crate::registry::Asked;
use crate::registry::composefs::object_store::ObjectStore;
use crate::write::attributes::AttributeChanges;
use crate::write::build::{BuildReport, BuildRequest, PipelineReport, demand_all, interrupted};
use crate::write::input::{Input, OpenInput};
use crate::write::levels;
use crate::write::output::Output;
use crate::write::resolve::asked;
use contents::Reader;

/// The format's name.
pub(crate) const NAME: &str = "composefs";

/// The extensions of image files.
pub(crate) const EXTENSIONS: [&str; 2] = ["composefs", "cfs"];

/// What composefs images alone are asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ComposefsOptions {
    /// The directory that gets the content of files.
    pub digest_store: Option<PathBuf>,
    /// The lowest version of the format; `None` means 0.
    pub min_version: Option<u32>,
    /// The highest version of the format; `None` means 1.
    pub max_version: Option<u32>,
    /// Whether devices are left out.
    pub skip_devices: bool,
    /// Whether attributes are left out that do not begin with `user.`.
    pub user_xattrs: bool,
}

/// What became of the content of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// Returns whether a composefs image is asked for.
pub fn is_asked(request: &BuildRequest) -> bool {
    match &request.format {
        Some(name) => name == NAME,
        None => request
            .path()
            .and_then(Path::extension)
            .is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known)),
    }
}

/// Builds an image of an opened input.
pub(crate) fn pack(
    request: &BuildRequest,
    input: &OpenInput,
    observer: &dyn Observer,
) -> Result<BuildReport> {
    refuse(request, &[])?;
    refuse_store_within(request)?;
    let store = request.composefs.digest_store.as_deref();
    let store = store.map(ObjectStore::open).transpose()?;
    let output = request.destination.open(None)?;
    let counting = WarningCounter::new(observer);
    let packed = input.read(&counting, |source, observer| {
        let mut tree = source.scan(observer)?;
        let left_out = counting.count();
        let reader = Reader::new(&tree, store.as_ref(), observer);
        sinterfs_pipeline::for_each_file(source, &tree, request.threads, &reader, observer)?;
        let (mut bodies, changed) = reader.finish();
        let pipeline = pipeline(&tree, &bodies, left_out, changed);
        request.attributes.transform()?.apply(&mut tree)?;
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
    input.add_untold(&mut pipeline.image.losses);
    pipeline.memory = input
        .cache_bytes()
        .saturating_add(request.threads as u64 * contents::MEMORY);
    write(request, output, files, store.as_ref(), pipeline)
}

/// Builds an image of a dump.
pub(crate) fn of_dump(request: &BuildRequest, dump: &Path) -> Result<BuildReport> {
    let (composefs, attributes) = (&request.composefs, &request.attributes);
    let only_times = AttributeChanges {
        time: attributes.time,
        latest_time: attributes.latest_time,
        ..AttributeChanges::default()
    };
    refuse(
        request,
        &[
            (composefs.digest_store.is_some(), "--digest-store"),
            (composefs.skip_devices, "--skip-devices"),
            (composefs.user_xattrs, "--user-xattrs"),
            (request.per_file.no_xattrs, "--no-xattrs"),
            (
                *attributes != only_times,
                "a change of owners, permissions or the root",
            ),
            (!request.choices.is_empty(), "--exclude or --include"),
            (!request.pseudo.is_empty(), "--pseudo"),
            (!request.pseudo_files.is_empty(), "--pseudo-file"),
            (request.file_contexts.is_some(), "--file-contexts"),
            (
                !request.xattrs.is_empty(),
                "--xattrs-include or --xattrs-exclude",
            ),
            (request.one_file_system, "--one-file-system"),
        ],
    )?;
    let output = request.destination.open(None)?;
    let mut files = dump::files(dump)?;
    files.change_times(|time| match (attributes.time, attributes.latest_time) {
        (Some(secs), _) => Time { secs, nanos: 0 },
        (None, Some(secs)) => time.min(Time { secs, nanos: 0 }),
        (None, None) => time,
    });
    let pipeline = PipelineReport {
        tree: files.stats(),
        ..PipelineReport::default()
    };
    write(request, output, files, None, pipeline)
}

/// Writes the image, and names it once all objects are durable.
fn write(
    request: &BuildRequest,
    output: Output,
    files: Files,
    store: Option<&ObjectStore>,
    mut pipeline: PipelineReport,
) -> Result<BuildReport> {
    let default = Versions::default();
    let versions = Versions {
        min: request.composefs.min_version.unwrap_or(default.min),
        max: request.composefs.max_version.unwrap_or(default.max),
    };
    let (objects, bytes) = files.objects();
    let mut out = output.writer();
    let written = sinterfs_erofs::composefs::write(files, versions, &mut out)?;
    out.flush()
        .map_err(|error| Error::io("cannot write the image", error))?;
    let (new_objects, new_bytes) = store.map_or(Ok((0, 0)), ObjectStore::sync)?;
    pipeline.image.image_bytes = written.bytes;
    pipeline.image.metadata_bytes = written.bytes;
    let report = BuildReport {
        format: NAME,
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
    };
    if request.strict {
        demand_all(&report)?;
    }
    output.commit()?;
    Ok(report)
}

/// Returns what was read.
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
    let losses = (stats.hard_links > 0).then_some(Loss {
        what: "hard links, whose names have inodes of their own",
        count: stats.hard_links,
    });
    PipelineReport {
        tree: stats,
        left_out,
        changed,
        duplicates,
        duplicate_bytes,
        image: Summary {
            losses: losses.into_iter().collect(),
            ..Summary::default()
        },
        ..PipelineReport::default()
    }
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

/// Fails for an option that has no meaning here: what compresses, orders and lays out content, and
/// `more`.
fn refuse(request: &BuildRequest, more: &[(bool, &'static str)]) -> Result<()> {
    let asked = asked(request);
    let foreign = asked.iter().filter(|(_, option)| {
        !matches!(
            option,
            Asked::NoXattrs
                | Asked::DigestStore
                | Asked::FormatVersion
                | Asked::SkipDevices
                | Asked::UserXattrs
        )
    });
    let told = request.create_timestamp.is_some() && request.attributes.latest_time.is_none();
    let general = [
        (request.level != levels::DEFAULT, "--level"),
        (request.compression.is_some(), "--compression"),
        (request.block_size.is_some(), "--block-size"),
        (request.header.is_some(), "--header"),
        (request.categorizers.is_some(), "--categorize"),
        (request.order.is_some(), "--order"),
        (request.sort.is_some(), "--sort"),
        (request.hot.is_some(), "--hot"),
        (!request.duplicates, "--no-duplicates"),
        (request.memory.is_some(), "--memory"),
        (request.scratch.is_some(), "--scratch"),
        (told, "--create-timestamp"),
    ];
    let all = foreign
        .map(|&(is_asked, option)| (is_asked, option.flag()))
        .chain(general)
        .map(|(is_asked, flag)| (is_asked, flag, "composefs images"))
        .chain(
            more.iter()
                .map(|&(is_asked, flag)| (is_asked, flag, "dumps")),
        );
    for (is_asked, flag, what) in all {
        if is_asked {
            return Err(Error::invalid(format!("{flag} means nothing for {what}")));
        }
    }
    Ok(())
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
