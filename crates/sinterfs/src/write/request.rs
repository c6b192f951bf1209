//! Everything that can be asked of a build: plain data.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use sinterfs_format::{PerFileOptions, Purpose, VolumeOptions, level};
use sinterfs_model::{Categorizers, MAX_ZEROS, Order, ReadCost};
use sinterfs_source::archive::ImpliedDirectories;
use sinterfs_source::{Action, LayerMarks, Shard, XattrFilter};

use crate::open_options::OpenOptions;
use crate::output::destination::Destination;
use crate::place;
use crate::write::attributes::AttributeChanges;
use crate::write::filters::Filter;
use crate::write::header::NewHeader;
use crate::write::input::kinds::{Input, ManifestOptions};

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
    /// A separate file for all content.
    pub blob_device: Option<PathBuf>,
    /// The parity of the image that is replaced: removed before the new image gets its name, as far
    /// as possible, so that it is not taken for the parity of the new one.
    pub former_parity: Option<PathBuf>,
    /// What comes before the image.
    pub header: Option<NewHeader>,
    /// The format's name; `None` decides by the destination's extension.
    pub format: Option<String>,
    /// The level, 0 to 9, whose settings hold where nothing else is asked.
    pub level: u8,
    /// What the image is packed for; `None` means a mount.
    pub purpose: Option<Purpose>,
    /// The compression of blocks, as in `zstd:level=19`.
    pub compression: Option<String>,
    /// The compression of blocks of some categories, by name.
    pub by_category: Vec<(String, String)>,
    /// The kinds of content that are distinguished; `None` means all.
    pub categorizers: Option<Categorizers>,
    /// The compression of metadata.
    pub metadata_compression: Option<String>,
    /// Bytes of a block.
    pub block_size: Option<u64>,
    /// How many blocks back repeats are looked for; `None` means all.
    pub lookback: Option<u32>,
    /// The price of reads; `None` means that of the purpose and the level.
    pub read_cost: Option<ReadCost>,
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
    /// An image whose stored blocks are reused where the new image has the same content.
    pub base: Option<PathBuf>,
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
    /// The unit of times, as in `1ns`; `None` means the unit of images that are read, and seconds
    /// for a directory alone.
    pub time_resolution: Option<String>,
    /// Whether times of access and of inode change are kept; those that images have are always.
    pub keep_all_times: bool,
    /// Which tables of the metadata are packed, in the format's words; `None` means all.
    pub pack_metadata: Option<String>,
    /// The time of creation to record, in seconds since 1970.
    pub create_timestamp: Option<u64>,
    /// Whether the image records how it was made.
    pub history: bool,
    /// Whether the image has an index of its sections.
    pub section_index: bool,
    /// Whether the image has digests of all its bytes.
    pub with_digest: bool,
    /// Whether the image has its metadata twice.
    pub metadata_copy: bool,
    /// Options of formats that encode each file separately.
    pub per_file: PerFileOptions,
    /// The volume's label, UUID and oldest kernel.
    pub volume: VolumeOptions,
    /// For composefs.
    pub composefs: ComposefsOptions,
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
            blob_device: None,
            former_parity: None,
            header: None,
            format: None,
            level: level::DEFAULT,
            purpose: None,
            compression: None,
            by_category: Vec::new(),
            categorizers: None,
            metadata_compression: None,
            block_size: None,
            lookback: None,
            read_cost: None,
            memory: None,
            max_zeros: None,
            scratch: None,
            order: None,
            sort: None,
            hot: None,
            base: None,
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
            time_resolution: None,
            keep_all_times: false,
            pack_metadata: None,
            create_timestamp: None,
            history: true,
            section_index: true,
            with_digest: false,
            metadata_copy: false,
            per_file: PerFileOptions::default(),
            volume: VolumeOptions::default(),
            composefs: ComposefsOptions::default(),
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

    /// Returns the name of the output, whose extension may choose the format.
    pub(crate) fn output_name(&self) -> Option<PathBuf> {
        match &self.destination {
            Destination::File { path, .. } => Some(path.clone()),
            Destination::Object { url, .. } => Some(place::shown(url)),
            Destination::Stdout | Destination::Open(_) => None,
        }
    }

    /// Returns what the image is packed for.
    pub(crate) fn purpose(&self) -> Purpose {
        self.purpose.unwrap_or_default()
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

/// Options of composefs images.
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
