//! The entries of a directory: names, long ones put together from several entries, and fields.
//!
//! In: the bytes of a directory. Out: `FileEntry`s.
//!
//! **Invariant:** a name has 1 to 255 bytes without NUL and `/`, and is neither `.` nor `..`.
//! Format: `docs/formats/fat.md`, "Directories".

use sinterfs_model::Time;

/// Attributes of an entry.
pub(crate) mod attributes {
    /// The file is not to be written.
    pub(crate) const READ_ONLY: u8 = 0x01;
    /// The file is not listed.
    pub(crate) const HIDDEN: u8 = 0x02;
    /// The file belongs to the system.
    pub(crate) const SYSTEM: u8 = 0x04;
    /// The label of the volume.
    pub(crate) const LABEL: u8 = 0x08;
    /// The entry is a directory.
    pub(crate) const DIRECTORY: u8 = 0x10;
    /// A part of a long name.
    pub(crate) const LONG_NAME: u8 = 0x0f;
}

/// The longest name in bytes of UTF-8; of a short one there are at most 37.
const NAME_MAX: usize = 255;

/// The characters of the bytes from 0x80 on in short names, by code page 437.
const UPPER: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»\
    ░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀\
    αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// An entry of a file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileEntry {
    pub(crate) name: Vec<u8>,
    pub(crate) attributes: u8,
    pub(crate) cluster: u32,
    pub(crate) size: u32,
    pub(crate) modified: Time,
    /// Whether there is a time of creation.
    pub(crate) has_birth: bool,
    /// Whether there is a date of access.
    pub(crate) has_access: bool,
}

/// The contents of a directory.
#[derive(Debug, Default)]
pub(crate) struct FatListing {
    pub(crate) entries: Vec<FileEntry>,
    /// The label of the volume, if it has an entry.
    pub(crate) label: Option<Vec<u8>>,
    /// Names that no file can have.
    pub(crate) left_out: Vec<String>,
}

/// Decodes the entries of a directory.
pub(crate) fn listing(bytes: &[u8], has_high: bool) -> FatListing {
    let mut listing = FatListing::default();
    let mut long = LongName::default();
    let (entries, _) = bytes.as_chunks::<32>();
    for entry in entries {
        let [first, ..] = *entry;
        let attributes = byte(entry, 11);
        match first {
            0 => break,
            0xe5 => long = LongName::default(),
            _ if attributes & 0x3f == attributes::LONG_NAME => long.add(entry),
            _ if attributes & attributes::LABEL != 0 => {
                let name = short_name(entry);
                listing.label.get_or_insert(name);
                long = LongName::default();
            }
            _ => {
                let name = long.take(entry).unwrap_or_else(|| short_name(entry));
                let is_dots = name == b"." || name == b"..";
                if is_dots && attributes & attributes::DIRECTORY != 0 {
                    continue;
                }
                if is_dots || name.is_empty() || name.contains(&b'/') || name.contains(&0) {
                    let shown = String::from_utf8_lossy(&name).into_owned();
                    listing.left_out.push(shown);
                    continue;
                }
                let high = if has_high { word(entry, 20) } else { 0 };
                listing.entries.push(FileEntry {
                    name,
                    attributes,
                    cluster: u32::from(high) << 16 | u32::from(word(entry, 26)),
                    size: u32::from(word(entry, 28)) | u32::from(word(entry, 30)) << 16,
                    modified: time(word(entry, 24), word(entry, 22)),
                    has_birth: word(entry, 16) != 0,
                    has_access: word(entry, 18) != 0,
                });
            }
        }
    }
    listing
}

fn byte(entry: &[u8; 32], at: usize) -> u8 {
    entry.get(at).copied().unwrap_or(0)
}

fn word(entry: &[u8; 32], at: usize) -> u16 {
    u16::from_le_bytes([byte(entry, at), byte(entry, at + 1)])
}

/// Parts of a long name, the last one first.
#[derive(Debug, Default)]
struct LongName {
    /// The number of the part that must come next; 0 when the name is complete.
    next: u8,
    sum: u8,
    units: Vec<u16>,
}

impl LongName {
    fn add(&mut self, entry: &[u8; 32]) {
        let (sequence, sum) = (byte(entry, 0), byte(entry, 13));
        let number = sequence & 0x3f;
        if sequence & 0x40 != 0 {
            *self = Self {
                next: number,
                sum,
                units: Vec::new(),
            };
        }
        if number == 0 || number != self.next || sum != self.sum {
            *self = Self::default();
            return;
        }
        let units = [1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30];
        let part = units.into_iter().map(|at| word(entry, at));
        self.units.splice(0..0, part);
        self.next = number - 1;
    }

    /// Returns the name that belongs to a short one, if it is complete and not longer than names
    /// may be.
    fn take(&mut self, entry: &[u8; 32]) -> Option<Vec<u8>> {
        let long = std::mem::take(self);
        let (name, _) = entry.split_first_chunk::<11>()?;
        let add = |sum: u8, byte: &u8| sum.rotate_right(1).wrapping_add(*byte);
        if long.next != 0 || long.units.is_empty() || name.iter().fold(0, add) != long.sum {
            return None;
        }
        let units = long.units.split(|unit| *unit == 0).next()?;
        let text = String::from_utf16(units).ok()?;
        (1..=NAME_MAX)
            .contains(&text.len())
            .then(|| text.into_bytes())
    }
}

/// Returns the name of 8 characters and the extension of 3.
fn short_name(entry: &[u8; 32]) -> Vec<u8> {
    let case = byte(entry, 12);
    let mut name = [0; 11];
    for (at, room) in name.iter_mut().enumerate() {
        *room = byte(entry, at);
    }
    // a first byte that would mean a deleted entry
    if let [first @ 0x05, ..] = &mut name {
        *first = 0xe5;
    }
    let (stem, extension) = name.split_at(8);
    let mut text = part(stem, case & 0x08 != 0);
    let is_label = byte(entry, 11) & attributes::LABEL != 0;
    let extension = part(extension, case & 0x10 != 0);
    if !extension.is_empty() && !is_label {
        text.push('.');
    }
    text.push_str(&extension);
    text.into_bytes()
}

fn part(bytes: &[u8], is_lower: bool) -> String {
    let len = bytes.iter().rposition(|byte| *byte != b' ');
    let used = len.and_then(|last| bytes.get(..=last)).unwrap_or_default();
    let character = |byte: &u8| match byte {
        0x80.. => UPPER.chars().nth(usize::from(*byte - 0x80)).unwrap_or('_'),
        _ if is_lower => char::from(byte.to_ascii_lowercase()),
        _ => char::from(*byte),
    };
    used.iter().map(character).collect()
}

/// Returns the time of a date and a time of day, which have no zone: as if it were UTC.
fn time(date: u16, of_day: u16) -> Time {
    let (year, month, day) = (1980 + i64::from(date >> 9), date >> 5 & 15, date & 31);
    if !(1..=12).contains(&month) || day == 0 {
        return Time::default();
    }
    let (hour, minute, second) = (of_day >> 11, of_day >> 5 & 63, (of_day & 31) * 2);
    // days from the civil calendar, with years that begin in March
    let month = i64::from(month);
    let shifted = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + i64::from(day) - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    let secs = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
    Time {
        secs: days * 86_400 + secs,
        nanos: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upper_characters_are_128() {
        assert_eq!(UPPER.chars().count(), 128);
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        let date = |year: u16, month: u16, day: u16| (year - 1980) << 9 | month << 5 | day;
        for (of_date, expected) in [
            (date(1980, 1, 1), 315_532_800),
            (date(2000, 2, 29), 951_782_400),
            (date(2001, 9, 9), 999_993_600),
            (date(2107, 12, 31), 4_354_732_800),
        ] {
            assert_eq!(time(of_date, 0).secs, expected);
        }
        assert_eq!(
            time(date(2001, 9, 9), 1 << 11 | 46 << 5 | 20).secs,
            1_000_000_000
        );
        assert_eq!(time(0, 0), Time::default());
    }

    fn entry(name: &[u8; 11], attributes: u8) -> [u8; 32] {
        let mut entry = [0; 32];
        entry[..11].copy_from_slice(name);
        entry[11] = attributes;
        entry
    }

    /// Returns the entries of a long name and of the short one that it belongs to.
    fn with_long_name(name: &str, short: &[u8; 11]) -> Vec<[u8; 32]> {
        let sum = short
            .iter()
            .fold(0_u8, |sum, byte| sum.rotate_right(1).wrapping_add(*byte));
        let units: Vec<u16> = name.encode_utf16().chain([0]).collect();
        let parts = units.chunks(13).zip(1_u8..).map(|(part, number)| {
            let mut units = [0xffff; 13];
            units[..part.len()].copy_from_slice(part);
            let mut entry = entry(&[0; 11], attributes::LONG_NAME);
            let places = [1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30];
            for (at, unit) in places.into_iter().zip(units) {
                entry[at..at + 2].copy_from_slice(&unit.to_le_bytes());
            }
            (entry[0], entry[13]) = (number, sum);
            entry
        });
        let mut entries: Vec<_> = parts.collect();
        entries.last_mut().unwrap()[0] |= 0x40;
        entries.reverse();
        entries.push(entry(short, 0));
        entries
    }

    #[test]
    fn a_long_name_of_too_many_bytes_gives_way_to_the_short_one() {
        let entries = [
            with_long_name(&"é".repeat(127), b"FITS~1  TXT"),
            with_long_name(&"é".repeat(128), b"LONG~1  TXT"),
            with_long_name(&"日".repeat(255), b"LONG~2  TXT"),
        ];
        let found = listing(&entries.concat().concat(), true);
        let names: Vec<_> = found.entries.iter().map(|entry| &entry.name[..]).collect();
        let fits = "é".repeat(127);
        assert_eq!(names, [fits.as_bytes(), b"LONG~1.TXT", b"LONG~2.TXT"]);
        assert!(found.left_out.is_empty());
    }

    #[test]
    fn names_that_no_file_has_are_left_out() {
        let entries = [
            entry(b".          ", 0x10),
            entry(b"..         ", 0x10),
            entry(b"A/B     TXT", 0),
            entry(b"\x05BC     TXT", 0),
            entry(b"\xe5ELETED TXT", 0),
            entry(b"LABEL OF IT", 8),
            entry(b"\x80B      C  ", 0x18 & 0x10),
        ];
        let found = listing(&entries.concat(), true);
        let names: Vec<_> = found.entries.iter().map(|entry| &entry.name[..]).collect();
        assert_eq!(names, ["σBC.TXT".as_bytes(), "ÇB.C".as_bytes()]);
        assert_eq!(found.left_out, ["A/B.TXT"]);
        assert_eq!(found.label.unwrap(), b"LABEL OF IT");
    }
}
