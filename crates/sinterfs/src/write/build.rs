//! Building an image: a request with everything a user can ask, resolved to a source, a writer and
//! the pipeline's options, and the output file around them.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sinterfs_model::{Error, Kind, Loss, Observer, Rdev, Result};
use sinterfs_pipeline::source::merge::Conflicts;
use sinterfs_pipeline::source::{Edits, XattrFilter, directory};
use sinterfs_pipeline::{Categorizers, HotList, Order, Priorities, Scratch};

use crate::registry::composefs::{self, ComposefsOptions, ObjectsReport};
use crate::registry::{self, Asked, Blob, Format, FormerRuns};
use crate::write::attributes::AttributeChanges;
use crate::write::base::OpenBase;
use crate::write::filters::{self, Choice};
use crate::write::header::HeaderBytes;
use crate::write::input::{self, Input, ManifestOptions, OpenInput};
use crate::write::levels;
use crate::write::output::Output;
use crate::write::resolve::create_options;

pub use crate::registry::{PerFileOptions, VolumeOptions};
pub use sinterfs_pipeline::Report as PipelineReport;

/// Where an image goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// Standard output.
    Stdout,
    /// A file.
    File {
        /// Its path.
        path: PathBuf,
        /// Whether an existing file is replaced.
        replace: bool,
    },
}

impl Destination {
    /// Opens the output; what cannot seek gets a scratch file in front, if there is a place for one.
    pub(crate) fn open(&self, scratch: Option<&Scratch>) -> Result<Output> {
        let output = match self {
            Self::Stdout => Output::stdout(),
            Self::File { path, replace } => Output::create(path, *replace),
        }?;
        match scratch {
            Some(scratch) if !output.seeks() => output.behind(scratch.file()?),
            _ => Ok(output),
        }
    }
}

/// Everything that can be asked of a build.
#[derive(Debug, Clone)]
pub struct BuildRequest {
    /// What is packed.
    pub input: Input,
    /// Where the image goes.
    pub destination: Destination,
    /// A file for all content, apart from the image.
    pub blob_device: Option<PathBuf>,
    /// A file whose content comes before the image.
    pub header: Option<PathBuf>,
    /// The format's name; `None` decides by the destination's extension.
    pub format: Option<String>,
    /// The level, 0 to 9, whose settings hold where nothing else is asked.
    pub level: u8,
    /// The compression of blocks, as in `zstd:level=19`.
    pub compression: Option<String>,
    /// The compression of blocks of some categories, by name.
    pub by_category: Vec<(String, String)>,
    /// What kinds of content are told apart; `None` means all.
    pub categorizers: Option<Categorizers>,
    /// The compression of metadata.
    pub metadata_compression: Option<String>,
    /// Bytes of a block.
    pub block_size: Option<u64>,
    /// How many blocks back repeats are looked for; `None` means all.
    pub lookback: Option<u32>,
    /// The bytes of memory that the build may take; `None` means 512 MiB and as much again for
    /// each thread, or what one thread needs if that is more.
    pub memory: Option<u64>,
    /// The directory for what does not fit into that memory; `None` means that of the image, or
    /// that of temporary files if the image goes to standard output.
    pub scratch: Option<PathBuf>,
    /// The order of files.
    pub order: Option<Order>,
    /// A file that says what is stored before and after all else: a path in the image and a number
    /// from -32768 to 32767 a line.
    pub sort: Option<PathBuf>,
    /// A file that lists what is needed first, a path in the image a line: stored before all else, in small
    /// blocks.
    pub hot: Option<PathBuf>,
    /// An image whose blocks are taken over as they are stored, where the new image needs what they hold.
    pub base: Option<PathBuf>,
    /// Whether equal files are stored once.
    pub duplicates: bool,
    /// How many threads work.
    pub threads: usize,
    /// Where the content is that lists of files name.
    pub manifest: ManifestOptions,
    /// What is left out and what stays, the first that matches.
    pub choices: Vec<Choice>,
    /// Definitions of files that are made or changed, as of mksquashfs' `-p`.
    pub pseudo: Vec<OsString>,
    /// Files of such definitions.
    pub pseudo_files: Vec<PathBuf>,
    /// Which extended attributes of the source stay.
    pub xattrs: XattrFilter,
    /// A file of SELinux file contexts, which tells the label of every file.
    pub file_contexts: Option<PathBuf>,
    /// Whether other file systems are left out.
    pub one_file_system: bool,
    /// What becomes of owners, times and permissions.
    pub attributes: AttributeChanges,
    /// The unit of times, as in `1ns`; `None` means what loses nothing of images, and seconds for
    /// a directory alone.
    pub time_resolution: Option<String>,
    /// Whether times of access and of inode change are kept; those that images have are always.
    pub keep_all_times: bool,
    /// Which tables of the metadata are packed, in the format's words; `None` means all.
    pub pack_metadata: Option<String>,
    /// The time of creation to record, in seconds since 1970.
    pub create_timestamp: Option<u64>,
    /// Whether the image tells how it was made.
    pub history: bool,
    /// Whether the image has an index of its sections.
    pub section_index: bool,
    /// Whether the image has digests of all its bytes.
    pub with_digest: bool,
    /// What is asked of formats that cut each file for itself.
    pub per_file: PerFileOptions,
    /// What the image tells as a volume, and to whom.
    pub volume: VolumeOptions,
    /// For composefs.
    pub composefs: ComposefsOptions,
    /// Whether anything that can't be kept or read is an error.
    pub strict: bool,
}

impl BuildRequest {
    /// Asks for an image of a directory on standard output, with the default of everything.
    pub fn new(source: impl Into<PathBuf>) -> Self {
        Self::of(Input::Directory(source.into()))
    }

    /// Asks for an image of anything on standard output, with the default of everything.
    pub fn of(input: Input) -> Self {
        Self {
            input,
            destination: Destination::Stdout,
            blob_device: None,
            header: None,
            format: None,
            level: levels::DEFAULT,
            compression: None,
            by_category: Vec::new(),
            categorizers: None,
            metadata_compression: None,
            block_size: None,
            lookback: None,
            memory: None,
            scratch: None,
            order: None,
            sort: None,
            hot: None,
            base: None,
            duplicates: true,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            manifest: ManifestOptions::default(),
            choices: Vec::new(),
            pseudo: Vec::new(),
            pseudo_files: Vec::new(),
            xattrs: XattrFilter::default(),
            file_contexts: None,
            one_file_system: false,
            attributes: AttributeChanges::default(),
            time_resolution: None,
            keep_all_times: false,
            pack_metadata: None,
            create_timestamp: None,
            history: true,
            section_index: true,
            with_digest: false,
            per_file: PerFileOptions::default(),
            volume: VolumeOptions::default(),
            composefs: ComposefsOptions::default(),
            strict: false,
        }
    }
}

impl BuildRequest {
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.destination {
            Destination::File { path, .. } => Some(path),
            Destination::Stdout => None,
        }
    }
}

/// What was built.
#[derive(Debug, Clone)]
pub struct BuildReport {
    /// The format's name.
    pub format: &'static str,
    /// What the pipeline did.
    pub pipeline: PipelineReport,
    /// What was hidden where several trees met.
    pub conflicts: Conflicts,
    /// What became of content that is not in the image: for composefs.
    pub objects: Option<ObjectsReport>,
}

impl BuildReport {
    /// Returns whether every file was read whole and unchanged.
    pub fn is_complete(&self) -> bool {
        self.incomplete() == 0
    }

    /// Counts files that were left out, cut, or changed while they were read.
    pub fn incomplete(&self) -> u64 {
        self.pipeline.left_out + self.pipeline.unreadable + self.pipeline.changed
    }
}

/// Builds an image. On an error nothing is left of it.
pub fn build(request: &BuildRequest, observer: &dyn Observer) -> Result<BuildReport> {
    if let Input::Dump(path) = &request.input {
        if composefs::is_asked(request) {
            return composefs::of_dump(request, path);
        }
        // it is where content comes from, and no image but one of composefs has one
        let mut request = request.clone();
        let objects = request.composefs.digest_store.take();
        return of_source(&request, objects, observer);
    }
    of_source(request, None, observer)
}

/// Builds an image of anything that is a source; `objects` is the store of a dump's.
fn of_source(
    request: &BuildRequest,
    objects: Option<PathBuf>,
    observer: &dyn Observer,
) -> Result<BuildReport> {
    if request.one_file_system {
        filters::may_stay_on_one(&request.input)?;
    }
    let directory = directory_options(request)?;
    let input = OpenInput::open(&input::Request {
        input: &request.input,
        edits: edits(request, &directory)?,
        directory,
        manifest: request.manifest.clone(),
        objects,
        scratch: Scratch::new(scratch(request)),
        threads: request.threads,
        strict: request.strict,
    })?;
    let base = OpenBase::of(request)?;
    let former = match (&base, request.history) {
        (_, false) => FormerRuns::default(),
        (Some(base), true) => base.former_runs()?.and(input.former_runs()?),
        (None, true) => input.former_runs()?,
    };
    let before = Before {
        command: match request.input {
            Input::Merge { layers: None, .. } => "merge",
            Input::Image { .. } => "convert",
            _ => "build",
        },
        former,
        base,
        header: match &request.header {
            Some(path) => Some(HeaderBytes::of_file(path)?),
            None => None,
        },
    };
    let packed = pack(request, &input, &before, observer);
    packed.map_err(|error| input.located(error))
}

/// What is known of an image that becomes a new one.
#[derive(Default)]
pub(crate) struct Before {
    /// The command that is recorded.
    pub(crate) command: &'static str,
    /// The runs that made the image.
    pub(crate) former: FormerRuns,
    /// The image whose blocks are taken over.
    pub(crate) base: Option<OpenBase>,
    /// What comes before the new image in its file.
    pub(crate) header: Option<HeaderBytes>,
}

/// Runs the pipeline from an open input to its destination.
pub(crate) fn pack(
    request: &BuildRequest,
    input: &OpenInput,
    before: &Before,
    observer: &dyn Observer,
) -> Result<BuildReport> {
    if composefs::is_asked(request) {
        return composefs::pack(request, input, observer);
    }
    let format = registry::for_output(request.format.as_deref(), request.path())?;
    let level = format.level(request.level, &request.volume)?;
    let create = create_options(request, format, input, before)?;
    let options = sinterfs_pipeline::Options {
        threads: request.threads,
        order: request.order.unwrap_or(level.order),
        priorities: priorities(request.sort.as_deref())?,
        hot: hot(request.hot.as_deref())?,
        duplicates: request.duplicates,
        lookback: request.lookback,
        memory: request.memory,
        scratch: scratch(request),
        categorizers: request
            .categorizers
            .unwrap_or_else(|| format.categorizers()),
        transform: request.attributes.transform()?,
    };
    let scratch = Scratch::new(scratch(request));
    input.spill(&scratch)?;
    let output = request
        .destination
        .open(format.patches().then_some(&scratch))?;
    let mut out = output.writer();
    if let Some(header) = &before.header {
        header.write(&mut out)?;
    }
    let (blob, blob_output) = blob(request)?.unzip();
    let sink = Box::new(output.writer());
    let writer = match &before.base {
        Some(base) => base.create(sink, &create, observer)?,
        None => format.create(sink, blob, &create)?,
    };
    let packed = input.read(observer, |source, observer| {
        sinterfs_pipeline::build(source, writer, &options, observer)
    });
    let mut pipeline = packed.map_err(|error| interrupted(error, observer))?;
    input.add_untold(&mut pipeline.image.losses);
    pipeline
        .image
        .losses
        .extend(lost_times(format, input, &pipeline));
    pipeline.memory = pipeline.memory.saturating_add(input.cache_bytes());
    let report = BuildReport {
        format: format.name(),
        pipeline,
        conflicts: input.conflicts(),
        objects: None,
    };
    if request.strict {
        demand_all(&report)?;
    }
    // no image names a device that is not there
    blob_output.map_or(Ok(()), Output::commit)?;
    output.commit()?;
    Ok(report)
}

/// Opens the file for content that is apart from its image.
fn blob(request: &BuildRequest) -> Result<Option<(Blob, Output)>> {
    let Some(path) = &request.blob_device else {
        return Ok(None);
    };
    let replace = matches!(request.destination, Destination::File { replace: true, .. });
    if request
        .path()
        .is_some_and(|image| is_same_file(image, path))
    {
        return Err(Error::invalid("the image and its device would be one file").path(path));
    }
    let output = Output::create(path, replace)?;
    let name = path.file_name().unwrap_or_default().to_owned();
    let sink = Box::new(output.writer());
    Ok(Some((Blob { name, sink }, output)))
}

/// Returns whether two paths name one file, which may not be there yet.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| match path.canonicalize() {
        Ok(found) => Some(found),
        Err(_) => {
            let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
            let dir = dir.unwrap_or(Path::new(".")).canonicalize().ok()?;
            Some(dir.join(path.file_name()?))
        }
    };
    a == b || place(a).is_some_and(|place_of_a| Some(place_of_a) == place(b))
}

/// Counts the times that an image has and a format without them does not keep.
fn lost_times(format: &dyn Format, input: &OpenInput, pipeline: &PipelineReport) -> Option<Loss> {
    let all = input.times().is_some_and(|(_, all)| all);
    let tree = &pipeline.tree;
    let lost = all && !format.knows(Asked::AllTimes);
    lost.then(|| Loss {
        what: "files with times of access and of inode change",
        count: tree.directories + tree.files + tree.symlinks + tree.specials,
    })
}

/// Says why work ended that was told to stop: whichever stage noticed first, the reason is the same.
pub(crate) fn interrupted(error: Error, observer: &dyn Observer) -> Error {
    match observer.cancelled() {
        true => Error::new(Kind::Cancelled, "interrupted; nothing was written"),
        false => error,
    }
}

/// Fails if anything was lost: what `strict` asks for.
pub(crate) fn demand_all(report: &BuildReport) -> Result<()> {
    if !report.is_complete() {
        let count = report.incomplete();
        return Err(Error::invalid(format!(
            "{count} files could not be read as they were (--strict)"
        )));
    }
    demand_losses(&report.pipeline.image.losses)
}

/// Fails if the format could not keep something.
pub(crate) fn demand_losses(losses: &[Loss]) -> Result<()> {
    match losses.first() {
        Some(loss) => Err(Error::unsupported(format!(
            "the format can't keep {} {} (--strict)",
            loss.count, loss.what
        ))),
        None => Ok(()),
    }
}

fn priorities(file: Option<&Path>) -> Result<Priorities> {
    let Some(path) = file else {
        return Ok(Priorities::default());
    };
    let text = std::fs::read(path).map_err(|e| Error::io("cannot read", e).path(path))?;
    Priorities::parse(&text).map_err(|error| error.path(path))
}

fn hot(file: Option<&Path>) -> Result<HotList> {
    let Some(path) = file else {
        return Ok(HotList::default());
    };
    let text = std::fs::read(path).map_err(|e| Error::io("cannot read", e).path(path))?;
    Ok(HotList::parse(&text))
}

/// Chooses the directory for scratch files.
fn scratch(request: &BuildRequest) -> PathBuf {
    let beside = || {
        let parent = request.path()?.parent()?;
        let here = parent.as_os_str().is_empty();
        Some(if here { Path::new(".") } else { parent }.to_owned())
    };
    let chosen = request.scratch.clone().or_else(beside);
    chosen.unwrap_or_else(std::env::temp_dir)
}

/// Returns what becomes of the tree after its scan. Of an image alone nothing was left out until then.
fn edits(request: &BuildRequest, directory: &directory::Options) -> Result<Edits> {
    let mut edits = Edits {
        pseudo: filters::pseudo(&request.pseudo, &request.pseudo_files)?,
        xattrs: request.xattrs.clone(),
        contexts: filters::contexts(request.file_contexts.as_deref())?,
        ..Edits::default()
    };
    if matches!(request.input, Input::Image { .. } | Input::Dump(_)) {
        edits.exclude = directory.exclude.clone();
    }
    Ok(edits)
}

fn directory_options(request: &BuildRequest) -> Result<directory::Options> {
    Ok(directory::Options {
        exclude: filters::exclude(&request.choices)?,
        keep_excluded_dirs: false,
        one_file_system: request.one_file_system,
        no_xattrs: request.per_file.no_xattrs,
        // an image must not hold the one that it replaces, nor its device
        skip: [request.path(), request.blob_device.as_deref()]
            .into_iter()
            .flatten()
            .filter_map(|path| std::fs::metadata(path).ok())
            .map(|found| (Rdev::from_dev_t(found.dev()), found.ino()))
            .collect(),
        threads: request.threads,
    })
}
