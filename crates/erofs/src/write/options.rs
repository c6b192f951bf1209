//! The options of the writer, and what follows from them for the geometry of content.
//!
//! **Invariant:** what the format or the target kernel cannot express is an error here, before
//! anything is written.

use std::path::PathBuf;

use sinterfs_format::{OptionRow, OptionTable};
use sinterfs_model::{Error, Result, TailPlacement, TailSharing};

use super::compression::Compression;
use super::extended::Extended;
use super::limits::{BLOCK, BlockSize, UNIT_MAX};
use super::prefixes::XattrPrefixes;
use super::volume_id::{DeviceName, Label, Uuid};
use crate::kernel::{
    FIRST_BIG_CLUSTERS, FIRST_CHUNKS, FIRST_DEVICES, FIRST_FRAGMENTS, FIRST_INLINE_CLUSTERS,
    FIRST_PREFIXES, FIRST_SHORT_BLOCKS, Kernel,
};
use crate::layout::Algorithm;
use crate::layout::compressed::CLUSTER_MAX;

/// The shortest unit that is cut into pclusters: the last pcluster of each unit is not full, nor is
/// its last block.
const UNIT_MIN: u32 = 2 << 20;

/// The unit of content that is neither compressed nor has holes, where units leave no trace in the
/// image.
const PLAIN_UNIT: u32 = 1 << 20;

/// The shortest repeat that is referred to where pclusters need no whole blocks.
const REPEAT_MIN: u32 = 1 << 10;

/// Files and tails shorter than this number of pclusters go into fragments whole, so that similar
/// ones are encoded together.
const SHARED_CLUSTERS: u32 = 4;

/// Those with more bytes than this do not, unless a pcluster has more. For longer files, the tail
/// after the last full pcluster is shared.
const SHARED_MAX: u32 = 128 << 10;

/// The options of EROFS images that not all formats have.
#[derive(Debug, Clone)]
pub struct ErofsOptions {
    /// The oldest kernel that is to mount the image.
    pub kernel: Kernel,
    /// Features that need a newer kernel or more time.
    pub extended: Extended,
    /// The size of chunks, a power of two from 4 KiB to 4 MiB, of which equal ones are stored once;
    /// `None` for no chunks.
    pub chunk_size: Option<u32>,
    /// A file for all content, outside the image.
    pub blob_device: Option<PathBuf>,
    /// Whether units of zeros become holes, where the kernel knows them.
    pub holes: bool,
    /// Long prefixes of names of extended attributes; if empty, those that save space are chosen.
    pub xattr_prefixes: XattrPrefixes,
    /// The UUID of the volume; `None` derives one from the bytes of the image.
    pub uuid: Option<Uuid>,
    /// The label of the volume.
    pub label: Label,
}

impl Default for ErofsOptions {
    fn default() -> Self {
        Self {
            kernel: Kernel::default(),
            extended: Extended::default(),
            chunk_size: None,
            blob_device: None,
            holes: true,
            xattr_prefixes: XattrPrefixes::default(),
            uuid: None,
            label: Label::default(),
        }
    }
}

impl OptionTable for ErofsOptions {
    const ROWS: &'static [OptionRow<Self>] = &[
        ("target_kernel", |own, text| text.parse(&mut own.kernel)),
        ("extended", |own, text| text.parse(&mut own.extended)),
        ("chunk_size", |own, text| text.count(&mut own.chunk_size)),
        ("blob_device", |own, text| text.file(&mut own.blob_device)),
        ("holes", |own, text| text.switch(&mut own.holes)),
        ("xattr_prefix", |own, text| {
            own.xattr_prefixes.add(text.text()?)
        }),
        ("uuid", |own, text| text.some(&mut own.uuid)),
        ("label", |own, text| text.parse(&mut own.label)),
    ];
}

/// Options for writing an image.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// A power of two from 4 KiB to 1 MiB: bytes of content that are encoded together; for kernels
    /// without extents, the most stored bytes of a pcluster.
    pub block_size: u32,
    /// The codec of content.
    pub compression: Compression,
    /// The name of the device for all content; `None` if the image itself has it.
    pub device: Option<DeviceName>,
    /// Whether extended attributes are kept.
    pub xattrs: bool,
    /// The build time in seconds since 1970; `None` for the latest time of the files.
    pub made: Option<u64>,
    /// The options of this format.
    pub own: ErofsOptions,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            block_size: 128 << 10,
            compression: Compression::default(),
            device: None,
            xattrs: true,
            made: None,
            own: ErofsOptions::default(),
        }
    }
}

impl WriteOptions {
    /// Fails with `Invalid` for options that the format cannot express, and with `Unsupported` for
    /// what the target kernel does not read.
    pub(super) fn check(&self) -> Result<()> {
        let size = u64::from(self.block_size);
        if !size.is_power_of_two() || !(BLOCK..=CLUSTER_MAX).contains(&size) {
            return Err(Error::invalid(format!(
                "block size {size}: EROFS has powers of two from 4 KiB to 1 MiB"
            )));
        }
        let chunk = u64::from(self.own.chunk_size.unwrap_or(UNIT_MAX));
        if !chunk.is_power_of_two() || !(BLOCK..=UNIT_MAX.into()).contains(&chunk) {
            return Err(Error::invalid(format!(
                "chunk size {chunk}: a power of two from 4 KiB to 4 MiB"
            )));
        }
        self.check_features()?;
        self.check_block()?;
        self.check_index()?;
        match self.compression.algorithm() {
            None => Ok(()),
            Some(algorithm) => self.check_compressed(algorithm),
        }
    }

    /// Fails for blocks of another size than 4 KiB where these are not written.
    fn check_block(&self) -> Result<()> {
        let block = self.own.extended.block;
        if block == BlockSize::default() {
            return Ok(());
        }
        let bytes = block.bytes();
        if !self.compression.is_none() || self.device.is_some() {
            return Err(Error::unsupported(format!(
                "EROFS blocks of {bytes} bytes are for uncompressed images without a further device"
            )));
        }
        if self.own.kernel < FIRST_SHORT_BLOCKS || self.own.kernel.knows_extents() {
            return Err(Error::unsupported(format!(
                "EROFS blocks of {bytes} bytes are for target kernels from {FIRST_SHORT_BLOCKS} to \
                 6.12"
            )));
        }
        Ok(())
    }

    /// Fails for an index that cannot refer to what a source has.
    fn check_index(&self) -> Result<()> {
        let is_plain = self.compression.is_none() && self.device.is_none();
        if !self.own.extended.index || is_plain {
            return Ok(());
        }
        Err(Error::invalid(
            "an index refers to content as it is: without compression and without a device of its \
             own",
        ))
    }

    fn check_features(&self) -> Result<()> {
        let (kernel, extended) = (self.own.kernel, self.own.extended);
        let is_compressed = !self.compression.is_none();
        let is_big = is_compressed && u64::from(self.block_size) > BLOCK;
        let has_prefixes = self.own.xattr_prefixes.count() > 0;
        let fragments = extended.fragments == Some(true);
        let ztailpacking = extended.ztailpacking == Some(true);
        let of_clusters = [
            ("dedupe", extended.dedupe, FIRST_FRAGMENTS),
            ("fragments", fragments, FIRST_FRAGMENTS),
            ("all-fragments", extended.all_fragments, FIRST_FRAGMENTS),
            ("ztailpacking", ztailpacking, FIRST_INLINE_CLUSTERS),
        ];
        let others = [
            ("chunks", self.own.chunk_size.is_some(), FIRST_CHUNKS),
            ("a further device", self.on_device(), FIRST_DEVICES),
            ("long prefixes of names", has_prefixes, FIRST_PREFIXES),
            ("a block size above 4 KiB", is_big, FIRST_BIG_CLUSTERS),
        ];
        for (what, is_asked, first) in of_clusters.into_iter().chain(others) {
            if is_asked && kernel < first {
                return Err(Error::unsupported(format!(
                    "Linux {kernel} reads no images with {what}, only {first} and newer do"
                )));
            }
        }
        match of_clusters.iter().find(|feature| feature.1) {
            Some(("ztailpacking", ..)) if !is_compressed => Err(Error::invalid(
                "ztailpacking: without compression, tails are always inline",
            )),
            Some((what, ..)) if !is_compressed => Err(Error::invalid(format!(
                "{what}: only compressed files have clusters"
            ))),
            _ => Ok(()),
        }
    }

    fn check_compressed(&self, algorithm: Algorithm) -> Result<()> {
        let (kernel, first) = (self.own.kernel, Kernel::first_with(algorithm));
        if kernel < first {
            let all = Algorithm::ALL.into_iter();
            let known = all.filter(|&one| Kernel::first_with(one) <= kernel);
            let known: Vec<_> = known.map(Algorithm::name).collect();
            return Err(Error::unsupported(format!(
                "Linux {kernel} does not read {}, only {first} and newer do; it reads {}",
                algorithm.name(),
                known.join(", ")
            )));
        }
        if self.own.chunk_size.is_some() {
            return Err(Error::invalid(format!(
                "chunks are stored uncompressed, but the compression is {}",
                self.compression
            )));
        }
        if self.packs_all() && self.own.extended.fragments == Some(false) {
            return Err(Error::invalid("all-fragments: contradicts ^fragments"));
        }
        if self.own.extended.legacy_compress {
            self.check_legacy(algorithm)?;
        }
        if self.own.extended.ztailpacking != Some(true) {
            return Ok(());
        }
        Err(Error::invalid(match self.form() {
            Form::Clusters if !self.packs_all() => return Ok(()),
            Form::Extents => {
                "ztailpacking: the extents of Linux 6.15 and newer begin at any byte and leave no \
                 block unfilled"
            }
            _ => "ztailpacking: with all-fragments, no file has an inline tail",
        }))
    }

    /// Fails with `Invalid` for what kernels before 5.4 do not know in compressed files.
    fn check_legacy(&self, algorithm: Algorithm) -> Result<()> {
        let is_plain = algorithm == Algorithm::Lz4
            && u64::from(self.block_size) == BLOCK
            && self.form() == Form::Clusters
            && !self.shares_tails()
            && !self.shares_clusters()
            && !self.inline_tails()
            && !self.packs_all();
        if is_plain {
            return Ok(());
        }
        Err(Error::invalid(
            "legacy-compress: kernels before 5.4 support only LZ4 in pclusters of 4 KiB, without \
             fragments, ztailpacking, dedupe and extents: choose 5.4 as the oldest kernel",
        ))
    }

    /// Returns the long prefixes of names; `None` if the writer chooses.
    pub(super) fn given_prefixes(&self) -> Option<XattrPrefixes> {
        let chooses = self.own.kernel.knows_prefixes() && self.own.xattr_prefixes.count() == 0;
        (!chooses).then(|| self.own.xattr_prefixes.clone())
    }

    /// Returns how content is stored.
    pub(super) fn form(&self) -> Form {
        let compressed = !self.compression.is_none();
        if compressed {
            return if self.own.kernel.knows_extents() {
                Form::Extents
            } else {
                Form::Clusters
            };
        }
        // newer kernels know extents, which express holes without chunks
        let chunks_for_holes =
            self.own.holes && self.own.kernel.knows_chunks() && !self.own.kernel.knows_extents();
        if self.own.chunk_size.is_some() || self.on_device() || chunks_for_holes {
            Form::Chunks
        } else {
            Form::Plain
        }
    }

    /// Returns whether content is on a further device, of ours or what an index refers to.
    pub(super) fn on_device(&self) -> bool {
        self.device.is_some() || self.own.extended.index
    }

    /// Returns the most bytes of a unit.
    pub(super) fn unit(&self) -> u32 {
        match self.form() {
            // content without holes leaves no trace of units
            Form::Plain if !self.own.kernel.knows_extents() => PLAIN_UNIT,
            // a reference cannot cross the end of a unit
            Form::Extents | Form::Clusters if self.own.extended.dedupe => UNIT_MAX,
            Form::Plain | Form::Extents => self.block_size,
            Form::Chunks => self.own.chunk_size.unwrap_or(self.block_size),
            Form::Clusters => self.block_size.saturating_mul(16).clamp(UNIT_MIN, UNIT_MAX),
        }
    }

    /// Returns whether holes are kept as holes.
    pub(super) fn keeps_holes(&self) -> bool {
        self.own.holes && (self.own.kernel.knows_extents() || self.form() == Form::Chunks)
    }

    /// Returns the shortest repeat that is looked for; `None` for no search.
    pub(super) fn repeats(&self) -> Option<u32> {
        let shortest = match self.form() {
            // part of a pcluster of one block saves nothing, and no two begin in one lcluster
            Form::Clusters => BLOCK as u32,
            Form::Plain | Form::Chunks | Form::Extents => REPEAT_MIN,
        };
        self.own.extended.dedupe.then_some(shortest)
    }

    /// Returns how tails are shared that fragments have already.
    pub(super) fn sharing(&self) -> TailSharing {
        match self.form() {
            Form::Plain | Form::Chunks => TailSharing::Never,
            Form::Extents => TailSharing::Whole,
            // a file is in one piece there
            Form::Clusters if self.packs_all() => TailSharing::Whole,
            // what is before a tail fills whole blocks, but not its last pcluster
            Form::Clusters => TailSharing::Suffix {
                align: BLOCK as u32,
                least: self.block_size,
            },
        }
    }

    /// Returns whether the last pcluster of a file may go after its inode.
    pub(super) fn inline_tails(&self) -> bool {
        let pays = self.own.kernel.knows_inline_clusters() && !self.own.extended.dedupe;
        let wanted = self.own.extended.ztailpacking.unwrap_or(pays);
        self.form() == Form::Clusters && wanted && !self.packs_all()
    }

    /// Returns whether small files and tails share pclusters, which saves more than inline tails
    /// do.
    fn has_fragments(&self) -> bool {
        let wanted = self.own.extended.fragments;
        let wanted = wanted.unwrap_or(self.own.extended.ztailpacking != Some(true));
        wanted && self.own.kernel.knows_fragments()
    }

    /// Returns whether the tails after the last full pclusters of files share pclusters.
    pub(super) fn shares_tails(&self) -> bool {
        self.form() == Form::Clusters && self.has_fragments() && !self.packs_all()
    }

    /// Returns whether files refer to equal pclusters of each other, at any offset in a page.
    pub(super) fn shares_clusters(&self) -> bool {
        let is_allowed = self.own.extended.dedupe || self.shares_tails();
        self.form() == Form::Clusters && is_allowed && !self.packs_all()
    }

    /// Returns whether the packed inode has all content.
    pub(super) fn packs_all(&self) -> bool {
        self.own.extended.all_fragments
    }

    /// Returns where the tails of files go.
    pub(super) fn tails(&self) -> TailPlacement {
        match self.form() {
            Form::Extents | Form::Clusters if self.packs_all() => TailPlacement::Small,
            Form::Plain | Form::Chunks => TailPlacement::Alone,
            Form::Extents if !self.has_fragments() => TailPlacement::SmallBelow(0),
            Form::Extents if self.own.extended.dedupe => TailPlacement::SmallBelow(self.block_size),
            Form::Extents => TailPlacement::Small,
            Form::Clusters if self.has_fragments() => {
                let few = self.block_size.saturating_mul(SHARED_CLUSTERS);
                TailPlacement::Below(few.min(SHARED_MAX.max(self.block_size)))
            }
            Form::Clusters => TailPlacement::Alone,
        }
    }
}

/// The storage of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Form {
    /// Uncompressed in a row of blocks; in extents where there are holes.
    #[default]
    Plain,
    /// Uncompressed; in chunks where it is not in one row.
    Chunks,
    /// Each unit encoded on its own and found by an extent.
    Extents,
    /// Units cut into pclusters of whole blocks, which are found by the indexes of lclusters.
    Clusters,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_blocks_are_for_uncompressed_images() {
        let check = |kernel: &str, compression: &str, extended: &str| {
            let options = WriteOptions {
                compression: compression.parse().unwrap(),
                block_size: 4096,
                own: ErofsOptions {
                    kernel: kernel.parse().unwrap(),
                    extended: extended.parse().unwrap(),
                    ..ErofsOptions::default()
                },
                ..WriteOptions::default()
            };
            options.check().is_ok()
        };
        assert!(check("6.6", "none", "block=512") && check("5.4", "lz4", "block=4096"));
        assert!(!check("5.4", "none", "block=512") && !check("6.15", "none", "block=512"));
        assert!(!check("6.6", "deflate", "block=1024"));
        for wrong in ["block=256", "block=8192", "block=513", "block=", "block"] {
            assert!(wrong.parse::<Extended>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_layout_of_old_kernels_has_nothing_newer() {
        let check = |kernel: &str, compression: &str, block_size, extended: &str| {
            let options = WriteOptions {
                compression: compression.parse().unwrap(),
                block_size,
                own: ErofsOptions {
                    kernel: kernel.parse().unwrap(),
                    extended: extended.parse().unwrap(),
                    ..ErofsOptions::default()
                },
                ..WriteOptions::default()
            };
            options.check().is_ok()
        };
        assert!(check("5.4", "lz4hc", 4096, "legacy-compress"));
        assert!(!check("5.15", "lz4", 8192, "legacy-compress"));
        assert!(!check("6.10", "zstd", 4096, "legacy-compress,^fragments"));
        assert!(!check("6.15", "lz4", 4096, "legacy-compress"));
        assert!(!check("6.1", "lz4", 4096, "legacy-compress,fragments"));
    }

    #[test]
    fn refuses_features_newer_than_the_kernel() {
        let check = |kernel: &str, compression: &str, block_size| {
            let options = WriteOptions {
                compression: compression.parse().unwrap(),
                block_size,
                own: ErofsOptions {
                    kernel: kernel.parse().unwrap(),
                    ..ErofsOptions::default()
                },
                ..WriteOptions::default()
            };
            options.check().map_err(|error| error.kind())
        };
        for (kernel, compression, block_size) in [
            ("5.4", "none", 1 << 20),
            ("5.4", "lz4", 4096),
            ("5.10", "lz4hc", 4096),
            ("5.15", "lz4hc", 1 << 20),
            ("6.1", "lzma", 1 << 20),
            ("6.6", "deflate", 4096),
            ("6.10", "zstd", 4096),
        ] {
            assert_eq!(check(kernel, compression, block_size), Ok(()), "{kernel}");
        }
        for (kernel, compression, block_size) in [
            ("5.10", "lz4", 8192),
            ("5.15", "lzma", 4096),
            ("6.1", "deflate", 4096),
            ("6.6", "zstd", 4096),
        ] {
            let refused = check(kernel, compression, block_size);
            assert_eq!(refused, Err(sinterfs_model::Kind::Unsupported), "{kernel}");
        }
        for block_size in [0, 2048, 12_288, 2 << 20] {
            let options = WriteOptions {
                block_size,
                ..WriteOptions::default()
            };
            assert!(options.check().is_err(), "{block_size}");
        }
    }
}
