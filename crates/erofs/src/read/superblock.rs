//! The superblock, checked once when the image is opened.
//!
//! In: the image. Out: `Superblock`, in bytes and plain numbers.
//!
//! **Invariant:** nothing that a reader has to know is ignored: unknown features are refused with
//! their names or bits. Values are within the bounds that later arithmetic needs.

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Kind, Result};
use zerocopy::{FromBytes, IntoBytes};

use super::config::Configs;
use super::device::{self, Slot};
use crate::layout::{self, MAGIC, SUPERBLOCK_OFFSET, compat, incompat};

/// The smallest and the largest block size as powers of two: 512 bytes, and the largest pages of
/// Linux.
const BLOCK_BITS: std::ops::RangeInclusive<u8> = 9..=16;

/// The fields of the superblock.
#[derive(Debug, Clone)]
pub struct Superblock {
    /// The block size as a power of two.
    pub block_bits: u32,
    /// Extensions of 16 bytes.
    pub extensions: u8,
    /// Bits of `layout::compat`.
    pub compat: u32,
    /// Bits of `layout::incompat`.
    pub incompat: u32,
    /// The CRC32C, if the image has one.
    pub checksum: Option<u32>,
    /// The CRC32C error of an image that is read in spite of it.
    pub wrong_checksum: Option<String>,
    /// The number of the root inode.
    pub root: u64,
    /// The number of inodes according to the image.
    pub inodes: u64,
    /// The number of blocks according to the image.
    pub blocks: u64,
    /// The offset that inode numbers count from.
    pub meta_start: u64,
    /// The offset that numbers of shared extended attributes count from.
    pub xattr_start: u64,
    /// The base of the times of compact inodes, in seconds since 1970.
    pub epoch: i64,
    /// The nanoseconds of the times of compact inodes.
    pub fixed_nanos: u32,
    /// The build time, in seconds from `epoch` on.
    pub build_time: u32,
    /// The volume's UUID.
    pub uuid: [u8; 16],
    /// The volume's label without padding.
    pub volume_name: Vec<u8>,
    /// The number of long prefixes of names of extended attributes, and their offset.
    pub prefixes: (u8, u64),
    /// The number of the packed inode, if there is one.
    pub packed: Option<u64>,
    /// The number of the metabox, if there is one.
    pub metabox: Option<u64>,
    /// The devices in addition to the image.
    pub devices: Vec<Slot>,
    /// The parameters of the algorithms.
    pub configs: Configs,
}

impl Superblock {
    /// Reads and checks the superblock. Fails with `Invalid` if there is none, with `Unsupported`
    /// for unknown features, with `Corrupt` for impossible values and, unless `salvage`, for a
    /// wrong checksum.
    pub(crate) fn read(source: &dyn ReadAt, salvage: bool) -> Result<Self> {
        Self::parse(source, salvage).map_err(|error| error.at("superblock", SUPERBLOCK_OFFSET))
    }

    fn parse(source: &dyn ReadAt, salvage: bool) -> Result<Self> {
        let raw = raw(source)?;
        check_features(raw.feature_incompat.get())?;
        if !BLOCK_BITS.contains(&raw.block_bits) {
            let bits = raw.block_bits;
            return Err(Error::corrupt(format!("blocks of 2^{bits} bytes")));
        }
        let (compat, incompat) = (raw.feature_compat.get(), raw.feature_incompat.get());
        let mut wrong_checksum = None;
        let checksum = match compat & compat::SB_CHKSUM {
            0 => None,
            _ => match checked(source, &raw) {
                Err(error) if salvage && error.kind() == Kind::Corrupt => {
                    wrong_checksum = Some(error.what().to_owned());
                    Some(raw.checksum.get())
                }
                checked => Some(checked?),
            },
        };
        let has = |bit: u32| incompat & bit != 0;
        if raw.dir_block_bits != 0 {
            return Err(Error::unsupported("directory blocks above the block size"));
        }
        let nanos = raw.fixed_nanos.get();
        if nanos >= 1_000_000_000 {
            return Err(Error::corrupt(format!("{nanos} nanoseconds")));
        }
        let block_bits = u32::from(raw.block_bits);
        let short = raw.root_nid_or_blocks_high.get();
        // an image of 48 bits keeps the root's number in the old field if it fits
        let (root, blocks_high) = match raw.root_nid.get() {
            long if has(incompat::BIT48) && long > 0 => (long, u64::from(short)),
            _ => (u64::from(short), 0),
        };
        let special = |on: bool, nid: u64| (on && nid > 0).then_some(nid);
        let name_end = raw.volume_name.iter().position(|byte| *byte == 0);
        Ok(Self {
            block_bits,
            extensions: raw.extensions,
            compat,
            incompat,
            checksum,
            wrong_checksum,
            root,
            inodes: raw.inodes.get(),
            blocks: u64::from(raw.blocks.get()) | blocks_high << 32,
            meta_start: u64::from(raw.meta_block.get()) << block_bits,
            xattr_start: u64::from(raw.xattr_block.get()) << block_bits,
            epoch: i64::from_le_bytes(raw.epoch.get().to_le_bytes()),
            fixed_nanos: nanos,
            build_time: raw.build_time.get(),
            uuid: raw.uuid,
            volume_name: raw
                .volume_name
                .get(..name_end.unwrap_or(raw.volume_name.len()))
                .unwrap_or_default()
                .to_vec(),
            prefixes: if has(incompat::XATTR_PREFIXES) {
                (
                    raw.xattr_prefix_count,
                    u64::from(raw.xattr_prefix_start.get()) << 2,
                )
            } else {
                (0, 0)
            },
            packed: special(
                has(incompat::FRAGMENTS | incompat::XATTR_PREFIXES),
                raw.packed_nid.get(),
            ),
            metabox: special(has(incompat::METABOX), raw.metabox_nid.get()),
            devices: if has(incompat::DEVICE_TABLE) {
                device::slots(source, &raw)?
            } else {
                Vec::new()
            },
            configs: Configs::read(source, &raw)?,
        })
    }

    /// Returns the block size in bytes.
    pub fn block_size(&self) -> u64 {
        1 << self.block_bits
    }

    /// Returns whether bits of `layout::incompat` are set.
    pub fn has(&self, bits: u32) -> bool {
        self.incompat & bits != 0
    }

    /// Returns the length of the superblock in bytes.
    #[allow(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> u64 {
        layout::Superblock::BASE as u64
            + u64::from(self.extensions) * layout::Superblock::EXTENSION as u64
    }

    /// Returns the names of all features of the image.
    pub fn features(&self) -> Vec<String> {
        let compat = names(self.compat, compat::NAMES);
        compat
            .chain(names(self.incompat, incompat::NAMES))
            .collect()
    }
}

/// Returns whether an image begins at an offset of a source.
pub(crate) fn is_image(source: &dyn ReadAt, offset: u64) -> Result<bool> {
    let mut magic = [0; 4];
    let at = offset.saturating_add(SUPERBLOCK_OFFSET);
    if source.len() < at.saturating_add(Superblock::LEN) {
        return Ok(false);
    }
    source.read_at(at, &mut magic)?;
    Ok(u32::from_le_bytes(magic) == MAGIC)
}

impl Superblock {
    /// The length without extensions in bytes.
    const LEN: u64 = layout::Superblock::BASE as u64;
}

/// Reads the superblock; the extension of an image without one is zero.
fn raw(source: &dyn ReadAt) -> Result<layout::Superblock> {
    if !is_image(source, 0)? {
        return Err(Error::invalid("no EROFS image begins here"));
    }
    let mut bytes = [0; size_of::<layout::Superblock>()];
    let (base, extension) = bytes.split_at_mut(layout::Superblock::BASE);
    source.read_at(SUPERBLOCK_OFFSET, base)?;
    // the count of extensions is the 14th byte
    if base.get(13).is_some_and(|extensions| *extensions > 0) {
        source.read_at(SUPERBLOCK_OFFSET + Superblock::LEN, extension)?;
    }
    layout::Superblock::read_from_bytes(bytes.as_bytes())
        .map_err(|_| Error::corrupt("too short for a superblock"))
}

/// Checks the CRC32C and returns it. It covers everything from the superblock to the end of its
/// block, or a whole block where blocks are too short for that.
fn checked(source: &dyn ReadAt, raw: &layout::Superblock) -> Result<u32> {
    const CHECKSUM: std::ops::Range<usize> = 4..8;
    let block = 1_u64 << raw.block_bits;
    let len = if block > SUPERBLOCK_OFFSET {
        block - SUPERBLOCK_OFFSET
    } else {
        block
    };
    let mut bytes = source.read(SUPERBLOCK_OFFSET, len)?.to_vec();
    if let Some(field) = bytes.get_mut(CHECKSUM) {
        field.fill(0);
    }
    let (found, expected) = (
        sinterfs_block::checksum::crc32c(u32::MAX, &bytes),
        raw.checksum.get(),
    );
    if found != expected {
        return Err(Error::corrupt(format!(
            "CRC32C is {found:08x}, expected {expected:08x}"
        )));
    }
    Ok(found)
}

fn check_features(incompat: u32) -> Result<()> {
    let known = incompat::NAMES.iter().fold(0, |all, (bit, _)| all | bit);
    if incompat & !known == 0 {
        return Ok(());
    }
    let unknown: Vec<String> = names(incompat & !known, incompat::NAMES).collect();
    Err(Error::unsupported(format!(
        "the image needs features that are not known: {}",
        unknown.join(", ")
    )))
}

/// Names the bits that are set, by their value where they have no name.
fn names<'a>(bits: u32, names: &'a [(u32, &str)]) -> impl Iterator<Item = String> + 'a {
    (0..u32::BITS)
        .map(|shift| 1 << shift)
        .filter(move |bit| bits & bit != 0)
        .map(|bit| match names.iter().find(|(named, _)| *named == bit) {
            Some((_, name)) => (*name).to_owned(),
            None => format!("{bit:#x}"),
        })
}
