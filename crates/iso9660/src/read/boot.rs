//! The boot catalog of El Torito.
//!
//! In: the sector that a boot record names. Out: boot images with their platforms.
//!
//! **Invariant:** at most a sector's worth of entries is read. El Torito, section 2.

use sinterfs_block::{ReadAt, Window};
use sinterfs_model::Result;

use crate::layout::{SECTOR, le16, le32};

/// A boot image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootEntry {
    /// Platform ID: 0 is x86 BIOS, 0xef UEFI.
    pub platform: u8,
    /// Whether it may be booted.
    pub bootable: bool,
    /// The emulated medium: 0 for none, 1 to 3 for floppies, 4 for a hard disk.
    pub emulation: u8,
    /// Sectors of 512 bytes that are loaded.
    pub sectors: u16,
    /// The logical sector where it starts.
    pub sector: u32,
}

impl BootEntry {
    /// Returns the name of the platform.
    pub fn platform_name(&self) -> &'static str {
        match self.platform {
            0 => "BIOS",
            1 => "PowerPC",
            2 => "Mac",
            0xef => "UEFI",
            _ => "unknown",
        }
    }

    /// Returns what is emulated.
    pub fn emulation_name(&self) -> &'static str {
        match self.emulation & 0xf {
            0 => "no emulation",
            1 => "1.2 MB floppy",
            2 => "1.44 MB floppy",
            3 => "2.88 MB floppy",
            4 => "hard disk",
            _ => "unknown emulation",
        }
    }
}

/// The boot images of an image.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BootCatalog {
    /// The sector of the catalog.
    pub sector: u32,
    /// Whether the checksum of the first entry is right.
    pub is_valid: bool,
    /// The images in their order.
    pub entries: Vec<BootEntry>,
}

impl BootCatalog {
    /// Reads a catalog.
    pub(super) fn read(window: &Window, sector: u32) -> Result<Self> {
        let at = u64::from(sector) * SECTOR;
        let bytes = window.read(at, SECTOR);
        let bytes =
            bytes.map_err(|error| error.at("boot catalog", window.start().saturating_add(at)))?;
        let bytes = bytes.to_vec();
        let (rows, _) = bytes.as_chunks::<32>();
        let mut rows = rows.iter();
        let validation = rows.next().copied().unwrap_or([0; 32]);
        let words = validation.chunks(2).map(|word| le16(word, 0));
        let sum = words.fold(0, u16::wrapping_add);
        let mut catalog = Self {
            sector,
            is_valid: validation.starts_with(&[1]) && sum == 0 && validation.ends_with(b"\x55\xaa"),
            entries: Vec::new(),
        };
        let mut platform = validation.get(1).copied().unwrap_or(0);
        let mut left = 1;
        let mut is_last = false;
        for row in rows {
            match row.first() {
                // a header of a section: platform, number of entries
                Some(0x90 | 0x91) if left == 0 && !is_last => {
                    is_last = row.starts_with(&[0x91]);
                    platform = row.get(1).copied().unwrap_or(0);
                    left = le16(row, 2);
                }
                // an extension of the entry before
                Some(0x44) => {}
                Some(0x88 | 0) if left > 0 => {
                    left -= 1;
                    catalog.entries.push(BootEntry {
                        platform,
                        bootable: row.starts_with(&[0x88]),
                        emulation: row.get(1).copied().unwrap_or(0),
                        sectors: le16(row, 6),
                        sector: le32(row, 8),
                    });
                }
                _ => break,
            }
        }
        Ok(catalog)
    }
}
