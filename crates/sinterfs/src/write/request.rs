//! Everything that can be asked of a build: plain data.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinterfs_format::level;
use sinterfs_model::{Categorizers, MAX_ZEROS, Order, Result};
use sinterfs_source::archive::ImpliedDirectories;
use sinterfs_source::{Action, LayerMarks, Shard, XattrFilter};

use crate::formats::options::{self, FormatOptions};
use crate::open_options::OpenOptions;
use crate::place;
use crate::write::attributes::AttributeChanges;
use crate::write::filters::Filter;
use crate::write::header::NewHeader;
use crate::write::input::kinds::{Input, ManifestOptions};

/// Where an image goes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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
    /// An object of a store (`s3://`, `gs://`, `az://`), or an image in a registry
    /// (`oci://HOST/REPOSITORY:TAG`), with the feature `remote`.
    Object {
        /// Its URL.
        url: PathBuf,
        /// Whether an existing object is replaced.
        replace: bool,
    },
    /// An open file, which is written from its position on.
    Open(OutputFile),
}

/// An open file to write to; equal to its copies alone.
#[derive(Debug, Clone)]
pub struct OutputFile(pub Arc<File>);

impl PartialEq for OutputFile {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for OutputFile {}

impl Destination {
    /// Returns what a path or a URL names.
    pub fn of(path: impl Into<PathBuf>, replace: bool) -> Self {
        let path = path.into();
        if place::is_url(&path) {
            Self::Object { url: path, replace }
        } else {
            Self::File { path, replace }
        }
    }

    /// Returns the name, whose extension may choose the format.
    pub fn name(&self) -> Option<PathBuf> {
        match self {
            Self::File { path, .. } => Some(path.clone()),
            Self::Object { url, .. } => Some(place::shown(url)),
            Self::Stdout | Self::Open(_) => None,
        }
    }

    /// Returns whether what exists is replaced.
    pub(crate) fn replaces(&self) -> bool {
        match self {
            Self::File { replace, .. } | Self::Object { replace, .. } => *replace,
            Self::Stdout | Self::Open(_) => false,
        }
    }

    /// Returns the directory for scratch files: that of the output, if it has one.
    pub(crate) fn scratch_dir(&self) -> PathBuf {
        let beside = match self {
            Self::File { path, .. } => path.parent(),
            Self::Object { .. } | Self::Stdout | Self::Open(_) => None,
        };
        match beside {
            Some(dir) if dir.as_os_str().is_empty() => Path::new(".").to_owned(),
            Some(dir) => dir.to_owned(),
            None => std::env::temp_dir(),
        }
    }
}

/// Everything that can be asked of a build.
#[derive(Debug, Clone)]
pub struct BuildRequest {
    /// The input.
    pub input: Input,
    /// How what the build reads besides an image of its own is opened: merged images, a base,
    /// archives on servers.
    pub open: OpenOptions,
    /// Where the image goes.
    pub destination: Destination,
    /// The parity of the image that is replaced: removed before the new image gets its name, as far
    /// as possible, so that it is not taken for the parity of the new one.
    pub former_parity: Option<PathBuf>,
    /// What comes before the image.
    pub header: Option<NewHeader>,
    /// The format with its options; `None` means the one of the destination's extension.
    pub format: Option<FormatOptions>,
    /// The level, 0 to 9, whose settings hold where nothing else is asked.
    pub level: u8,
    /// The compression of blocks, as in `zstd:level=19`.
    pub compression: Option<String>,
    /// The kinds of content that are distinguished; `None` means all.
    pub categorizers: Option<Categorizers>,
    /// Bytes of a block.
    pub block_size: Option<u64>,
    /// The bytes of memory that the build may take; `None` means 512 MiB and as much again for
    /// each thread, or what one thread needs if that is more.
    pub memory: Option<u64>,
    /// The most bytes of holes that a format without holes stores, and composefs hashes, as zeros;
    /// more are an error. `None` means 256 GiB.
    pub max_zeros: Option<u64>,
    /// The directory of scratch files; `None` means that of the image, or that of temporary files
    /// if the image goes to standard output.
    pub scratch: Option<PathBuf>,
    /// The order of files.
    pub order: Option<Order>,
    /// A file with the order of storage: a path in the image and a number from -32768 to 32767 a
    /// line.
    pub sort: Option<PathBuf>,
    /// A file that lists the files needed first, a path in the image a line: stored before all
    /// else, in small blocks.
    pub hot: Option<PathBuf>,
    /// Whether equal files are stored once.
    pub duplicates: bool,
    /// How many threads work.
    pub threads: usize,
    /// Where the content is that lists of files name.
    pub manifest: ManifestOptions,
    /// Rules of exclusion and inclusion; the first that matches applies.
    pub filters: Vec<Filter>,
    /// Definitions of files that are made or changed, as of mksquashfs' `-p`.
    pub pseudo: Vec<OsString>,
    /// Files of such definitions.
    pub pseudo_files: Vec<PathBuf>,
    /// Directories that definitions lead through and that do not exist, as `d MODE UID GID`; `None`
    /// if those are an error.
    pub pseudo_dir: Option<OsString>,
    /// Whether owners of definitions stay when all files get others.
    pub pseudo_override: bool,
    /// Extended attributes that all files get, as `NAME=VALUE`.
    pub xattrs_add: Vec<OsString>,
    /// The directory of an archive that becomes the root of the image, which has nothing else;
    /// an error for other sources.
    pub archive_root: Option<OsString>,
    /// Attributes of directories that an archive has no member for, and of its root.
    pub implied: ImpliedDirectories,
    /// What happens to files for which an expression is true.
    pub actions: Vec<Action>,
    /// Whether each name of a file becomes a file of its own.
    pub separate_links: bool,
    /// Which extended attributes of the source stay.
    pub xattrs: XattrFilter,
    /// A file of SELinux file contexts, which gives the label of every file.
    pub file_contexts: Option<PathBuf>,
    /// The path that the root of the image is mounted at, for these contexts.
    pub mount_point: Option<OsString>,
    /// What becomes of the marks of layers in the source.
    pub marks: LayerMarks,
    /// Which part of the files is packed; all of them have all directories.
    pub shard: Option<Shard>,
    /// Whether other file systems are left out.
    pub one_file_system: bool,
    /// Changes of owners, times and permissions.
    pub attributes: AttributeChanges,
    /// The time of creation to record, in seconds since 1970.
    pub create_timestamp: Option<u64>,
    /// Whether extended attributes are kept.
    pub keep_xattrs: bool,
    /// Whether anything that can't be kept or read is an error.
    pub strict: bool,
}

impl BuildRequest {
    /// Asks for an image of a directory on standard output, with the default of everything.
    pub fn new(source: impl Into<PathBuf>) -> Self {
        Self::from_input(Input::Directory(source.into()))
    }

    /// Asks for an image of anything on standard output, with the default of everything.
    pub fn from_input(input: Input) -> Self {
        Self {
            input,
            open: OpenOptions::default(),
            destination: Destination::Stdout,
            former_parity: None,
            header: None,
            format: None,
            level: level::DEFAULT,
            compression: None,
            categorizers: None,
            block_size: None,
            memory: None,
            max_zeros: None,
            scratch: None,
            order: None,
            sort: None,
            hot: None,
            duplicates: true,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            manifest: ManifestOptions::default(),
            filters: Vec::new(),
            pseudo: Vec::new(),
            pseudo_files: Vec::new(),
            pseudo_dir: None,
            pseudo_override: false,
            xattrs_add: Vec::new(),
            archive_root: None,
            implied: ImpliedDirectories::default(),
            actions: Vec::new(),
            separate_links: false,
            xattrs: XattrFilter::default(),
            file_contexts: None,
            mount_point: None,
            marks: LayerMarks::default(),
            shard: None,
            one_file_system: false,
            attributes: AttributeChanges::default(),
            create_timestamp: None,
            keep_xattrs: true,
            strict: false,
        }
    }
}

impl BuildRequest {
    /// Returns the path of the output, if it is a file.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.destination {
            Destination::File { path, .. } => Some(path),
            Destination::Object { .. } | Destination::Stdout | Destination::Open(_) => None,
        }
    }

    /// Returns the format with its options.
    pub(crate) fn format(&self) -> Result<FormatOptions> {
        match &self.format {
            Some(format) => Ok(format.clone()),
            None => options::for_output(None, self.destination.name().as_deref()),
        }
    }

    /// Returns the changes of attributes that are made last.
    pub(crate) fn attributes_at_end(&self) -> AttributeChanges {
        if self.pseudo_override {
            self.attributes.without_owners()
        } else {
            self.attributes.clone()
        }
    }

    /// Returns the most bytes of holes that are stored as zeros.
    pub(crate) fn max_zeros(&self) -> u64 {
        self.max_zeros.unwrap_or(MAX_ZEROS)
    }

    /// Returns the directory for scratch files.
    pub(crate) fn scratch_dir(&self) -> PathBuf {
        let chosen = self.scratch.clone();
        chosen.unwrap_or_else(|| self.destination.scratch_dir())
    }
}
