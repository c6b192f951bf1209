//! Versions of Linux, and from which one on each part of the format is read.
//!
//! In: features and algorithms. Out: versions. **Invariant:** what a version reads, all newer ones
//! read. Source: the release notes of EROFS, `docs/formats/erofs.md`, "Target kernels".

use std::str::FromStr;

use sinterfs_model::{Error, Result};

use crate::layout::{Algorithm, compat, incompat};
use crate::read::Superblock;

/// A version of Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kernel {
    /// The first number.
    pub major: u16,
    /// The second one.
    pub minor: u16,
}

/// The first version that reads today's EROFS.
const FIRST: Kernel = Kernel::new(5, 4);

/// The first version with pclusters of several blocks, and configurations of algorithms.
pub(crate) const FIRST_BIG_CLUSTERS: Kernel = Kernel::new(5, 13);

/// The first version with files made of chunks.
pub(crate) const FIRST_CHUNKS: Kernel = Kernel::new(5, 15);

/// The first version with further devices.
pub(crate) const FIRST_DEVICES: Kernel = Kernel::new(5, 16);

/// The first version that reads an inline pcluster.
pub(crate) const FIRST_INLINE_CLUSTERS: Kernel = Kernel::new(5, 17);

/// The first version with a packed inode.
pub(crate) const FIRST_FRAGMENTS: Kernel = Kernel::new(6, 1);

/// The first version that reads extents, and times of compact inodes.
const FIRST_EXTENTS: Kernel = Kernel::new(6, 15);

/// The first version with long prefixes of names.
pub(crate) const FIRST_PREFIXES: Kernel = Kernel::new(6, 4);

/// The first version that finds these in the image itself where there is a packed inode, too.
const FIRST_PLAIN_PREFIXES: Kernel = Kernel::new(6, 17);

/// The first version whose blocks may be shorter than pages.
pub(crate) const FIRST_SHORT_BLOCKS: Kernel = Kernel::new(6, 4);

/// The first versions that read images with a feature.
const FEATURES: [(u32, Kernel); 8] = [
    (incompat::COMPR_CFGS, FIRST_BIG_CLUSTERS),
    (incompat::CHUNKED_FILE, FIRST_CHUNKS),
    (incompat::DEVICE_TABLE, FIRST_DEVICES),
    (incompat::ZTAILPACKING, FIRST_INLINE_CLUSTERS),
    (incompat::FRAGMENTS, FIRST_FRAGMENTS),
    (incompat::XATTR_PREFIXES, FIRST_PREFIXES),
    (incompat::BIT48, FIRST_EXTENTS),
    (incompat::METABOX, Kernel::new(6, 17)),
];

/// The versions that images can be made for: those with long support or with a new feature.
const TARGETS: [Kernel; 11] = [
    FIRST,
    Kernel::new(5, 10),
    Kernel::new(5, 15),
    FIRST_INLINE_CLUSTERS,
    FIRST_FRAGMENTS,
    Kernel::new(6, 6),
    Kernel::new(6, 10),
    Kernel::new(6, 12),
    FIRST_EXTENTS,
    Kernel::new(6, 17),
    Kernel::new(6, 18),
];

impl Kernel {
    const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }

    /// Returns the first version with an algorithm.
    pub const fn first_with(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Lz4 => FIRST,
            Algorithm::MicroLzma => Self::new(5, 16),
            Algorithm::Deflate => Self::new(6, 6),
            Algorithm::Zstd => Self::new(6, 10),
        }
    }

    /// Returns the oldest version that mounts an image, by its features, algorithms and block size.
    pub fn oldest_for(superblock: &Superblock) -> Self {
        let features = FEATURES.iter().filter(|(bit, _)| superblock.has(*bit));
        let algorithms = Algorithm::ALL.into_iter();
        let algorithms = algorithms.filter(|&one| superblock.configs.has(one));
        let short = superblock.block_size() < 4096;
        let plain = superblock.compat & compat::PLAIN_XATTR_PFX != 0
            && superblock.has(incompat::XATTR_PREFIXES)
            && superblock.packed.is_some();
        features
            .map(|(_, first)| *first)
            .chain(algorithms.map(Self::first_with))
            .chain(short.then_some(FIRST_SHORT_BLOCKS))
            .chain(plain.then_some(FIRST_PLAIN_PREFIXES))
            .fold(FIRST, Self::max)
    }

    /// Returns whether the kernel reads extents that begin at any byte.
    pub(crate) fn knows_extents(self) -> bool {
        self >= FIRST_EXTENTS
    }

    /// Returns whether the kernel reads files made of chunks, holes among them.
    pub(crate) fn knows_chunks(self) -> bool {
        self >= FIRST_CHUNKS
    }

    /// Returns whether the kernel reads long prefixes of names.
    pub(crate) fn knows_prefixes(self) -> bool {
        self >= FIRST_PREFIXES
    }

    /// Returns whether the kernel finds long prefixes in the image where there is a packed inode.
    pub(crate) fn knows_plain_prefixes(self) -> bool {
        self >= FIRST_PLAIN_PREFIXES
    }

    /// Returns whether the kernel reads files and tails in the packed inode.
    pub(crate) fn knows_fragments(self) -> bool {
        self >= FIRST_FRAGMENTS
    }

    /// Returns whether the kernel reads a last pcluster after the inode.
    pub(crate) fn knows_inline_clusters(self) -> bool {
        self >= FIRST_INLINE_CLUSTERS
    }
}

impl Default for Kernel {
    fn default() -> Self {
        FIRST_EXTENTS
    }
}

impl std::fmt::Display for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for Kernel {
    type Err = Error;

    /// Reads `6.15`, one of the versions that images can be made for.
    fn from_str(text: &str) -> Result<Self> {
        let known = TARGETS.iter().find(|kernel| kernel.to_string() == text);
        known.copied().ok_or_else(|| {
            let all: Vec<String> = TARGETS.iter().map(ToString::to_string).collect();
            Error::invalid(format!(
                "target kernel `{text}`: the choices are {}",
                all.join(", ")
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_known_by_their_versions() {
        let old: Kernel = "5.4".parse().unwrap();
        let new: Kernel = "6.17".parse().unwrap();
        assert!(!old.knows_extents() && new.knows_extents() && old < new);
        for wrong in ["", "6", "6.14", "6.15.1", "newest"] {
            assert!(wrong.parse::<Kernel>().is_err(), "{wrong}");
        }
        assert!(TARGETS.is_sorted() && TARGETS.contains(&Kernel::default()));
    }

    #[test]
    fn every_feature_has_a_first_version() {
        for &(bit, name) in incompat::NAMES {
            let known = FEATURES.iter().any(|(feature, _)| *feature == bit);
            assert!(known || bit == incompat::ZERO_PADDING, "{name}");
        }
    }
}
