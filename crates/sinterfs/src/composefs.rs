//! Building composefs images: content goes into a store of objects, if there is one, and an image of
//! what is known of the files is written from their digests.
//!
//! Enters: a request; a directory, images, or a dump. Leaves: an image, objects.
//!
//! **Invariant:** the image depends on the files alone, not on the store or on threads. It gets its name
//! when all objects that it names are durable. A file that cannot be read ends the build: nothing but
//! all of its content has its digest.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use ::build::{Counting, EachFile};
use block::verity::{Verity, VerityDigest, verity};
use erofs::composefs::{Body, Files, INLINE_MAX, Kept, KeptXattrs, ObjectPath, Versions};
use model::{
    Error, ExtentSource, FileContent, Loss, NodeId, Observer, Result, Summary, Time, Tree,
};

use crate::attributes::AttributeChanges;
use crate::build::{BuildReport, BuildRequest, PipelineReport, demand_all, interrupted};
use crate::create::asked;
use crate::input::{Input, OpenInput};
use crate::levels;
use crate::objects::{ObjectStore, Waiting};
use crate::output::Output;
use crate::registry::Asked;

/// The format's name.
pub(crate) const NAME: &str = "composefs";

/// The extensions of image files.
pub(crate) const EXTENSIONS: [&str; 2] = ["composefs", "cfs"];

/// Files up to so many bytes are in memory between their digest and their object, others are read twice.
const BUFFERED: u64 = 4 << 20;

/// How much of other files is read at once, in bytes.
const PIECE: usize = 1 << 20;

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

/// Tells whether a composefs image is asked for.
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
    let counting = Counting::new(observer);
    let packed = input.read(&counting, |source, observer| {
        let mut tree = source.scan(observer)?;
        let left_out = counting.count();
        let reader = Reader {
            tree: &tree,
            store: store.as_ref(),
            observer,
            bodies: Mutex::new(vec![Body::None; tree.nodes().len()]),
            changed: AtomicU64::new(0),
        };
        ::build::each_file(source, &tree, request.threads, &reader, observer)?;
        let changed = reader.changed.into_inner();
        let bodies = reader.bodies.into_inner();
        let mut bodies = bodies.unwrap_or_else(PoisonError::into_inner);
        let pipeline = pipeline(&tree, &bodies, left_out, changed);
        request.attributes.transform()?.apply(&mut tree)?;
        let single = |node: NodeId| tree.node(node).links <= 1;
        let files = Files::of_tree(&tree, kept(request), |node| {
            let body = bodies.get_mut(node.index()).ok_or_else(vanished)?;
            Ok(match single(node) {
                true => std::mem::replace(body, Body::None),
                false => body.clone(),
            })
        })?;
        Ok((files, pipeline))
    });
    let (files, mut pipeline) = packed.map_err(|error| interrupted(error, observer))?;
    input.add_untold(&mut pipeline.image.losses);
    pipeline.memory = input
        .cache_bytes()
        .saturating_add(request.threads as u64 * (BUFFERED + PIECE as u64));
    write(request, output, files, store.as_ref(), pipeline)
}

/// Builds an image of a dump.
pub(crate) fn of_dump(request: &BuildRequest, dump: &Path) -> Result<BuildReport> {
    if !is_asked(request) {
        return Err(Error::invalid("only composefs images are made of dumps"));
    }
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
            (!request.exclude.is_empty(), "--exclude"),
            (!request.exclude_from.is_empty(), "--exclude-from"),
            (request.one_file_system, "--one-file-system"),
        ],
    )?;
    let output = request.destination.open(None)?;
    let files = if dump == Path::new("-") {
        erofs::composefs::parse(std::io::stdin().lock())
    } else {
        let file = File::open(dump).map_err(|e| Error::io("cannot open the dump", e).path(dump))?;
        erofs::composefs::parse(BufReader::with_capacity(PIECE, file))
    };
    let mut files = files.map_err(|error| error.path(dump))?;
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
    let written = erofs::composefs::write(files, versions, &mut out)?;
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

/// Tells what was read.
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

#[cold]
fn vanished() -> Error {
    Error::invalid("a node that is not of the tree")
}

/// Finds the digests of files, and stores their content.
struct Reader<'a> {
    tree: &'a Tree,
    store: Option<&'a ObjectStore>,
    observer: &'a dyn Observer,
    bodies: Mutex<Vec<Body>>,
    changed: AtomicU64,
}

/// What a thread keeps.
#[derive(Default)]
struct State {
    buffer: Vec<u8>,
    waiting: Waiting,
}

impl EachFile for Reader<'_> {
    type State = State;

    fn start(&self) -> State {
        State::default()
    }

    fn read(&self, state: &mut State, file: NodeId, content: &dyn FileContent) -> Result<()> {
        let len = content.len()?;
        let (body, len) = match len {
            0..=BUFFERED => self.buffered(state, content, len)?,
            _ => self.streamed(state, content)?,
        };
        let node = self.tree.node(file);
        let scanned = match node.content {
            model::Content::File { size } => size,
            _ => 0,
        };
        let time = content.modified()?;
        if len != scanned || time.is_some_and(|time| time != node.meta.times.modified) {
            self.changed.fetch_add(1, Ordering::Relaxed);
            let path = String::from_utf8_lossy(&self.tree.path(file)).into_owned();
            let what = "changed while it was packed, stored as it was read then";
            self.observer.warn(&Error::invalid(what).path(path));
        }
        let mut bodies = self.bodies.lock().unwrap_or_else(PoisonError::into_inner);
        *bodies.get_mut(file.index()).ok_or_else(vanished)? = body;
        Ok(())
    }

    fn end(&self, mut state: State) -> Result<()> {
        match self.store {
            Some(store) => state.waiting.flush(store),
            None => Ok(()),
        }
    }
}

impl Reader<'_> {
    /// Reads a file into memory.
    fn buffered(
        &self,
        state: &mut State,
        content: &dyn FileContent,
        len: u64,
    ) -> Result<(Body, u64)> {
        state.buffer.resize(len as usize, 0);
        let count = content.read_at(0, &mut state.buffer)?;
        let bytes = state.buffer.split_at(count).0;
        let len = count as u64;
        if count == 0 {
            return Ok((Body::None, 0));
        }
        if len <= INLINE_MAX {
            return Ok((Body::Inline(bytes.into()), len));
        }
        let digest = verity(bytes);
        if let Some(store) = self.store
            && !store.has(&digest, len)?
        {
            let mut object = store.create()?;
            object
                .file
                .write_all(bytes)
                .map_err(|error| Error::io("cannot write an object", error))?;
            state.waiting.push(store, object, digest, len)?;
        }
        Ok((object_of(digest, len), len))
    }

    /// Reads a file piece by piece, and once more if the store does not have it yet.
    fn streamed(&self, state: &mut State, content: &dyn FileContent) -> Result<(Body, u64)> {
        let (digest, len) = self.stream(state, content, None)?;
        if let Some(store) = self.store
            && !store.has(&digest, len)?
        {
            let object = store.create()?;
            let again = self.stream(state, content, Some(&object.file))?;
            if again != (digest, len) {
                return Err(Error::invalid("changed while it was stored"));
            }
            state.waiting.push(store, object, digest, len)?;
        }
        Ok((object_of(digest, len), len))
    }

    /// Hashes a file, and writes its data, where holes stay holes.
    fn stream(
        &self,
        state: &mut State,
        content: &dyn FileContent,
        out: Option<&File>,
    ) -> Result<(VerityDigest, u64)> {
        let (mut hash, mut end) = (Verity::default(), 0);
        state.buffer.resize(PIECE, 0);
        for extent in content.extents()? {
            let is_hole = extent.source == ExtentSource::Hole;
            if is_hole {
                state.buffer.fill(0);
            }
            end = extent.offset;
            let stop = extent.offset.saturating_add(extent.len);
            while end < stop {
                if self.observer.cancelled() {
                    return Err(Error::new(model::Kind::Cancelled, "stopped on request"));
                }
                let want = usize::try_from(stop - end).map_or(PIECE, |left| left.min(PIECE));
                let piece = state.buffer.split_at_mut(want).0;
                let count = match is_hole {
                    true => want,
                    false => content.read_at(end, piece)?,
                };
                let piece = piece.split_at(count).0;
                hash.update(piece);
                if let (Some(out), false) = (out, is_hole) {
                    out.write_all_at(piece, end)
                        .map_err(|error| Error::io("cannot write an object", error))?;
                }
                end += count as u64;
                if count < want {
                    break;
                }
            }
            if end < stop {
                break;
            }
        }
        if let Some(out) = out {
            out.set_len(end)
                .map_err(|error| Error::io("cannot write an object", error))?;
        }
        Ok((hash.finish(), end))
    }
}

fn object_of(digest: VerityDigest, size: u64) -> Body {
    Body::Object {
        size,
        path: ObjectPath::OfDigest,
        digest: Some(digest),
    }
}
