//! The options of new images that not every format has a meaning for.
//!
//! **Invariant:** what a user asks for is done or refused with its name, never ignored.

use sinterfs_model::{Error, Result};

/// Names such an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// A compression for a category.
    CategoryCompression,
    /// Another compression for metadata.
    MetadataCompression,
    /// Audio or images in blocks of their own.
    Media,
    /// An image whose blocks are taken over.
    Base,
    /// A bound of how far back repeats are looked for.
    Lookback,
    /// A unit of times.
    TimeResolution,
    /// Times of access and of inode change.
    AllTimes,
    /// Which tables are packed.
    PackMetadata,
    /// No account of how the image was made.
    NoHistory,
    /// No index of sections.
    NoSectionIndex,
    /// Digests of all bytes in the image.
    WithDigest,
    /// What becomes of the ends of files.
    Tails,
    /// Parts without compression.
    NoCompress,
    /// Content in chunks that are stored once.
    ChunkSize,
    /// Content on a device of its own.
    BlobDevice,
    /// Zeros as data.
    NoSparse,
    /// No extended attributes.
    NoXattrs,
    /// What names of extended attributes begin with.
    XattrPrefix,
    /// No table of all inodes.
    NoExports,
    /// No padding.
    NoPad,
    /// The volume's UUID.
    Uuid,
    /// The volume's name.
    Label,
    /// The oldest kernel that is to mount the image.
    TargetKernel,
    /// What the format can do besides.
    Extended,
    /// A store for the content of files.
    DigestStore,
    /// The versions that the format may have.
    FormatVersion,
    /// No devices.
    SkipDevices,
    /// No extended attributes but those of users.
    UserXattrs,
}

impl Asked {
    /// Returns how the option is called.
    pub const fn flag(self) -> &'static str {
        match self {
            Self::CategoryCompression => "--compression CATEGORY::CODEC",
            Self::MetadataCompression => "--metadata-compression",
            Self::Media => "--categorize=pcmaudio or fits",
            Self::Base => "--base",
            Self::Lookback => "--lookback",
            Self::TimeResolution => "--time-resolution",
            Self::AllTimes => "--keep-all-times",
            Self::PackMetadata => "--pack-metadata",
            Self::NoHistory => "--no-history",
            Self::NoSectionIndex => "--no-section-index",
            Self::WithDigest => "--with-digest (`sinter digest -o` writes them beside the image)",
            Self::Tails => "--tailends or --no-fragments",
            Self::NoCompress => "--no-compress",
            Self::ChunkSize => "--chunk-size",
            Self::BlobDevice => "--blob-device",
            Self::NoSparse => "--no-sparse",
            Self::NoXattrs => "--no-xattrs",
            Self::XattrPrefix => "--xattr-prefix",
            Self::NoExports => "--no-exports",
            Self::NoPad => "--no-pad",
            Self::Uuid => "--uuid",
            Self::Label => "--label",
            Self::TargetKernel => "--target-kernel",
            Self::Extended => "--extended",
            Self::DigestStore => "--digest-store",
            Self::FormatVersion => "--min-version or --max-version",
            Self::SkipDevices => "--skip-devices",
            Self::UserXattrs => "--user-xattrs",
        }
    }

    /// Fails with `Invalid` for the first option that a format has no meaning for.
    pub fn refuse_unknown(
        format: &str,
        knows: impl Fn(Self) -> bool,
        asked: &[(bool, Self)],
    ) -> Result<()> {
        let unknown = asked
            .iter()
            .find(|&&(is_asked, option)| is_asked && !knows(option));
        match unknown {
            Some((_, option)) => Err(Error::invalid(format!(
                "{} means nothing for {format} images",
                option.flag(),
            ))),
            None => Ok(()),
        }
    }
}
