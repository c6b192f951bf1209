//! Writes the members of a PAX archive: what precedes the content of each, and the end.
//!
//! Enters a name with its inode; leaves a ustar header, and before it PAX records for exactly what
//! such a header does not hold. **Invariant:** the bytes depend only on the input: no process
//! number, no clock, records in a fixed order. Spec: POSIX.1-2024 pax; `SCHILY.` records: star(5);
//! holes: GNU tar's manual, "Storing Sparse Files", version 1.0.

mod acl;
mod records;
mod sparse;

use sinterfs_model::{FileType, Inode, Time, posix_acl};
use zerocopy::{FromZeros, IntoBytes};

use super::layout::{BLOCK, USTAR, UstarHeader, checksum, set_octal, typeflag};
use crate::{Follows, LinkTarget, Outgoing};
use records::Records;

/// The loss of an entry whose access control list cannot be written as text.
pub const SENSELESS_ACL: &str = "invalid access control lists";

/// The unit of the length of archives in bytes, as on tapes.
pub const RECORD: u64 = 20 * BLOCK as u64;

/// Appends what precedes the content of a member, and returns what must follow.
///
/// `lost` receives what the archive does not store. A socket is not for an archive: nothing is
/// appended, and that is reported, too.
pub fn header(
    out: &mut Vec<u8>,
    entry: &Outgoing<'_>,
    lost: &mut dyn FnMut(&'static str),
) -> Follows {
    let Some(flag) = flag(entry) else {
        lost("sockets, which tar does not have");
        return Follows::of(0, BLOCK as u64);
    };
    let map = match (flag, entry.data) {
        (typeflag::FILE, Some(data)) => Some(sparse::map(data, entry.inode.size)),
        _ => None,
    };
    let data = match (flag, entry.data) {
        (typeflag::FILE, Some(data)) => data.iter().map(|run| run.end - run.start).sum(),
        (typeflag::FILE, None) => entry.inode.size,
        _ => 0,
    };
    let map_len = map.as_ref().map_or(0, Vec::len) as u64;
    let mut records = Records::default();
    let mut header = UstarHeader::new_zeroed();
    let path = written_path(entry, map.is_some());
    name(&mut header, &mut records, &path, map.is_some());
    link(&mut header, &mut records, entry.link);
    numbers(&mut header, &mut records, entry.inode, map_len + data);
    if map.is_some() {
        sparse::describe(&mut records, entry.path, entry.inode.size);
    }
    if !matches!(entry.link, LinkTarget::Hard(_)) {
        attributes(&mut records, entry, lost);
    }
    header.typeflag = flag;
    append_records(out, &records, entry.path);
    append(out, &mut header);
    out.extend_from_slice(map.as_deref().unwrap_or_default());
    Follows::of(data, BLOCK as u64)
}

/// Returns how many zeros end an archive that is so long.
pub fn end(len: u64) -> u64 {
    (len + 2 * BLOCK as u64).next_multiple_of(RECORD) - len
}

fn flag(entry: &Outgoing<'_>) -> Option<u8> {
    if matches!(entry.link, LinkTarget::Hard(_)) && entry.inode.kind != FileType::Socket {
        return Some(typeflag::LINK);
    }
    Some(match entry.inode.kind {
        FileType::Directory => typeflag::DIRECTORY,
        FileType::File => typeflag::FILE,
        FileType::Symlink => typeflag::SYMLINK,
        FileType::CharDevice => typeflag::CHAR_DEVICE,
        FileType::BlockDevice => typeflag::BLOCK_DEVICE,
        FileType::Fifo => typeflag::FIFO,
        FileType::Socket => return None,
    })
}

/// Returns the path as headers have it: directories end with a slash, the root is `./`. The name of
/// a file with holes is in a record; the header has another name for readers that do not know such
/// records.
fn written_path(entry: &Outgoing<'_>, sparse: bool) -> Vec<u8> {
    match (entry.path, entry.inode.kind) {
        (b"", _) => b"./".to_vec(),
        (path, FileType::Directory) => [path, b"/"].concat(),
        (path, _) if sparse => sparse::placeholder(path),
        (path, _) => path.to_vec(),
    }
}

/// Writes the path: into the header if it fits there, else into a record, too.
///
/// The specification requires a record for names that are not ASCII. But the header is taken as it
/// is by all readers, where libarchive composes letters and accents of records that are UTF-8
/// (another name!), and wants a locale for them.
fn name(header: &mut UstarHeader, records: &mut Records, path: &[u8], placeholder: bool) {
    let fits = match split(path) {
        Some((prefix, name)) => {
            fill(&mut header.prefix, prefix);
            fill(&mut header.name, name);
            true
        }
        None => {
            fill(&mut header.name, path);
            false
        }
    };
    if !placeholder && !fits {
        records.text(b"path", path);
    }
}

fn link(header: &mut UstarHeader, records: &mut Records, link: LinkTarget<'_>) {
    let target = match link {
        LinkTarget::None => return,
        LinkTarget::Hard(target) | LinkTarget::Symbolic(target) => target,
    };
    fill(&mut header.linkname, target);
    if target.len() > header.linkname.len() {
        records.text(b"linkpath", target);
    }
}

/// Splits a path at a slash so that both parts fit.
fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    const NAME: usize = 100;
    const PREFIX: usize = 155;
    if path.len() <= NAME {
        return Some((b"", path));
    }
    // the last byte may be the slash of a directory, which stays with the name
    let from = path.len().checked_sub(NAME + 1)?;
    let upto = path.len().saturating_sub(1).min(PREFIX + 1);
    let at = from + path.get(from..upto)?.iter().position(|&b| b == b'/')?;
    let (prefix, name) = path.split_at_checked(at)?;
    (!prefix.is_empty()).then_some((prefix, name.get(1..)?))
}

fn fill(field: &mut [u8], bytes: &[u8]) {
    for (to, from) in field.iter_mut().zip(bytes) {
        *to = *from;
    }
}

fn numbers(header: &mut UstarHeader, records: &mut Records, inode: &Inode, stored: u64) {
    let meta = &inode.meta;
    set_octal(&mut header.mode, u64::from(meta.mode));
    number(&mut header.size, records, b"size", stored);
    number(&mut header.uid, records, b"uid", u64::from(meta.uid));
    number(&mut header.gid, records, b"gid", u64::from(meta.gid));
    time(&mut header.mtime, records, meta.times.modified);
    let (mut major, mut minor) = (0, 0);
    if matches!(inode.kind, FileType::CharDevice | FileType::BlockDevice) {
        (major, minor) = (inode.rdev.major, inode.rdev.minor);
    }
    let field = &mut header.dev_major;
    number(field, records, b"SCHILY.devmajor", u64::from(major));
    let field = &mut header.dev_minor;
    number(field, records, b"SCHILY.devminor", u64::from(minor));
}

/// Writes a number: into the header, or into a record if it does not fit.
fn number(field: &mut [u8], records: &mut Records, key: &[u8], value: u64) {
    if !set_octal(field, value) {
        set_octal(field, 0);
        records.add(key, value.to_string().as_bytes());
    }
}

fn time(field: &mut [u8], records: &mut Records, time: Time) {
    let whole = u64::try_from(time.secs).ok();
    let fits = whole.is_some_and(|secs| set_octal(field, secs));
    if !fits {
        set_octal(field, 0);
    }
    if !fits || time.nanos != 0 {
        records.add(b"mtime", decimal(time).as_bytes());
    }
}

/// Writes a time as a decimal number of seconds; before 1970 the fraction counts downwards, too.
fn decimal(time: Time) -> String {
    let (secs, nanos) = (i128::from(time.secs), i128::from(time.nanos));
    let all = secs * 1_000_000_000 + nanos;
    let sign = if all < 0 { "-" } else { "" };
    let (secs, nanos) = (
        all.unsigned_abs() / 1_000_000_000,
        all.unsigned_abs() % 1_000_000_000,
    );
    match nanos {
        0 => format!("{sign}{secs}"),
        _ => format!("{sign}{secs}.{nanos:09}")
            .trim_end_matches('0')
            .to_owned(),
    }
}

/// Writes extended attributes: access control lists as text, which both GNU tar and bsdtar restore
/// (neither restores the raw attribute), and all others unchanged.
fn attributes(records: &mut Records, entry: &Outgoing<'_>, lost: &mut dyn FnMut(&'static str)) {
    for (name, value) in entry.xattrs {
        let key: &[u8] = match name.as_slice() {
            posix_acl::ACCESS => b"SCHILY.acl.access",
            posix_acl::DEFAULT => b"SCHILY.acl.default",
            _ => {
                records.xattr(name, value);
                continue;
            }
        };
        match acl::text(value) {
            Some(text) => records.add(key, text.as_bytes()),
            None => lost(SENSELESS_ACL),
        }
    }
}

fn append_records(out: &mut Vec<u8>, records: &Records, path: &[u8]) {
    let bytes = records.bytes();
    if bytes.is_empty() {
        return;
    }
    let mut header = UstarHeader::new_zeroed();
    fill(&mut header.name, &records::placeholder(path));
    set_octal(&mut header.mode, 0o644);
    set_octal(&mut header.uid, 0);
    set_octal(&mut header.gid, 0);
    set_octal(&mut header.size, bytes.len() as u64);
    set_octal(&mut header.mtime, 0);
    set_octal(&mut header.dev_major, 0);
    set_octal(&mut header.dev_minor, 0);
    header.typeflag = typeflag::PAX;
    append(out, &mut header);
    out.extend_from_slice(&bytes);
    pad(out, bytes.len());
}

fn append(out: &mut Vec<u8>, header: &mut UstarHeader) {
    header.magic = USTAR;
    let sum = checksum(header);
    // six digits, a NUL, and a space: no sum of 512 bytes is longer
    let (digits, space) = header.checksum.split_at_mut(7);
    set_octal(digits, u64::from(sum));
    space.fill(b' ');
    out.extend_from_slice(header.as_bytes());
}

/// Appends zeros from `len` bytes up to the next block.
fn pad(out: &mut Vec<u8>, len: usize) {
    out.resize(out.len() + len.next_multiple_of(BLOCK) - len, 0);
}

#[cfg(test)]
mod tests;
