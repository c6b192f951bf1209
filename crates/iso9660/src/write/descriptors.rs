//! Volume descriptors.
//!
//! In: the options, and where roots and path tables are. Out: sectors. ECMA-119, section 8.

use super::options::WriteOptions;
use crate::layout::{
    DirectoryRecord, LongDate, RecordFlags, SECTOR_LEN, STANDARD_ID, both16, both32,
};

/// The location of a tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreePlace {
    /// Sectors of the whole volume.
    pub(super) sectors: u32,
    /// The first sector of the root, and its length in bytes.
    pub(super) root: (u32, u32),
    /// Bytes of a path table.
    pub(super) table_len: u32,
    /// The sectors of both path tables.
    pub(super) tables: [u32; 2],
}

/// Which tree a descriptor is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeKind {
    Primary,
    Joliet,
    /// The primary one once more, as of ISO 9660:1999.
    Enhanced,
}

/// A sector in progress.
struct Sector(Vec<u8>);

impl Sector {
    fn new(kind: u8) -> Self {
        let mut sector = Self(vec![0; SECTOR_LEN]);
        sector.put(0, &[kind]);
        sector.put(1, STANDARD_ID);
        sector.put(6, &[1]);
        sector
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.0.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    /// Writes a text, padded with spaces; in UCS-2 for Joliet.
    fn text(&mut self, at: usize, len: usize, text: &[u8], joliet: bool) {
        let mut bytes = text.to_vec();
        if joliet {
            let text = String::from_utf8_lossy(text);
            let units = text.encode_utf16().take(len / 2);
            bytes = units.flat_map(u16::to_be_bytes).collect();
            while bytes.len() + 2 <= len {
                bytes.extend([0, b' ']);
            }
        } else {
            bytes.resize(len, b' ');
        }
        bytes.truncate(len);
        self.put(at, &bytes);
    }
}

/// Makes a descriptor of a tree.
pub(super) fn volume(options: &WriteOptions, place: &TreePlace, kind: TreeKind) -> Vec<u8> {
    let joliet = kind == TreeKind::Joliet;
    let version = if kind == TreeKind::Enhanced { 2 } else { 1 };
    let mut sector = Sector::new(if kind == TreeKind::Primary { 1 } else { 2 });
    sector.put(6, &[version]);
    let [system, set, publisher, preparer, application] = &options.own.identifiers;
    sector.text(8, 32, system, joliet);
    sector.text(40, 32, &options.own.label, joliet);
    sector.put(80, &both32(place.sectors));
    if joliet {
        // level 3
        sector.put(88, b"%/E");
    }
    sector.put(120, &both16(1));
    sector.put(124, &both16(1));
    sector.put(128, &both16(2048));
    sector.put(132, &both32(place.table_len));
    let [little, big] = place.tables;
    sector.put(140, &little.to_le_bytes());
    sector.put(148, &big.to_be_bytes());
    let made = options.made.and_then(|made| i64::try_from(made).ok());
    let (block, len) = place.root;
    let root = DirectoryRecord {
        block,
        len,
        date: made
            .and_then(crate::layout::ShortDate::from_seconds)
            .unwrap_or_default(),
        flags: RecordFlags(RecordFlags::DIRECTORY),
        name: b"\0",
        ..DirectoryRecord::default()
    };
    sector.put(156, &root.encode());
    for (at, text) in [
        (190, set),
        (318, publisher),
        (446, preparer),
        (574, application),
    ] {
        sector.text(at, 128, text, joliet);
    }
    for at in [702, 739, 776] {
        sector.text(at, 37, b"", joliet);
    }
    let made = match options.own.date {
        Some(digits) => LongDate::in_utc(digits),
        None => made.map_or(LongDate::NONE, LongDate::from_seconds),
    };
    sector.put(813, &made.0);
    sector.put(830, &made.0);
    sector.put(847, &LongDate::NONE.0);
    sector.put(864, &LongDate::NONE.0);
    sector.put(881, &[version]);
    sector.0
}

/// Makes the boot record of El Torito.
pub(super) fn boot_record(catalog: u32) -> Vec<u8> {
    let mut sector = Sector::new(0);
    sector.put(7, b"EL TORITO SPECIFICATION");
    sector.put(71, &catalog.to_le_bytes());
    sector.0
}

/// Makes the last descriptor.
pub(super) fn terminator() -> Vec<u8> {
    Sector::new(255).0
}
