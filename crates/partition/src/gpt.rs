//! GUID partition tables.
//!
//! In: a source. Out: partitions. A header is in the second sector, its copy in the last one; each
//! has the position of its entries and a CRC-32 of itself and of them. UEFI 2.10, section 5.3.
//!
//! **Invariant:** of both copies, the first whose checksums are right is used.

use sinterfs_block::ReadAt;
use sinterfs_block::checksum::crc32;
use sinterfs_model::{Error, Result};

use crate::numbers::{le32, le64};
use crate::table::{Partition, PartitionTable, TableKind};

/// The first bytes of a header.
const SIGNATURE: &[u8] = b"EFI PART";

/// Bytes of a header that are defined.
const HEADER_LEN: usize = 92;

/// The most bytes of entries: 128 times as many as tools make.
const ENTRIES_MAX: u64 = 2 << 20;

/// The least length of an entry in bytes.
const ENTRY_LEN: u32 = 128;

/// A header whose checksum is right.
struct GptHeader {
    /// The sector of the other copy.
    other: u64,
    entries: u64,
    count: u32,
    entry_len: u32,
    crc: u32,
}

/// Reads the table of a disk; `None` if there is none. Without a protective MBR, the first header
/// must be there.
pub(crate) fn read(disk: &dyn ReadAt, is_protected: bool) -> Result<Option<PartitionTable>> {
    let mut first_error = None;
    for sector in [512, 4096] {
        match copy(disk, sector, 1) {
            Ok(Some(partitions)) => return Ok(Some(table(sector, partitions, None))),
            Ok(None) => {}
            Err((error, other)) => {
                let note = format!("the first copy of the GPT is damaged ({error})");
                let last = (disk.len() / u64::from(sector)).saturating_sub(1);
                for at in [other.unwrap_or(last), last] {
                    if let Ok(Some(partitions)) = copy(disk, sector, at) {
                        return Ok(Some(table(sector, partitions, Some(note))));
                    }
                }
                first_error = first_error.or(Some(error));
            }
        }
    }
    if let Some(error) = first_error {
        let what = format!("both copies of the GPT are damaged: {error}");
        return Err(Error::corrupt(what).at("partition table", 0));
    }
    if !is_protected {
        return Ok(None);
    }
    for sector in [512_u32, 4096] {
        let last = (disk.len() / u64::from(sector)).saturating_sub(1);
        if let Ok(Some(partitions)) = copy(disk, sector, last) {
            let note = "the first copy of the GPT is missing".to_owned();
            return Ok(Some(table(sector, partitions, Some(note))));
        }
    }
    let what = "the MBR announces a GPT, but there is none";
    Err(Error::corrupt(what).at("partition table", 0))
}

fn table(sector: u32, partitions: Vec<Partition>, note: Option<String>) -> PartitionTable {
    PartitionTable {
        kind: TableKind::Gpt,
        sector,
        partitions,
        note,
    }
}

/// The error of a copy, and the position of the other one according to its header.
type Damage = (String, Option<u64>);

/// Reads one copy; `None` if no header is in that sector.
fn copy(
    disk: &dyn ReadAt,
    sector: u32,
    at: u64,
) -> std::result::Result<Option<Vec<Partition>>, Damage> {
    let Some(position) = at.checked_mul(sector.into()) else {
        return Ok(None);
    };
    if position.saturating_add(sector.into()) > disk.len() {
        return Ok(None);
    }
    let unread = |error: Error| (error.to_string(), None);
    let bytes = disk.read(position, sector.into()).map_err(unread)?;
    if !bytes.starts_with(SIGNATURE) {
        return Ok(None);
    }
    let header = header(&bytes, at).map_err(|what| (what, None))?;
    let listed = entries(disk, sector, &header);
    listed.map(Some).map_err(|what| (what, Some(header.other)))
}

/// Decodes a header.
fn header(bytes: &[u8], at: u64) -> std::result::Result<GptHeader, String> {
    let len = usize::try_from(le32(bytes, 12)).unwrap_or(usize::MAX);
    let whole = bytes.get(..len).filter(|_| len >= HEADER_LEN);
    let Some(whole) = whole else {
        return Err(format!("a header of {len} bytes"));
    };
    let mut summed = whole.to_vec();
    if let Some(field) = summed.get_mut(16..20) {
        field.fill(0);
    }
    if !crc32(u32::MAX, &summed) != le32(whole, 16) {
        return Err("the CRC of its header is wrong".to_owned());
    }
    if le64(whole, 24) != at {
        return Err("its header belongs to another sector".to_owned());
    }
    Ok(GptHeader {
        other: le64(whole, 32),
        entries: le64(whole, 72),
        count: le32(whole, 80),
        entry_len: le32(whole, 84),
        crc: le32(whole, 88),
    })
}

/// Reads the partitions that a header refers to.
fn entries(
    disk: &dyn ReadAt,
    sector: u32,
    header: &GptHeader,
) -> std::result::Result<Vec<Partition>, String> {
    let len = u64::from(header.count) * u64::from(header.entry_len);
    if header.entry_len < ENTRY_LEN || !header.entry_len.is_multiple_of(8) || len > ENTRIES_MAX {
        let (count, each) = (header.count, header.entry_len);
        return Err(format!("{count} entries of {each} bytes"));
    }
    let start = header.entries.checked_mul(sector.into());
    let start = start.filter(|start| start.saturating_add(len) <= disk.len());
    let Some(start) = start else {
        return Err("its entries are beyond the end".to_owned());
    };
    let bytes = disk.read(start, len).map_err(|error| error.to_string())?;
    if !crc32(u32::MAX, &bytes) != header.crc {
        return Err("the CRC of its entries is wrong".to_owned());
    }
    let each = usize::try_from(header.entry_len).unwrap_or(usize::MAX);
    let mut partitions = Vec::new();
    for (number, entry) in (1..).zip(bytes.chunks_exact(each)) {
        let (first, last) = (le64(entry, 32), le64(entry, 40));
        let kind = guid(entry);
        if entry.iter().take(16).all(|&byte| byte == 0) {
            continue;
        }
        let sectors = last.checked_sub(first).and_then(|n| n.checked_add(1));
        let bytes_of = |count: u64| count.checked_mul(sector.into());
        let Some((start, len)) = bytes_of(first).zip(sectors.and_then(bytes_of)) else {
            return Err(format!("partition {number} ends before it begins"));
        };
        partitions.push(Partition {
            number,
            start,
            len,
            kind,
            name: name(entry),
            problem: None,
        });
    }
    Ok(partitions)
}

/// Returns a GUID as text: three little-endian numbers and eight bytes.
fn guid(bytes: &[u8]) -> String {
    let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let mut text = String::new();
    for (index, at) in order.into_iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let byte: u8 = bytes.get(at).copied().unwrap_or(0);
        text += &format!("{byte:02X}");
    }
    text
}

/// Returns the name of a partition: up to 36 units of UTF-16.
fn name(entry: &[u8]) -> String {
    let (units, _) = entry.get(56..128).unwrap_or_default().as_chunks::<2>();
    let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
    let units: Vec<u16> = units.take_while(|&unit| unit != 0).collect();
    String::from_utf16_lossy(&units)
}
