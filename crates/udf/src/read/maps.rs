//! Reads the maps of partitions, and the tables that they refer to.
//!
//! In: a volume. Out: `Partitions`.
//!
//! **Invariant:** a virtual or metadata partition is in one that is neither. ECMA-167, 3/10.7; UDF,
//! 2.2.8 to 2.2.12.

use std::collections::BTreeMap;

use sinterfs_block::{ReadAt, Window};
use sinterfs_model::{Error, Limits, Result};

use super::entry::{EntryReader, FileEntry};
use super::partitions::{BlockRun, PartitionMap, Partitions};
use super::volume::{PartitionFields, UdfVolume, maps};
use crate::layout::{
    ENTITY_LEN, PartitionExtent, byte, has_right_crc, has_right_sum, le16, le32, range,
};

/// The blocks before the end of a volume in which the table of a virtual partition may be.
const VAT_PLACES: u64 = 160;

/// The blocks of zeros at the end of an image that are passed over to find it.
const ZEROS_MAX: u64 = 1 << 16;

/// The largest sparing table in bytes.
const SPARING_MAX: u64 = 1 << 20;

/// The types of files that are tables (UDF, 2.2.11 and 2.2.13).
mod file_type {
    pub(super) const VAT: u8 = 248;
    pub(super) const UNSPECIFIED: u8 = 0;
}

impl Partitions {
    /// Reads the maps of a volume, and the tables that they refer to.
    pub(super) fn read(window: &Window, volume: &UdfVolume, limits: &Limits) -> Result<Self> {
        let mut found = Self::default();
        let maps = maps(volume)?;
        let mut waiting = Vec::new();
        for (index, map) in maps.iter().enumerate() {
            let number = le16(map, if byte(map, 0) == 1 { 4 } else { 38 });
            let fields = volume.partitions.iter().find(|it| it.number == number);
            let fields = *fields
                .ok_or_else(|| Error::corrupt(format!("partition {number} has no descriptor")))?;
            let kind = range(map, 5, 23);
            let made = match byte(map, 0) {
                1 => PartitionMap::Physical(fields),
                2 if kind.starts_with(b"*UDF Sparable Partition") => {
                    sparable(window, volume, map, fields, &mut found.damage)?
                }
                2 if kind.starts_with(b"*UDF Virtual Partition")
                    || kind.starts_with(b"*UDF Metadata Partition") =>
                {
                    waiting.push((index, fields));
                    PartitionMap::Physical(fields)
                }
                _ => {
                    let kind = String::from_utf8_lossy(kind);
                    let kind = kind.trim_end_matches('\0').to_owned();
                    return Err(Error::unsupported(format!("a partition map {kind:?}")));
                }
            };
            found.maps.push(made);
        }
        for (index, fields) in waiting {
            let map = maps.get(index).copied().unwrap_or_default();
            let below = found.below(fields, &maps);
            let made = if range(map, 5, 12).starts_with(b"*UDF Virtual") {
                found.virtual_map(window, volume, below, fields, limits)?
            } else {
                found.metadata_map(window, volume, below, map, limits)?
            };
            if let Some(place) = found.maps.get_mut(index) {
                *place = made;
            }
        }
        Ok(found)
    }

    /// Returns the index of the map under a virtual or metadata partition; adds one that no
    /// descriptor refers to if the volume has none.
    fn below(&mut self, fields: PartitionFields, maps: &[&[u8]]) -> usize {
        let is_below = |(map, stored): (&PartitionMap, &&[u8])| match map {
            PartitionMap::Physical(known) => known.number == fields.number && byte(stored, 0) == 1,
            PartitionMap::Sparable { fields: known, .. } => known.number == fields.number,
            _ => false,
        };
        let found = self.maps.iter().zip(maps).position(is_below);
        found.unwrap_or_else(|| {
            self.maps.push(PartitionMap::Physical(fields));
            self.maps.len() - 1
        })
    }

    /// Reads the table of a virtual partition, which the last block of the volume has.
    fn virtual_map(
        &self,
        window: &Window,
        volume: &UdfVolume,
        below: usize,
        fields: PartitionFields,
        limits: &Limits,
    ) -> Result<PartitionMap> {
        let map = u16::try_from(below).unwrap_or(u16::MAX);
        let reader = EntryReader::new(window, volume.block, self);
        let last = (window.len() / volume.block).saturating_sub(u64::from(fields.start));
        let last = last.min(fields.len.into());
        let mut places = VAT_PLACES;
        for block in (last.saturating_sub(ZEROS_MAX)..last).rev() {
            let icb = PartitionExtent {
                kind: 0,
                len: u32::try_from(volume.block).unwrap_or(0),
                block: u32::try_from(block).unwrap_or(u32::MAX),
                map,
            };
            let (bytes, _) = reader.block_of(icb)?;
            // an image may be longer than what was recorded
            if bytes.iter().all(|byte| *byte == 0) {
                continue;
            }
            let Some(fewer) = places.checked_sub(1) else {
                break;
            };
            places = fewer;
            let Ok(entry) = reader.entry(icb, &mut limits.metadata.clone()) else {
                continue;
            };
            let is_table = matches!(entry.file_type, file_type::VAT | file_type::UNSPECIFIED);
            if is_table && let Some(table) = table(&reader, &entry, limits)? {
                return Ok(PartitionMap::Virtual { below, table });
            }
        }
        let what = "no table of the virtual partition at the end of the volume: the image is cut \
                    off, or the disc was not closed";
        Err(Error::corrupt(what).within("virtual allocation table"))
    }

    /// Finds the file that a metadata partition is in, or its mirror.
    fn metadata_map(
        &mut self,
        window: &Window,
        volume: &UdfVolume,
        below: usize,
        map: &[u8],
        limits: &Limits,
    ) -> Result<PartitionMap> {
        let mut failed = None;
        for at in [40, 44] {
            let icb = PartitionExtent {
                kind: 0,
                len: u32::try_from(volume.block).unwrap_or(0),
                block: le32(map, at),
                map: u16::try_from(below).unwrap_or(u16::MAX),
            };
            match self.file_runs(window, volume, icb, limits) {
                Ok(runs) => {
                    if failed.is_some() {
                        let what = "the metadata file is damaged, and its mirror was read";
                        self.damage.push(what.to_owned());
                    }
                    return Ok(PartitionMap::Metadata(runs));
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let error = failed.unwrap_or_else(|| Error::corrupt("no metadata file"));
        Err(error.within("metadata partition"))
    }

    fn file_runs(
        &self,
        window: &Window,
        volume: &UdfVolume,
        icb: PartitionExtent,
        limits: &Limits,
    ) -> Result<Vec<(u64, BlockRun)>> {
        let reader = EntryReader::new(window, volume.block, self);
        let budget = &mut limits.metadata.clone();
        let entry = reader.entry(icb, budget)?;
        let mut first = 0_u64;
        let mut found = Vec::new();
        for run in reader.block_runs(&entry, budget)? {
            found.push((first, run));
            first = first.saturating_add(run.count);
        }
        Ok(found)
    }
}

/// Reads the packets of a sparable partition that are elsewhere (UDF, 2.2.9 and 2.2.12).
fn sparable(
    window: &Window,
    volume: &UdfVolume,
    map: &[u8],
    fields: PartitionFields,
    damage: &mut Vec<String>,
) -> Result<PartitionMap> {
    let packet = u32::from(le16(map, 40));
    if packet == 0 {
        return Err(Error::corrupt(
            "a sparable partition with packets of 0 blocks",
        ));
    }
    let (count, len) = (usize::from(byte(map, 42)), le32(map, 44));
    let mut newest: Option<(u32, BTreeMap<u32, u32>)> = None;
    for index in 0..count.min(4) {
        let at = u64::from(le32(map, 48 + 4 * index)).saturating_mul(volume.block);
        let table = window.read(at, u64::from(len).min(SPARING_MAX));
        let table = table.ok().filter(|table| {
            let is_named = range(table, 16, ENTITY_LEN).get(1..19) == Some(b"*UDF Sparing Table");
            has_right_sum(table) && has_right_crc(table) && is_named
        });
        let Some(table) = table else {
            damage.push(format!("sparing table {index} is damaged"));
            continue;
        };
        let number = le32(&table, 52);
        if newest.as_ref().is_none_or(|(known, _)| *known < number) {
            newest = Some((number, spared(&table)));
        }
    }
    let (_, spared) = newest.ok_or_else(|| Error::corrupt("no sound sparing table"))?;
    Ok(PartitionMap::Sparable {
        fields,
        packet,
        spared,
    })
}

/// Decodes the entries of a sparing table: where packets are.
fn spared(table: &[u8]) -> BTreeMap<u32, u32> {
    let count = usize::from(le16(table, 48));
    let entries = table.get(56..).unwrap_or_default().as_chunks::<8>().0;
    let entries = entries.iter().take(count);
    let pairs = entries.map(|entry| (le32(entry, 0), le32(entry, 4)));
    // free packets, and those that are defective themselves
    pairs.filter(|(packet, _)| *packet < 0xffff_fff0).collect()
}

/// Reads a table of a virtual partition; `None` if the file is none.
fn table(reader: &EntryReader<'_>, entry: &FileEntry, limits: &Limits) -> Result<Option<Vec<u32>>> {
    const TRAILER: usize = 36;
    let len = entry.size;
    if len > limits.metadata.min(reader.window_len()) {
        return Ok(None);
    }
    let bytes = reader.content(entry, &mut limits.metadata.clone())?;
    let words = |bytes: &[u8]| {
        let (words, _) = bytes.as_chunks::<4>();
        words.iter().map(|word| u32::from_le_bytes(*word)).collect()
    };
    if entry.file_type == file_type::VAT {
        let head = usize::from(le16(&bytes, 0));
        return Ok(bytes.get(head..).map(words));
    }
    // of UDF 1.50: the name of the table follows it
    let end = bytes.len().checked_sub(TRAILER);
    let split = end.and_then(|end| bytes.split_at_checked(end));
    Ok(split.and_then(|(table, trailer)| {
        let is_table = range(trailer, 1, 23).starts_with(b"*UDF Virtual Alloc Tbl");
        is_table.then(|| words(table))
    }))
}
