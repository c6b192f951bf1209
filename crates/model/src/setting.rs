//! Options of requests, named by their meaning, for errors that refer to them.

use std::fmt;

/// Names an option of a request.
///
/// A message that refers to options has their names in backticks, as `Display` writes them, and the
/// error lists them ([`crate::Error::settings`]), so that a front end can put its own words (a
/// flag, the label of a field) in their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Setting {
    /// Actions on files for which an expression is true.
    Actions,
    /// Actions that decide where content is stored.
    ActionLayout,
    /// Actions that store content uncompressed.
    ActionUncompressed,
    /// Times of access and of inode change.
    AllTimes,
    /// The directory of an archive that becomes the root.
    ArchiveRoot,
    /// An image whose blocks are taken over.
    Base,
    /// Content on a separate device.
    BlobDevice,
    /// Bytes of a block.
    BlockSize,
    /// The kinds of content that are distinguished.
    Categorize,
    /// A compression for a category.
    CategoryCompression,
    /// Content in chunks that are stored once.
    ChunkSize,
    /// The compression of blocks.
    Compression,
    /// The time of creation that is recorded.
    CreateTimestamp,
    /// Further files with content of an image.
    Devices,
    /// A store for the content of files.
    DigestStore,
    /// Whether equal files are stored once.
    Duplicates,
    /// The table of all inodes.
    Exports,
    /// Further features of the format.
    Extended,
    /// SELinux labels by rules.
    FileContexts,
    /// Patterns of excluded files.
    Filters,
    /// The format of a new image.
    Format,
    /// The versions that the format may have.
    FormatVersion,
    /// The header before the image in its file.
    Header,
    /// The record of how the image was made.
    History,
    /// Whether blocks of zeros become holes.
    Holes,
    /// The files that are stored first.
    HotList,
    /// Which image of a file with several is opened.
    ImageInFile,
    /// Attributes of directories that archives have no member for.
    ImpliedDirectories,
    /// The name of the volume.
    Label,
    /// The level.
    Level,
    /// A bound on how far back repeats are looked for.
    Lookback,
    /// Content of lists of files outside their directory.
    ManifestAnywhere,
    /// The directory of the content of lists of files.
    ManifestRoot,
    /// Audio or images in separate blocks.
    MediaCategories,
    /// The most bytes of holes that are written as zeros.
    MaxZeros,
    /// A bound on memory.
    Memory,
    /// The compression of metadata.
    MetadataCompression,
    /// Whether the metadata is stored twice.
    MetadataCopy,
    /// The store of objects that an image refers to.
    Objects,
    /// The offset of an image in its file.
    Offset,
    /// Whether other file systems are left out.
    OneFileSystem,
    /// Which part of the files is packed.
    Shard,
    /// The order of files.
    Order,
    /// Which tables of the metadata are packed.
    PackMetadata,
    /// The padding at the end of the image.
    Padding,
    /// Which partition of a disk is opened.
    Partition,
    /// Which image of several is taken.
    Platform,
    /// Definitions of files.
    Pseudo,
    /// Directories that definitions of files lead through.
    PseudoDirectories,
    /// Files of definitions of files.
    PseudoFiles,
    /// Whether owners of definitions of files stay.
    PseudoOverride,
    /// The purpose for which the image is packed.
    Purpose,
    /// The cost that reads may have.
    ReadCost,
    /// Whether all content is cut and compressed again.
    Rebuild,
    /// Whether an existing output is replaced.
    Replace,
    /// The directory of scratch files.
    Scratch,
    /// The index of sections.
    SectionIndex,
    /// Whether each name of a file becomes a separate file.
    SeparateLinks,
    /// Whether devices are left out.
    SkipDevices,
    /// Priorities of files.
    Sort,
    /// Whether any loss is an error.
    Strict,
    /// The handling of the tails of files.
    Tails,
    /// The oldest kernel that is to mount the image.
    TargetKernel,
    /// The unit of times.
    TimeResolution,
    /// Parts that are stored without compression.
    Uncompressed,
    /// Whether archives of container images are unpacked.
    UnpackLayers,
    /// Whether only attributes of users are kept.
    UserXattrs,
    /// The UUID of the volume.
    Uuid,
    /// Digests of all bytes in the image.
    WithDigest,
    /// Which extended attributes are kept.
    XattrFilter,
    /// Prefixes of names of extended attributes.
    XattrPrefixes,
    /// Extended attributes that all files get.
    XattrsAdded,
    /// Whether extended attributes are kept.
    Xattrs,
}

impl Setting {
    /// All options.
    pub const ALL: &[Self] = &[
        Self::Actions,
        Self::ActionLayout,
        Self::ActionUncompressed,
        Self::AllTimes,
        Self::ArchiveRoot,
        Self::Base,
        Self::BlobDevice,
        Self::BlockSize,
        Self::Categorize,
        Self::CategoryCompression,
        Self::ChunkSize,
        Self::Compression,
        Self::CreateTimestamp,
        Self::Devices,
        Self::DigestStore,
        Self::Duplicates,
        Self::Exports,
        Self::Extended,
        Self::FileContexts,
        Self::Filters,
        Self::Format,
        Self::FormatVersion,
        Self::Header,
        Self::History,
        Self::Holes,
        Self::HotList,
        Self::ImageInFile,
        Self::ImpliedDirectories,
        Self::Label,
        Self::Level,
        Self::Lookback,
        Self::ManifestAnywhere,
        Self::ManifestRoot,
        Self::MaxZeros,
        Self::MediaCategories,
        Self::Memory,
        Self::MetadataCompression,
        Self::MetadataCopy,
        Self::Objects,
        Self::Offset,
        Self::OneFileSystem,
        Self::Shard,
        Self::Order,
        Self::PackMetadata,
        Self::Padding,
        Self::Partition,
        Self::Platform,
        Self::Pseudo,
        Self::PseudoDirectories,
        Self::PseudoFiles,
        Self::PseudoOverride,
        Self::Purpose,
        Self::ReadCost,
        Self::Rebuild,
        Self::Replace,
        Self::Scratch,
        Self::SectionIndex,
        Self::SeparateLinks,
        Self::SkipDevices,
        Self::Sort,
        Self::Strict,
        Self::Tails,
        Self::TargetKernel,
        Self::TimeResolution,
        Self::Uncompressed,
        Self::UnpackLayers,
        Self::UserXattrs,
        Self::Uuid,
        Self::WithDigest,
        Self::XattrFilter,
        Self::XattrPrefixes,
        Self::XattrsAdded,
        Self::Xattrs,
    ];

    /// Returns the name of the option in the libraries.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Actions => "actions",
            Self::ActionLayout => "actions about tails and alignment",
            Self::ActionUncompressed => "actions about compression",
            Self::AllTimes => "keep_all_times",
            Self::ArchiveRoot => "archive_root",
            Self::Base => "base",
            Self::BlobDevice => "blob_device",
            Self::BlockSize => "block_size",
            Self::Categorize => "categorizers",
            Self::CategoryCompression => "by_category",
            Self::ChunkSize => "chunk_size",
            Self::Compression => "compression",
            Self::CreateTimestamp => "create_timestamp",
            Self::Devices => "devices",
            Self::DigestStore => "digest_store",
            Self::Duplicates => "duplicates",
            Self::Exports => "exports",
            Self::Extended => "extended",
            Self::FileContexts => "file_contexts",
            Self::Filters => "filters",
            Self::Format => "format",
            Self::FormatVersion => "format_version",
            Self::Header => "header",
            Self::History => "history",
            Self::Holes => "holes",
            Self::HotList => "hot",
            Self::ImageInFile => "image",
            Self::ImpliedDirectories => "implied",
            Self::Label => "label",
            Self::Level => "level",
            Self::Lookback => "lookback",
            Self::ManifestAnywhere => "manifest_anywhere",
            Self::ManifestRoot => "manifest_root",
            Self::MediaCategories => "media_categories",
            Self::MaxZeros => "max_zeros",
            Self::Memory => "memory",
            Self::MetadataCompression => "metadata_compression",
            Self::MetadataCopy => "metadata_copy",
            Self::Objects => "objects",
            Self::Offset => "offset",
            Self::OneFileSystem => "one_file_system",
            Self::Shard => "shard",
            Self::Order => "order",
            Self::PackMetadata => "pack_metadata",
            Self::Padding => "padding",
            Self::Partition => "partition",
            Self::Platform => "platform",
            Self::Pseudo => "pseudo",
            Self::PseudoDirectories => "pseudo_dir",
            Self::PseudoFiles => "pseudo_files",
            Self::PseudoOverride => "pseudo_override",
            Self::Purpose => "purpose",
            Self::ReadCost => "read_cost",
            Self::Rebuild => "rebuild",
            Self::Replace => "replace",
            Self::Scratch => "scratch",
            Self::SectionIndex => "section_index",
            Self::SeparateLinks => "separate_links",
            Self::SkipDevices => "skip_devices",
            Self::Sort => "sort",
            Self::Strict => "strict",
            Self::Tails => "tails",
            Self::TargetKernel => "target_kernel",
            Self::TimeResolution => "time_resolution",
            Self::Uncompressed => "uncompressed",
            Self::UnpackLayers => "unpack_layers",
            Self::UserXattrs => "user_xattrs",
            Self::Uuid => "uuid",
            Self::WithDigest => "with_digest",
            Self::XattrFilter => "xattr_filter",
            Self::XattrPrefixes => "xattr_prefixes",
            Self::XattrsAdded => "xattrs_add",
            Self::Xattrs => "xattrs",
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.name())
    }
}
