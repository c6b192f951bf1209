//! The extra fields of a zip entry: 64-bit lengths, times, owners, names in UTF-8.
//!
//! In: the bytes of all fields. Out: what they say. Spec: APPNOTE 4.5, Info-ZIP's `extrafld.txt`.
//! **Invariant:** a field that is too short says nothing; no field is read beyond its length.

use sinterfs_model::{Rdev, Time};

use super::fields::ZipFields;
use crate::crc32::Crc32;

/// What the extra fields of an entry say.
#[derive(Debug, Default)]
pub(super) struct Extra<'a> {
    /// The bytes of the field of 64-bit numbers.
    pub(super) long: Option<&'a [u8]>,
    pub(super) modified: Option<Time>,
    pub(super) accessed: Option<Time>,
    pub(super) owner: Option<(u32, u32)>,
    pub(super) rdev: Option<Rdev>,
    /// The name in UTF-8, if it has the checksum of the other name.
    pub(super) name: Option<&'a [u8]>,
    /// The encryption that is hidden in a field.
    pub(super) is_aes: bool,
    /// Whether the fields end within one.
    pub(super) is_cut: bool,
}

/// Seconds from 1601 to 1970.
const SECONDS_OF_NTFS: i64 = 11_644_473_600;

impl<'a> Extra<'a> {
    /// Reads the fields of an entry with a name.
    pub(super) fn of(bytes: &'a [u8], name: &[u8]) -> Self {
        let mut extra = Self::default();
        let mut fields = ZipFields(bytes);
        // the most exact time stays
        let (mut by_ntfs, mut by_seconds) = (None, None);
        while let (Some(id), Some(len)) = (fields.u16(), fields.u16()) {
            let Some(field) = fields.take(len.into()) else {
                extra.is_cut = true;
                break;
            };
            match id {
                0x0001 => extra.long = Some(field),
                0x000a => by_ntfs = by_ntfs.or_else(|| ntfs(field)),
                0x000d => extra.unix(field, &mut by_seconds),
                0x5455 => by_seconds = extended(field).or(by_seconds),
                0x5855 => extra.old_unix(field, &mut by_seconds),
                0x7855 => {
                    let mut field = ZipFields(field);
                    let owner = field.u16().zip(field.u16());
                    extra.owner = extra.owner.or(owner.map(|(u, g)| (u.into(), g.into())));
                }
                0x7875 => extra.owner = owner(field).or(extra.owner),
                0x7075 => extra.name = unicode(field, name).or(extra.name),
                0x9901 => extra.is_aes = true,
                _ => {}
            }
        }
        let (modified, accessed) = by_ntfs.or(by_seconds).unzip();
        (extra.modified, extra.accessed) = (modified, accessed.flatten());
        extra
    }

    /// Reads a field of PKWARE's Unix: times, owner, number of a device.
    fn unix(&mut self, field: &[u8], times: &mut Option<(Time, Option<Time>)>) {
        let mut field = ZipFields(field);
        let (Some(accessed), Some(modified)) = (field.u32(), field.u32()) else {
            return;
        };
        *times = times.or(Some((seconds(modified), Some(seconds(accessed)))));
        let owner = field.u16().zip(field.u16());
        self.owner = self.owner.or(owner.map(|(u, g)| (u.into(), g.into())));
        if let (Some(major), Some(minor)) = (field.u32(), field.u32()) {
            self.rdev = Some(Rdev { major, minor });
        }
    }

    /// Reads a field of Info-ZIP's first Unix: times, and an owner in local headers.
    fn old_unix(&mut self, field: &[u8], times: &mut Option<(Time, Option<Time>)>) {
        let mut field = ZipFields(field);
        let (Some(accessed), Some(modified)) = (field.u32(), field.u32()) else {
            return;
        };
        *times = times.or(Some((seconds(modified), Some(seconds(accessed)))));
        let owner = field.u16().zip(field.u16());
        self.owner = self.owner.or(owner.map(|(u, g)| (u.into(), g.into())));
    }
}

/// Returns a time of 32 bits, which are signed.
fn seconds(number: u32) -> Time {
    Time {
        secs: number.cast_signed().into(),
        nanos: 0,
    }
}

/// Reads the times of NTFS.
fn ntfs(field: &[u8]) -> Option<(Time, Option<Time>)> {
    let mut fields = ZipFields(field);
    fields.take(4)?;
    while let (Some(tag), Some(len)) = (fields.u16(), fields.u16()) {
        let mut attribute = ZipFields(fields.take(len.into())?);
        if tag == 1 {
            let modified = of_ntfs(attribute.u64()?)?;
            return Some((modified, attribute.u64().and_then(of_ntfs)));
        }
    }
    None
}

/// Returns the time of a number of 100 nanoseconds since 1601; 0 is none.
pub(crate) fn of_ntfs(ticks: u64) -> Option<Time> {
    let secs = i64::try_from(ticks / 10_000_000).ok()?;
    let nanos = u32::try_from(ticks % 10_000_000).ok()? * 100;
    (ticks > 0).then_some(Time {
        secs: secs - SECONDS_OF_NTFS,
        nanos,
    })
}

/// Reads the extended timestamp: which times there are, and these.
fn extended(field: &[u8]) -> Option<(Time, Option<Time>)> {
    let mut fields = ZipFields(field);
    let [flags] = fields.array()?;
    let modified = (flags & 1 != 0).then(|| fields.u32()).flatten()?;
    let accessed = (flags & 2 != 0).then(|| fields.u32()).flatten();
    Some((seconds(modified), accessed.map(seconds)))
}

/// Reads an owner of any length.
fn owner(field: &[u8]) -> Option<(u32, u32)> {
    let mut fields = ZipFields(field);
    let [version] = fields.array()?;
    let mut number = || {
        let [len] = fields.array()?;
        let bytes = fields.take(len.into())?;
        let (low, high) = bytes.split_at(bytes.len().min(4));
        let mut number = [0; 4];
        for (to, from) in number.iter_mut().zip(low) {
            *to = *from;
        }
        let fits = high.iter().all(|byte| *byte == 0);
        fits.then_some(u32::from_le_bytes(number))
    };
    let owner = (number()?, number()?);
    (version == 1).then_some(owner)
}

/// Reads a name in UTF-8, which counts if the other name has not changed since.
fn unicode<'a>(field: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut fields = ZipFields(field);
    let [version] = fields.array()?;
    let is_of_name = fields.u32()? == Crc32::of(name);
    let is_text = std::str::from_utf8(fields.0).is_ok() && !fields.0.is_empty();
    (version == 1 && is_of_name && is_text).then_some(fields.0)
}
