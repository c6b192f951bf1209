//! The options of one format, for callers that know which one they write.

use std::path::PathBuf;

use sinterfs_format::Purpose;
use sinterfs_model::{ReadCost, TailPlacement};

use crate::write::request::{BuildRequest, ComposefsOptions};

/// The format of a new image, with options that it alone has.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum FormatOptions {
    /// DwarFS.
    Dwarfs(DwarfsOptions),
    /// SquashFS.
    Squashfs(SquashfsOptions),
    /// EROFS.
    Erofs(ErofsOptions),
    /// composefs.
    Composefs(ComposefsOptions),
    /// CRAMFS.
    Cramfs(CramfsOptions),
    /// ISO 9660.
    Iso9660(Iso9660Options),
    /// WIM.
    Wim(WimOptions),
}

/// Options of DwarFS images.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DwarfsOptions {
    /// An image whose blocks are reused where the new image has the same content.
    pub base: Option<PathBuf>,
    /// The compression of blocks of some categories, by name.
    pub by_category: Vec<(String, String)>,
    /// The compression of metadata; `None` means that of the level.
    pub metadata_compression: Option<String>,
    /// How many blocks back repeats are looked for; `None` means all.
    pub lookback: Option<u32>,
    /// The use of the image; `None` means a mount.
    pub purpose: Option<Purpose>,
    /// The price of reads; `None` means that of the purpose and the level.
    pub read_cost: Option<ReadCost>,
    /// The unit of times, as in `1ns`; `None` means seconds, or the unit of images that are read.
    pub time_resolution: Option<String>,
    /// Whether times of access and of inode change are kept.
    pub keep_all_times: bool,
    /// Which tables of the metadata are packed, in the format's words; `None` means all.
    pub pack_metadata: Option<String>,
    /// Whether the image records how it was made.
    pub history: bool,
    /// Whether the image has an index of its sections.
    pub section_index: bool,
    /// Whether the image has digests of all its bytes, which a signature can cover.
    pub with_digest: bool,
    /// Whether the image has its metadata twice: the copy is read where the first is damaged.
    pub metadata_copy: bool,
}

impl Default for DwarfsOptions {
    fn default() -> Self {
        Self {
            base: None,
            by_category: Vec::new(),
            metadata_compression: None,
            lookback: None,
            purpose: None,
            read_cost: None,
            time_resolution: None,
            keep_all_times: false,
            pack_metadata: None,
            history: true,
            section_index: true,
            with_digest: false,
            metadata_copy: false,
        }
    }
}

/// Options of SquashFS images.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SquashfsOptions {
    /// The placement of tails; `None` packs those of small files.
    pub tails: Option<TailPlacement>,
    /// Parts that are stored without compression, in the format's words.
    pub uncompressed: Option<String>,
    /// Whether the image has the table of all inodes that NFS needs.
    pub exports: bool,
    /// Whether the image is padded to a multiple of 4 KiB.
    pub padding: bool,
}

impl Default for SquashfsOptions {
    fn default() -> Self {
        Self {
            tails: None,
            uncompressed: None,
            exports: true,
            padding: true,
        }
    }
}

/// Options of EROFS images.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ErofsOptions {
    /// The oldest version of Linux that mounts the image; `None` means 6.15.
    pub target_kernel: Option<String>,
    /// Further features, in the words of mkfs.erofs' `-E`.
    pub extended: Option<String>,
    /// Bytes of chunks that are stored once wherever they are equal.
    pub chunk_size: Option<u64>,
    /// A file for all content, outside the image.
    pub blob_device: Option<PathBuf>,
    /// Prefixes of names of extended attributes that are stored once.
    pub xattr_prefixes: Vec<String>,
    /// The UUID of the volume; `None` derives one from its content.
    pub uuid: Option<String>,
    /// The name of the volume.
    pub label: Option<String>,
}

/// Options of CRAMFS images.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CramfsOptions {
    /// Further features, in the words of docs/formats/cramfs.md: `big-endian,edition=2`.
    pub extended: Option<String>,
    /// The name of the volume.
    pub label: Option<String>,
    /// Whether blocks of zeros are holes.
    pub holes: bool,
    /// Whether the image is padded to a multiple of 4 KiB.
    pub padding: bool,
}

impl Default for CramfsOptions {
    fn default() -> Self {
        Self {
            extended: None,
            label: None,
            holes: true,
            padding: true,
        }
    }
}

/// Options of ISO 9660 images.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Iso9660Options {
    /// Further features, in the words of docs/formats/iso9660.md: `boot=FILE,partitions`.
    pub extended: Option<String>,
    /// The name of the volume.
    pub label: Option<String>,
}

/// Options of WIM images.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct WimOptions {
    /// The name of the image in the file.
    pub label: Option<String>,
}

impl FormatOptions {
    /// Returns the name of the format.
    pub fn format(&self) -> &'static str {
        match self {
            Self::Dwarfs(_) => "dwarfs",
            Self::Squashfs(_) => "squashfs",
            Self::Erofs(_) => "erofs",
            Self::Composefs(_) => "composefs",
            Self::Cramfs(_) => "cramfs",
            Self::Iso9660(_) => "iso9660",
            Self::Wim(_) => "wim",
        }
    }

    /// Asks for the format with these options.
    pub(crate) fn apply(self, request: &mut BuildRequest) {
        request.format = Some(self.format().to_owned());
        match self {
            Self::Dwarfs(options) => options.apply(request),
            Self::Squashfs(options) => options.apply(request),
            Self::Erofs(options) => options.apply(request),
            Self::Composefs(options) => request.composefs = options,
            Self::Cramfs(options) => options.apply(request),
            Self::Iso9660(options) => options.apply(request),
            Self::Wim(options) => request.volume.label = options.label,
        }
    }
}

impl DwarfsOptions {
    fn apply(self, request: &mut BuildRequest) {
        request.base = self.base;
        request.by_category = self.by_category;
        request.metadata_compression = self.metadata_compression;
        request.lookback = self.lookback;
        request.purpose = self.purpose;
        request.read_cost = self.read_cost;
        request.time_resolution = self.time_resolution;
        request.keep_all_times = self.keep_all_times;
        request.pack_metadata = self.pack_metadata;
        request.history = self.history;
        request.section_index = self.section_index;
        request.with_digest = self.with_digest;
        request.metadata_copy = self.metadata_copy;
    }
}

impl SquashfsOptions {
    fn apply(self, request: &mut BuildRequest) {
        request.per_file.tails = self.tails;
        request.per_file.raw = self.uncompressed;
        request.per_file.no_export = !self.exports;
        request.per_file.no_padding = !self.padding;
    }
}

impl ErofsOptions {
    fn apply(self, request: &mut BuildRequest) {
        request.blob_device = self.blob_device;
        request.per_file.chunk_size = self.chunk_size;
        request.per_file.xattr_prefixes = self.xattr_prefixes;
        request.volume.target_kernel = self.target_kernel;
        request.volume.extended = self.extended;
        request.volume.uuid = self.uuid;
        request.volume.label = self.label;
    }
}

impl CramfsOptions {
    fn apply(self, request: &mut BuildRequest) {
        request.per_file.no_holes = !self.holes;
        request.per_file.no_padding = !self.padding;
        request.volume.extended = self.extended;
        request.volume.label = self.label;
    }
}

impl Iso9660Options {
    fn apply(self, request: &mut BuildRequest) {
        request.volume.extended = self.extended;
        request.volume.label = self.label;
    }
}
