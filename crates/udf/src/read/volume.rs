//! The descriptors of a volume: anchors, the main and the reserve sequence, the logical volume.
//!
//! In: a window of the image. Out: `UdfVolume`.
//!
//! **Invariant:** at most `DESCRIPTORS` blocks of a sequence are read. ECMA-167, 3/8 and 3/10; UDF,
//! 2.2.

use std::collections::BTreeMap;

use sinterfs_block::{ReadAt, Window};
use sinterfs_model::{Error, Kind, Result};

use crate::layout::{
    PartitionExtent, VolumeExtent, byte, checked_tag, le16, le32, part, range, tag, tag_of, text,
};

/// The position of the first structure that names the standard, and the bytes of each.
const RECOGNITION: u64 = 32 << 10;
const STRUCTURE: u64 = 2048;

/// The most structures that are looked at.
const STRUCTURES: u64 = 64;

/// The block that has an anchor.
const ANCHOR_BLOCK: u64 = 256;

/// The sizes of blocks, beginning with the sizes of discs.
const BLOCK_SIZES: [u64; 7] = [2048, 512, 4096, 1024, 8192, 16_384, 32_768];

/// The most blocks of a sequence that are read.
const DESCRIPTORS: usize = 1024;

/// The most bytes of a logical volume's maps.
const MAPS_MAX: usize = 64 << 10;

/// A partition of the volume.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartitionFields {
    pub(crate) number: u16,
    /// The first block.
    pub(crate) start: u32,
    /// Blocks.
    pub(crate) len: u32,
}

/// The descriptors of a volume.
#[derive(Debug, Clone, Default)]
pub(crate) struct UdfVolume {
    /// Bytes of a block.
    pub(crate) block: u64,
    /// The version of UDF, as 0x0102.
    pub(crate) revision: u16,
    /// The name of the logical volume.
    pub(crate) label: String,
    /// The name of the volume set.
    pub(crate) set: String,
    pub(crate) partitions: Vec<PartitionFields>,
    /// The maps of the logical volume, as stored.
    pub(crate) maps: Vec<u8>,
    pub(crate) map_count: u32,
    pub(crate) file_set: PartitionExtent,
    /// The error of the main sequence, if the reserve was read.
    pub(crate) damage: Option<String>,
}

/// Returns whether the structures at the beginning name the standard.
pub(crate) fn is_named(source: &dyn ReadAt, offset: u64) -> Result<bool> {
    for number in 0..STRUCTURES {
        let at = offset.checked_add(RECOGNITION + number * STRUCTURE);
        let Some(at) = at.filter(|at| at.saturating_add(STRUCTURE) <= source.len()) else {
            return Ok(false);
        };
        let mut head = [0; 6];
        source.read_at(at, &mut head)?;
        match &part::<5>(&head, 1) {
            b"NSR02" | b"NSR03" => return Ok(true),
            b"CD001" | b"BEA01" | b"BOOT2" | b"CDW02" | b"TEA01" => {}
            // blocks of more than 2048 bytes have one structure each
            [0, 0, 0, 0, 0] if number > 0 => {}
            _ => return Ok(false),
        }
    }
    Ok(false)
}

impl UdfVolume {
    /// Reads the descriptors of a volume.
    pub(crate) fn read(window: &Window) -> Result<Self> {
        let mut failed = None;
        for block in BLOCK_SIZES {
            for anchor in anchors(window.len() / block) {
                let Some(sequences) = anchor_at(window, block, anchor)? else {
                    continue;
                };
                match Self::of_anchor(window, block, sequences) {
                    Ok(volume) => return Ok(volume),
                    Err(error) if matches!(error.kind(), Kind::Corrupt) => {
                        failed.get_or_insert(error);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Err(failed.unwrap_or_else(|| {
            let what = "no anchor of a volume: the image is cut off, or damaged";
            Error::corrupt(what).at("anchor", window.start() + ANCHOR_BLOCK * STRUCTURE)
        }))
    }

    fn of_anchor(window: &Window, block: u64, [main, reserve]: [VolumeExtent; 2]) -> Result<Self> {
        let of_main = Self::of_sequence(window, block, main);
        let Err(error) = of_main else { return of_main };
        if !matches!(error.kind(), Kind::Corrupt) {
            return Err(error);
        }
        let mut volume = Self::of_sequence(window, block, reserve).map_err(|_| error)?;
        let what = "the main sequence of volume descriptors is damaged, and the reserve was read";
        volume.damage = Some(what.to_owned());
        Ok(volume)
    }

    /// Reads a sequence of descriptors; of several of one kind, the one with the highest number
    /// counts.
    fn of_sequence(window: &Window, block: u64, extent: VolumeExtent) -> Result<Self> {
        let mut found = DescriptorSequence::default();
        let (mut next, mut left) = (Some(extent), DESCRIPTORS);
        while let Some(extent) = next.take() {
            let count = u64::from(extent.len).div_ceil(block);
            for number in u64::from(extent.block)..u64::from(extent.block).saturating_add(count) {
                let Some(fewer) = left.checked_sub(1) else {
                    return Err(Error::corrupt("a sequence of descriptors without end"));
                };
                left = fewer;
                let bytes = window.read(number.saturating_mul(block), block)?;
                if tag_of(&bytes) == 0 {
                    break;
                }
                let location = u32::try_from(number).unwrap_or(u32::MAX);
                let at = window.start().saturating_add(number.saturating_mul(block));
                let located = |error: Error| error.at("volume descriptor", at);
                match checked_tag(&bytes, location).map_err(located)? {
                    tag::VOLUME_POINTER => {
                        next = Some(VolumeExtent::read(&bytes, 20));
                        break;
                    }
                    tag::TERMINATING => break,
                    id => found.add(id, &bytes),
                }
            }
        }
        found.volume(block).map_err(|error| {
            let at = u64::from(extent.block).saturating_mul(block);
            error.at("volume descriptors", window.start().saturating_add(at))
        })
    }
}

/// Returns the blocks that may have an anchor (ECMA-167, 3/8.4.2.1), of a volume with this number
/// of blocks.
fn anchors(blocks: u64) -> impl Iterator<Item = u64> {
    let places = [
        Some(ANCHOR_BLOCK),
        blocks.checked_sub(1),
        blocks.checked_sub(1 + ANCHOR_BLOCK),
        blocks.checked_sub(ANCHOR_BLOCK),
        // of a disc that is not closed
        Some(2 * ANCHOR_BLOCK),
    ];
    places.into_iter().flatten().filter(move |at| *at < blocks)
}

/// Returns the extents that the anchor in a block names, if there is one.
fn anchor_at(window: &Window, block: u64, number: u64) -> Result<Option<[VolumeExtent; 2]>> {
    let mut bytes = [0; 512];
    window.read_at(number.saturating_mul(block), &mut bytes)?;
    let location = u32::try_from(number).unwrap_or(u32::MAX);
    let is_anchor = matches!(checked_tag(&bytes, location), Ok(tag::ANCHOR));
    let extents = [
        VolumeExtent::read(&bytes, 16),
        VolumeExtent::read(&bytes, 24),
    ];
    Ok(is_anchor.then_some(extents))
}

/// The descriptors of a sequence so far, with their numbers.
#[derive(Debug, Default)]
struct DescriptorSequence {
    primary: Option<(u32, Vec<u8>)>,
    logical: Option<(u32, Vec<u8>)>,
    partitions: BTreeMap<u16, (u32, PartitionFields)>,
}

impl DescriptorSequence {
    fn add(&mut self, id: u16, bytes: &[u8]) {
        let number = le32(bytes, 16);
        let is_newer = |known: Option<u32>| known.is_none_or(|known| known <= number);
        match id {
            tag::PRIMARY_VOLUME if is_newer(self.primary.as_ref().map(|found| found.0)) => {
                self.primary = Some((number, bytes.to_vec()));
            }
            tag::LOGICAL_VOLUME if is_newer(self.logical.as_ref().map(|found| found.0)) => {
                self.logical = Some((number, bytes.to_vec()));
            }
            tag::PARTITION => {
                let fields = PartitionFields {
                    number: le16(bytes, 22),
                    start: le32(bytes, 188),
                    len: le32(bytes, 192),
                };
                let known = self.partitions.get(&fields.number).map(|found| found.0);
                if is_newer(known) {
                    self.partitions.insert(fields.number, (number, fields));
                }
            }
            _ => {}
        }
    }

    fn volume(self, block: u64) -> Result<UdfVolume> {
        let missing = |what: &str| Error::corrupt(format!("a volume without {what}"));
        let (_, logical) = self
            .logical
            .ok_or_else(|| missing("the descriptor of a logical volume"))?;
        if self.partitions.is_empty() {
            return Err(missing("the descriptor of a partition"));
        }
        let stored = le32(&logical, 212);
        if u64::from(stored) != block {
            let what = format!("logical blocks of {stored} bytes in sectors of {block}");
            return Err(Error::unsupported(what));
        }
        let maps_len = usize::try_from(le32(&logical, 264)).unwrap_or(usize::MAX);
        let maps = range(&logical, 440, maps_len.min(MAPS_MAX));
        let primary = self.primary.map(|(_, bytes)| bytes).unwrap_or_default();
        Ok(UdfVolume {
            block,
            revision: le16(&logical, 240),
            label: text(&logical, 84, 128),
            set: text(&primary, 72, 128),
            partitions: self
                .partitions
                .into_values()
                .map(|(_, found)| found)
                .collect(),
            maps: maps.to_vec(),
            map_count: le32(&logical, 268).min(u32::from(u16::MAX)),
            file_set: PartitionExtent::long(&logical, 248),
            damage: None,
        })
    }
}

/// A map of a logical volume (ECMA-167, 3/10.7): its kind, and its bytes.
pub(crate) fn maps(volume: &UdfVolume) -> Result<Vec<&[u8]>> {
    let (mut rest, mut found) = (&volume.maps[..], Vec::new());
    for _ in 0..volume.map_count {
        let len = usize::from(byte(rest, 1));
        let (map, later) = rest
            .split_at_checked(len)
            .filter(|_| len >= 6)
            .ok_or_else(|| Error::corrupt("maps of partitions past their end"))?;
        rest = later;
        found.push(map);
    }
    Ok(found)
}
