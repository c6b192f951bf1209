//! The entries of a zip's directory.
//!
//! In: the directory. Out: members, not yet compared with their local headers. Spec: APPNOTE
//! 4.3.12 and 4.4. **Invariant:** an entry is read within the directory; what cannot be read of a
//! member is a reason to leave it out, not an error.

use std::borrow::Cow;
use std::io::{BufReader, Read, Seek, SeekFrom};

use sinterfs_model::{Error, FileType, Meta, Result, Time, Times};

use super::cp437;
use super::end::{DirectoryPlace, ENTRY};
use super::extra::Extra;
use super::fields::{ZipFields, bad};
use crate::member::{Kind, Member, Notes};
use crate::packed::{DecodeStep, Directory, Method, PackedMember, Unit, UnitRange};

/// The length of an entry without its name, fields and comment.
const ENTRY_LEN: usize = 46;

/// The longest target of a symlink.
const TARGET_MAX: u64 = 64 << 10;

/// Bits of the flags.
const ENCRYPTED: u16 = 1;
const PATCHED: u16 = 1 << 5;
const STRONGLY_ENCRYPTED: u16 = 1 << 6;
const UTF8: u16 = 1 << 11;
const MASKED: u16 = 1 << 13;

/// Hosts with attributes of Unix, and hosts whose names have backslashes.
const UNIX: [u8; 2] = [3, 19];
const DOS: [u8; 4] = [0, 6, 10, 11];

/// The members, and what their local headers must say.
#[derive(Debug, Default)]
pub(super) struct Entries {
    pub(super) members: Vec<PackedMember>,
    pub(super) expected: Vec<Expected>,
    pub(super) warnings: Notes,
}

/// What a local header must say, and where it is.
#[derive(Debug)]
pub(super) struct Expected {
    /// The name as it is in the directory.
    pub(super) name: Vec<u8>,
    pub(super) method: u16,
    pub(super) crc: u32,
    /// The stored length.
    pub(super) stored: u64,
    pub(super) at: u64,
    /// Where the content begins, once the local header is read.
    pub(super) content: u64,
}

impl Entries {
    /// Makes the units of the members that have content.
    pub(super) fn into_directory(self) -> Directory {
        let mut units = Vec::new();
        let mut members = self.members;
        for (found, expected) in members.iter_mut().zip(self.expected) {
            let has_content = matches!(found.member.kind, Kind::File | Kind::Symlink(_));
            let len = found.member.size;
            if found.refused.is_some() || !has_content || len == 0 {
                continue;
            }
            let stored = DecodeStep::Stored {
                at: expected.content,
                len: expected.stored,
            };
            let step = match method(expected.method) {
                Some(method) => DecodeStep::Decoded {
                    method,
                    inputs: vec![stored],
                    len,
                },
                None => stored,
            };
            found.part = u32::try_from(units.len()).ok().map(|unit| UnitRange {
                unit,
                offset: 0,
                len,
                crc: Some(expected.crc),
            });
            let at = expected.content;
            units.push(Unit { step, len, at });
        }
        Directory {
            members,
            units,
            warnings: self.warnings,
        }
    }
}

/// Reads all entries.
pub(super) fn read_all(
    file: &mut (impl Read + Seek),
    place: &DirectoryPlace,
    len: u64,
) -> Result<Entries> {
    let sought = file.seek(SeekFrom::Start(place.directory));
    sought.map_err(|error| Error::io("cannot read the archive", error))?;
    let mut directory = BufReader::with_capacity(64 << 10, file.take(place.len));
    let mut found = Entries::default();
    let mut at = place.directory;
    let end = place.directory + place.len;
    while at < end {
        let mut fixed = [0; ENTRY_LEN];
        fill(&mut directory, &mut fixed, at)?;
        if !fixed.starts_with(&ENTRY) {
            // a signature of the directory may follow, and nothing else
            if fixed.starts_with(b"PK\x05\x05") {
                break;
            }
            return Err(bad(at, "an invalid entry of the directory"));
        }
        let fixed = Fixed::of(&fixed).ok_or_else(|| bad(at, "an invalid entry"))?;
        let mut texts = vec![0; fixed.texts()];
        fill(&mut directory, &mut texts, at)?;
        let (member, expected) = member(&fixed, &texts, place.before, at, len)?;
        found.members.push(member);
        found.expected.push(expected);
        at += ENTRY_LEN as u64 + texts.len() as u64;
    }
    let count = found.members.len() as u64;
    let counted = if place.is_long { count } else { count & 0xffff };
    if counted != place.count {
        let what = "the archive counts other than the members that its directory has";
        *found.warnings.entry(what).or_default() += 1;
    }
    Ok(found)
}

fn fill(directory: &mut impl Read, buf: &mut [u8], at: u64) -> Result<()> {
    directory
        .read_exact(buf)
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => bad(at, "the directory ends within an entry"),
            _ => Error::io("cannot read the archive", error),
        })
}

/// The numbers of an entry.
struct Fixed {
    host: u8,
    flags: u16,
    method: u16,
    time: u16,
    date: u16,
    crc: u32,
    stored: u32,
    size: u32,
    name: u16,
    extra: u16,
    comment: u16,
    disk: u16,
    attributes: u32,
    offset: u32,
}

impl Fixed {
    fn of(bytes: &[u8]) -> Option<Self> {
        let mut fields = ZipFields(bytes);
        fields.take(4)?;
        let [_, host] = fields.array()?;
        fields.take(2)?;
        Some(Self {
            host,
            flags: fields.u16()?,
            method: fields.u16()?,
            time: fields.u16()?,
            date: fields.u16()?,
            crc: fields.u32()?,
            stored: fields.u32()?,
            size: fields.u32()?,
            name: fields.u16()?,
            extra: fields.u16()?,
            comment: fields.u16()?,
            disk: fields.u16()?,
            // internal attributes say whether a file is a text
            attributes: fields.u16().and_then(|_| fields.u32())?,
            offset: fields.u32()?,
        })
    }

    fn texts(&self) -> usize {
        usize::from(self.name) + usize::from(self.extra) + usize::from(self.comment)
    }

    /// Returns size, stored length and offset; `None` if a field of 64-bit numbers is missing.
    fn numbers(&self, long: Option<&[u8]>) -> Option<[u64; 3]> {
        let mut long = ZipFields(long.unwrap_or_default());
        let mut number = |short: u32| match short {
            u32::MAX => long.u64(),
            short => Some(short.into()),
        };
        Some([
            number(self.size)?,
            number(self.stored)?,
            number(self.offset)?,
        ])
    }
}

/// Makes a member of an entry.
fn member(
    fixed: &Fixed,
    texts: &[u8],
    before: u64,
    at: u64,
    len: u64,
) -> Result<(PackedMember, Expected)> {
    if fixed.flags & MASKED != 0 {
        let what = "an archive with an encrypted directory";
        return Err(Error::unsupported(what).at("zip", at));
    }
    let (raw, rest) = texts.split_at(usize::from(fixed.name).min(texts.len()));
    let extra = rest.get(..fixed.extra.into()).unwrap_or_default();
    let extra = Extra::of(extra, raw);
    let numbers = fixed.numbers(extra.long);
    let [size, stored, offset] = numbers.unwrap_or_default();
    let path = name(fixed, raw, &extra);
    let (kind, mode) = kind(fixed, &path, &extra);
    let mut refused = refusal(fixed, &extra);
    if numbers.is_none() {
        refused = Some("has no field of 64-bit numbers, which it needs".into());
    } else if let Err(why) = &kind {
        refused = refused.or(Some(Cow::Borrowed(*why)));
    } else if matches!(kind, Ok(Kind::Symlink(_))) && size > TARGET_MAX {
        refused = refused.or(Some(
            "is a symlink with a target of more than 64 KiB".into(),
        ));
    } else if fixed.method == 0 && stored != size {
        refused = refused.or(Some("is stored in another length than its own".into()));
    }
    let position = before.checked_add(offset).filter(|at| *at < len);
    if position.is_none() {
        refused = refused.or(Some("begins outside of the file".into()));
    }
    let position = position.unwrap_or_default();
    let time = extra
        .modified
        .unwrap_or_else(|| dos_time(fixed.date, fixed.time));
    let (uid, gid) = extra.owner.unwrap_or_default();
    let times = Times {
        accessed: extra.accessed.unwrap_or(time),
        ..Times::all(time)
    };
    let meta = Meta {
        mode,
        uid,
        gid,
        times,
    };
    let member = Member {
        path,
        meta,
        kind: kind.unwrap_or(Kind::File),
        xattrs: Vec::new(),
        size,
        map: None,
        content: 0,
        at: position,
        remark: extra
            .is_cut
            .then_some(Cow::Borrowed("an extra field is longer than what is there")),
    };
    let expected = Expected {
        name: raw.to_vec(),
        method: fixed.method,
        crc: fixed.crc,
        stored,
        at: position,
        content: 0,
    };
    let part = None;
    Ok((
        PackedMember {
            member,
            part,
            refused,
        },
        expected,
    ))
}

/// Returns why content of any type cannot be read.
fn refusal(fixed: &Fixed, extra: &Extra<'_>) -> Option<Cow<'static, str>> {
    if fixed.flags & (ENCRYPTED | STRONGLY_ENCRYPTED) != 0 || extra.is_aes {
        return Some("is encrypted".into());
    }
    if fixed.flags & PATCHED != 0 {
        return Some("is a patch of another file".into());
    }
    if fixed.disk != 0 && fixed.disk != u16::MAX {
        return Some("is in another file of the archive".into());
    }
    if fixed.method == 0 || method(fixed.method).is_some() {
        return None;
    }
    let name = match fixed.method {
        1 => "shrink",
        2..=5 => "reduce",
        6 => "implode",
        9 => "deflate64",
        10 => "PKWARE's library of implode",
        18 => "TERSE",
        19 => "LZ77 of IBM",
        94 => "MP3",
        96 => "a packer of JPEG",
        97 => "WavPack",
        98 => "PPMd",
        99 => "encryption",
        other => return Some(format!("is compressed by the unknown method {other}").into()),
    };
    Some(format!("is compressed by {name}, which is not read").into())
}

/// Returns the method of a number; `None` for stored and unknown ones.
fn method(number: u16) -> Option<Method> {
    Some(match number {
        8 => Method::Deflate,
        12 => Method::Bzip2,
        14 => Method::ZipLzma,
        20 | 93 => Method::Zstd,
        95 => Method::Xz,
        _ => return None,
    })
}

/// Returns the path: UTF-8 if the archive says so; else as it is if Unix made it and it is UTF-8;
/// else of the code page of the IBM PC.
fn name(fixed: &Fixed, raw: &[u8], extra: &Extra<'_>) -> Vec<u8> {
    let is_unix = UNIX.contains(&fixed.host);
    let mut name = match extra.name {
        Some(name) => name.to_vec(),
        None if fixed.flags & UTF8 != 0 => raw.to_vec(),
        None if is_unix && std::str::from_utf8(raw).is_ok() => raw.to_vec(),
        None => cp437::to_utf8(raw),
    };
    if DOS.contains(&fixed.host) && !name.contains(&b'/') {
        for byte in name.iter_mut().filter(|byte| **byte == b'\\') {
            *byte = b'/';
        }
    }
    name
}

/// Returns type and permissions, or why there are none.
fn kind(
    fixed: &Fixed,
    path: &[u8],
    extra: &Extra<'_>,
) -> (std::result::Result<Kind, &'static str>, u16) {
    let is_directory = path.ends_with(b"/");
    let bits = fixed.attributes >> 16;
    if !UNIX.contains(&fixed.host) || bits == 0 {
        // bits of DOS: read-only, directory
        let is_directory = is_directory || fixed.attributes & 0x10 != 0 && fixed.host != 3;
        let (kind, mode) = match is_directory {
            true => (Kind::Directory, 0o755),
            false if fixed.attributes & 1 != 0 => (Kind::File, 0o444),
            false => (Kind::File, 0o644),
        };
        return (Ok(kind), mode);
    }
    let mode = u16::try_from(bits & 0o7777).unwrap_or_default();
    if is_directory {
        return (Ok(Kind::Directory), mode);
    }
    let no_number = "is a device without a number";
    let kind = match FileType::from_mode(bits) {
        Some(FileType::Directory) => Ok(Kind::Directory),
        Some(FileType::Symlink) => Ok(Kind::Symlink(Vec::new())),
        Some(FileType::Fifo) => Ok(Kind::Fifo),
        Some(FileType::Socket) => Ok(Kind::Socket),
        Some(FileType::CharDevice) => extra.rdev.map(Kind::CharDevice).ok_or(no_number),
        Some(FileType::BlockDevice) => extra.rdev.map(Kind::BlockDevice).ok_or(no_number),
        Some(FileType::File) | None => Ok(Kind::File),
    };
    (kind, mode)
}

/// Returns a time of DOS, which has no zone, as one of UTC; a date that does not exist counts on.
fn dos_time(date: u16, time: u16) -> Time {
    let (day, month) = (
        i64::from(date & 31).max(1),
        i64::from(date >> 5 & 15).max(1),
    );
    let year = 1980 + i64::from(date >> 9);
    // days since 1970 by the rule of leap years, with March as the first month
    let (year, month) = match month {
        1 | 2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let (hour, minute) = (i64::from(time >> 11), i64::from(time >> 5 & 63));
    let second = i64::from(time & 31) * 2;
    Time {
        secs: (days - 719_468) * 86_400 + hour * 3600 + minute * 60 + second,
        nanos: 0,
    }
}

#[cfg(test)]
mod time_tests {
    use super::*;

    #[test]
    fn times_of_dos_are_days_since_1970() {
        // 1980-01-01 00:00:00, 2024-02-29 23:59:58
        assert_eq!(dos_time(1 << 5 | 1, 0).secs, 315_532_800);
        let (date, time) = (44 << 9 | 2 << 5 | 29, 23 << 11 | 59 << 5 | 29);
        assert_eq!(dos_time(date, time).secs, 1_709_251_198);
    }
}
