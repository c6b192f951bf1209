//! Boot images: the catalog of El Torito, and partition tables of disks.
//!
//! In: boot images and where they are. Out: sectors. El Torito, section 2; UEFI 2.10, section 5.

use sinterfs_block::checksum::{crc32, sha256};
use sinterfs_model::{Error, Result};

use super::appended::{self, AppendedPlace};
use super::directories::number;
use crate::layout::{SECTOR, SECTOR_LEN, le32};

/// The bytes of a boot image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BootContent {
    /// These, which are stored in front of the content.
    Stored(Vec<u8>),
    /// Those of the appended partition with this number.
    Appended(u8),
}

/// A boot image, which nothing emulates a disk for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootImage {
    /// Whether it is for UEFI; else for a BIOS.
    pub efi: bool,
    /// The bytes.
    pub content: BootContent,
    /// Sectors of 512 bytes that are loaded; all if it is `None`.
    pub load: Option<u16>,
    /// Whether the image has a table at byte 8 that says where it is.
    pub info_table: bool,
}

impl BootImage {
    /// Returns the number of the partition that the image is.
    pub(super) fn appended(&self) -> Option<u8> {
        match self.content {
            BootContent::Stored(_) => None,
            BootContent::Appended(number) => Some(number),
        }
    }

    /// Returns the bytes that are stored in front of the content.
    fn stored(&self) -> &[u8] {
        match &self.content {
            BootContent::Stored(bytes) => bytes,
            BootContent::Appended(_) => &[],
        }
    }

    /// Returns the number of sectors of 2048 bytes in front of the content.
    pub(super) fn sectors(&self) -> u64 {
        (self.stored().len() as u64).div_ceil(SECTOR)
    }

    /// Returns the bytes of an image that starts at a sector, with the table that names it.
    pub(super) fn placed(&self, sector: u32) -> Result<Vec<u8>> {
        let mut bytes = self.stored().to_vec();
        if self.info_table {
            let sums = bytes.get(64..).unwrap_or_default().chunks(4);
            let sum = sums.fold(0u32, |sum, word| {
                let mut padded = [0; 4];
                for (to, from) in padded.iter_mut().zip(word) {
                    *to = *from;
                }
                sum.wrapping_add(le32(&padded, 0))
            });
            let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            let table = [16, sector, len, sum].map(u32::to_le_bytes).concat();
            let too_short = || Error::invalid("a boot image of fewer than 64 bytes has no table");
            let place = bytes.get_mut(8..64).ok_or_else(too_short)?;
            place.fill(0);
            place
                .get_mut(..16)
                .unwrap_or_default()
                .copy_from_slice(&table);
        }
        Ok(bytes)
    }

    /// Returns the sectors of 512 bytes that are loaded of an image that has a number of bytes.
    fn load_sectors(&self, len: u64) -> u16 {
        let all = u16::try_from(len.div_ceil(512)).unwrap_or(u16::MAX);
        self.load.unwrap_or(all)
    }

    fn platform(&self) -> u8 {
        if self.efi { 0xef } else { 0 }
    }
}

/// Makes the catalog of images that start at sectors; those that are appended partitions are at the
/// places of these, once they are known.
pub(super) fn catalog(
    images: &[BootImage],
    sectors: &[u32],
    appended: &[AppendedPlace],
) -> Result<Vec<u8>> {
    let mut rows: Vec<[u8; 32]> = Vec::new();
    let mut validation = [0; 32];
    let first = images.first().map_or(0, BootImage::platform);
    validation[0] = 1;
    validation[1] = first;
    validation[30] = 0x55;
    validation[31] = 0xaa;
    let words = validation
        .chunks(2)
        .map(|word| crate::layout::le16(word, 0));
    let sum = words
        .fold(0u16, u16::wrapping_add)
        .wrapping_neg()
        .to_le_bytes();
    [validation[28], validation[29]] = sum;
    rows.push(validation);
    for (index, (image, sector)) in images.iter().zip(sectors).enumerate() {
        if index > 0 {
            // the header of a section of one entry
            let mut header = [0; 32];
            header[0] = if index + 1 == images.len() {
                0x91
            } else {
                0x90
            };
            header[1] = image.platform();
            header[2] = 1;
            rows.push(header);
        }
        let mut row = [0; 32];
        row[0] = 0x88;
        let mut places = appended.iter();
        let place = places.find(|place| Some(place.number) == image.appended());
        let (sector, len) = match place {
            Some(place) => (number(place.sector)?, place.sectors * SECTOR),
            None => (*sector, image.stored().len() as u64),
        };
        [row[6], row[7]] = image.load_sectors(len).to_le_bytes();
        [row[8], row[9], row[10], row[11]] = sector.to_le_bytes();
        rows.push(row);
    }
    let mut bytes = rows.concat();
    bytes.resize(SECTOR_LEN, 0);
    Ok(bytes)
}

/// Bytes of the boot code in the first sector of a disk.
const CODE: usize = 440;

/// Bytes of the entries of a GPT.
const GPT_ENTRIES: usize = 128 * 128;

/// Sectors of 512 bytes that the second GPT takes at the end of a disk.
pub(super) const GPT_TAIL: u64 = 33;

/// The ranges that a partition table describes.
#[derive(Debug, Clone)]
pub(super) struct DiskPlace {
    /// Bytes of all, with the second GPT.
    pub(super) len: u64,
    /// Bytes of the image.
    pub(super) image: u64,
    /// Whether a BIOS boots from the image, and there is a GPT if UEFI does.
    pub(super) boots: bool,
    /// The first sectors, of 2048 bytes, of the image for a BIOS.
    pub(super) bios: Option<u64>,
    /// The same of the image for UEFI, and its sectors.
    pub(super) efi: Option<(u64, u64)>,
    /// The partitions appended to the image.
    pub(super) appended: Vec<AppendedPlace>,
}

impl DiskPlace {
    /// Returns the entries of the MBR: appended partitions have their numbers, the others take
    /// those that are left, the image first.
    fn entries(&self) -> Vec<u8> {
        let mut entries = vec![Vec::new(); usize::from(appended::ENTRIES)];
        for place in &self.appended {
            if let Some(entry) = entries.get_mut(usize::from(place.number) - 1) {
                *entry = mbr_entry(0, place.kind, place.sector * 4, place.sectors * 4);
            }
        }
        // firmware wants an active partition
        let (active, kind) = if self.boots { (0x80, 0x17) } else { (0, 0x83) };
        let image = mbr_entry(active, kind, 0, self.image / 512);
        let mut others = vec![image];
        if let Some((first, count)) = self.efi.filter(|_| self.boots && !self.is_appended()) {
            others.push(mbr_entry(0, 0xef, first * 4, count * 4));
        }
        let mut others = others.into_iter();
        for entry in &mut entries {
            if entry.is_empty() {
                *entry = others.next().unwrap_or_else(|| vec![0; 16]);
            }
        }
        entries.concat()
    }

    /// Returns whether the UEFI image is an appended partition.
    fn is_appended(&self) -> bool {
        let mut places = self.appended.iter();
        self.efi
            .is_some_and(|(first, _)| places.any(|place| place.sector == first))
    }

    /// Returns the partitions of the GPT: whether they are for UEFI, their first sectors of 2048
    /// bytes and their lengths.
    fn partitions(&self) -> Vec<(bool, u64, u64)> {
        let efi = self.efi.map(|(first, count)| (true, first, count));
        let others = self.appended.iter();
        let others = others.filter(|place| efi.is_none_or(|(_, first, _)| first != place.sector));
        let others = others.map(|place| (place.kind == 0xef, place.sector, place.sectors));
        efi.into_iter().chain(others).collect()
    }
}

/// Makes the system area of a disk: boot code, an MBR and, with an image for UEFI, a GPT; returns
/// it with the second GPT. Identifiers in it are made of `identity`, so that equal images are
/// equal.
pub(super) fn system_area(
    code: &[u8],
    disk: &DiskPlace,
    identity: &[u8; 32],
) -> (Vec<u8>, Vec<u8>) {
    let mut area = vec![0; 16 * SECTOR_LEN];
    let taken = if disk.boots { CODE } else { area.len() };
    let code = code.get(..code.len().min(taken)).unwrap_or_default();
    put(&mut area, 0, code);
    if let Some(bios) = disk.bios.filter(|_| disk.boots && code.len() > 432) {
        // where isolinux looks for its image
        put(&mut area, 432, &(bios * 4).to_le_bytes());
    }
    put(&mut area, 446, &disk.entries());
    put(&mut area, 510, b"\x55\xaa");
    if !disk.boots || disk.efi.is_none() {
        return (area, Vec::new());
    }
    let entries = gpt_entries(&disk.partitions(), identity);
    let (last, disk) = (disk.len / 512 - 1, guid(0, identity));
    let header = |places| gpt_header(places, last, disk, &entries);
    put(&mut area, 512, &header([1, last, 2]));
    put(&mut area, 1024, &entries);
    let mut tail = entries.clone();
    tail.extend(header([last, 1, last - 32]));
    (area, tail)
}

fn put(area: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = area.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

fn mbr_entry(active: u8, kind: u8, first: u64, count: u64) -> Vec<u8> {
    let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
    // cylinders that are too large to be numbered
    let head = [active, 0xfe, 0xff, 0xff, kind, 0xfe, 0xff, 0xff];
    [&head[..], &number(first), &number(count)].concat()
}

/// The types of an EFI system partition and of one of basic data.
const EFI: [u8; 16] = [
    0x28, 0x73, 0x2a, 0xc1, 0x1f, 0xf8, 0xd2, 0x11, 0xba, 0x4b, 0, 0xa0, 0xc9, 0x3e, 0xc9, 0x3b,
];
const DATA: [u8; 16] = [
    0xa2, 0xa0, 0xd0, 0xeb, 0xe5, 0xb9, 0x33, 0x44, 0x87, 0xc0, 0x68, 0xb6, 0xb7, 0x26, 0x99, 0xc7,
];

fn gpt_entries(partitions: &[(bool, u64, u64)], identity: &[u8; 32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (&(is_efi, first, count), number) in partitions.iter().zip(1..) {
        let (kind, name) = if is_efi { (EFI, "EFI") } else { (DATA, "Data") };
        let mut entry = [kind, guid(number, identity)].concat();
        entry.extend((first * 4).to_le_bytes());
        entry.extend(((first + count) * 4 - 1).to_le_bytes());
        entry.extend([0; 8]);
        entry.extend(name.encode_utf16().flat_map(u16::to_le_bytes));
        entry.resize(128, 0);
        bytes.extend(entry);
    }
    bytes.resize(GPT_ENTRIES, 0);
    bytes
}

/// Makes the identifier of a number.
fn guid(number: u8, identity: &[u8; 32]) -> [u8; 16] {
    let sum = sha256(&[&[number], &identity[..]].concat());
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(sum) {
        *to = from;
    }
    // version 4, variant 1
    bytes[7] = (bytes[7] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    bytes
}

/// Makes a header from its sector, the sector of the other header, and the first sector of the
/// entries.
fn gpt_header([own, other, at]: [u64; 3], last: u64, disk: [u8; 16], entries: &[u8]) -> Vec<u8> {
    let numbers = [own, other, 64, last - GPT_TAIL]
        .map(u64::to_le_bytes)
        .concat();
    let make = |sum: u32| {
        let mut bytes = b"EFI PART\0\0\x01\0\x5c\0\0\0".to_vec();
        bytes.extend(sum.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(&numbers);
        bytes.extend(disk);
        bytes.extend(at.to_le_bytes());
        bytes.extend([128u32, 128].map(u32::to_le_bytes).concat());
        bytes.extend((!crc32(u32::MAX, entries)).to_le_bytes());
        bytes
    };
    let mut bytes = make(!crc32(u32::MAX, &make(0)));
    bytes.resize(512, 0);
    bytes
}
