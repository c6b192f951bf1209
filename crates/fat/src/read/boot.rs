//! The boot sector: where the table, the root and the clusters are.
//!
//! In: the first sector. Out: `BootSector`.
//!
//! **Invariant:** all regions are within the file system, and the file system is within the file.
//! Format: `docs/formats/fat.md`, "Boot sector".

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Result};

/// Bytes of the boot sector that are looked at.
const BOOT_LEN: usize = 512;

/// The bytes of an entry of a directory.
pub(crate) const ENTRY_LEN: u64 = 32;

/// The kinds of FAT, by the bits of an entry of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FatKind {
    Fat12,
    Fat16,
    Fat32,
}

impl FatKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fat12 => "12",
            Self::Fat16 => "16",
            Self::Fat32 => "32",
        }
    }

    /// Returns the bytes of a table with this number of entries.
    pub(crate) fn table_len(self, entries: u64) -> u64 {
        match self {
            Self::Fat12 => (entries * 3).div_ceil(2),
            Self::Fat16 => entries * 2,
            Self::Fat32 => entries * 4,
        }
    }
}

/// The decoded boot sector; positions are in bytes.
#[derive(Debug, Clone)]
pub(crate) struct BootSector {
    pub(crate) kind: FatKind,
    pub(crate) cluster: u64,
    /// The number of clusters; the first has the number 2.
    pub(crate) clusters: u32,
    /// The position of the table that is used.
    pub(crate) table: u64,
    /// The position of the root and its bytes, unless it is a chain of clusters.
    pub(crate) root: u64,
    pub(crate) root_len: u64,
    /// The first cluster of the root of FAT32.
    pub(crate) root_cluster: u32,
    /// The position of the first cluster.
    pub(crate) data: u64,
    /// The bytes of the file system.
    pub(crate) len: u64,
    pub(crate) label: [u8; 11],
    pub(crate) serial: u32,
}

/// Returns whether there is a FAT file system at an offset.
pub fn is_image(source: &dyn ReadAt, offset: u64) -> Result<bool> {
    Ok(sector(source, offset)?.is_some_and(|sector| BootSector::decode(&sector).is_some()))
}

fn sector(source: &dyn ReadAt, offset: u64) -> Result<Option<[u8; BOOT_LEN]>> {
    let end = offset.checked_add(BOOT_LEN as u64);
    if end.is_none_or(|end| end > source.len()) {
        return Ok(None);
    }
    let mut sector = [0; BOOT_LEN];
    source.read_at(offset, &mut sector)?;
    Ok(Some(sector))
}

impl BootSector {
    /// Reads the boot sector of a file system. `Invalid` if there is none, `Corrupt` if the file is
    /// shorter.
    pub(crate) fn read(source: &dyn ReadAt, offset: u64) -> Result<Self> {
        let found = sector(source, offset)?.and_then(|sector| Self::decode(&sector));
        let found = found.ok_or_else(|| Error::invalid("no FAT file system"))?;
        let len = source.len().saturating_sub(offset);
        // the last cluster may be cut off where nothing uses it
        if found.data > len {
            let what = format!(
                "the file system has {} bytes, {len} of them are there",
                found.len
            );
            return Err(Error::corrupt(what));
        }
        Ok(found)
    }

    /// Decodes the sector; `None` for one that no tool of FAT makes.
    fn decode(sector: &[u8; BOOT_LEN]) -> Option<Self> {
        let byte = |at: usize| sector.get(at).copied().unwrap_or(0);
        let short = |at: usize| u16::from_le_bytes([byte(at), byte(at + 1)]);
        let long = |at: usize| u32::from(short(at)) | u32::from(short(at + 2)) << 16;
        let has_jump = byte(0) == 0xe9 || byte(0) == 0xeb;
        let (sector_len, per_cluster) = (u64::from(short(11)), u64::from(byte(13)));
        let (reserved, tables) = (u64::from(short(14)), u64::from(byte(16)));
        let media = byte(21);
        let is_sound = has_jump
            && matches!(sector_len, 512 | 1024 | 2048 | 4096)
            && per_cluster.is_power_of_two()
            && reserved > 0
            && matches!(tables, 1 | 2)
            && (media == 0xf0 || media >= 0xf8)
            && (short(510) == 0xaa55);
        if !is_sound {
            return None;
        }
        let is_32 = short(22) == 0;
        let table_len = u64::from(if is_32 { long(36) } else { short(22).into() });
        let total = match short(19) {
            0 => u64::from(long(32)),
            total => total.into(),
        };
        let root_len = u64::from(short(17)) * ENTRY_LEN;
        let root_sectors = root_len.div_ceil(sector_len);
        let root = reserved + tables * table_len;
        let data = root + root_sectors;
        let clusters = total.checked_sub(data)? / per_cluster;
        let kind = match clusters {
            0 => return None,
            _ if is_32 => FatKind::Fat32,
            1..4085 => FatKind::Fat12,
            4085..65525 => FatKind::Fat16,
            _ => return None,
        };
        let fits = kind.table_len(clusters + 2) <= table_len * sector_len;
        if !fits || (is_32 && root_len > 0) || (!is_32 && root_len == 0) {
            return None;
        }
        // one table may be the only one that is kept
        let active = if is_32 && short(40) & 0x80 != 0 {
            u64::from(short(40) & 0xf)
        } else {
            0
        };
        if active >= tables {
            return None;
        }
        let (label_at, serial_at) = if is_32 { (71, 67) } else { (43, 39) };
        let label = sector.get(label_at..).and_then(<[u8]>::first_chunk);
        Some(Self {
            kind,
            cluster: per_cluster * sector_len,
            clusters: u32::try_from(clusters).ok()?,
            table: (reserved + active * table_len) * sector_len,
            root: root * sector_len,
            root_len,
            root_cluster: if is_32 { long(44) } else { 0 },
            data: data * sector_len,
            len: total * sector_len,
            label: label.copied().unwrap_or_default(),
            serial: long(serial_at),
        })
    }

    /// Returns the position of a cluster; `None` for a number that none has.
    pub(crate) fn position(&self, cluster: u32) -> Option<u64> {
        let index = cluster.checked_sub(2)?;
        (index < self.clusters).then(|| self.data + u64::from(index) * self.cluster)
    }
}
