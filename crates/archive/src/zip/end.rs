//! Finds the end of a zip archive, and by it the directory.
//!
//! In: a file. Out: where the directory is, and what offsets count from. Spec: APPNOTE 4.3.14 to
//! 4.3.16. **Invariant:** at most the longest comment is searched; a directory is within the file
//! and begins with an entry, or is empty.

use std::io::{Read, Seek};

use sinterfs_model::{Error, Result};

use super::fields::{END, ZipFields, bad, fill_at};

/// The length of the end without its comment.
const END_LEN: usize = 22;

/// The longest comment.
const COMMENT_MAX: u64 = 0xffff;

/// The first bytes of what 64-bit archives have before the end.
const END64: [u8; 4] = *b"PK\x06\x06";
const LOCATOR: [u8; 4] = *b"PK\x06\x07";
const END64_LEN: usize = 56;
const LOCATOR_LEN: usize = 20;

/// The first bytes of an entry of the directory.
pub(super) const ENTRY: [u8; 4] = *b"PK\x01\x02";

/// Where the directory is.
#[derive(Debug)]
pub(super) struct DirectoryPlace {
    /// Its position in the file.
    pub(super) directory: u64,
    /// Its length.
    pub(super) len: u64,
    /// The number of its entries as the end has it, and of how many bits that is.
    pub(super) count: u64,
    pub(super) is_long: bool,
    /// The bytes before the archive that offsets don't count.
    pub(super) before: u64,
    /// The bytes after the archive.
    pub(super) behind: u64,
}

/// What an end says.
struct End {
    disks: [u32; 2],
    counts: [u64; 2],
    len: u64,
    offset: u64,
}

/// Returns whether a file that does not begin as an archive ends as one, as programs that unpack
/// themselves do.
pub fn has_end(file: &mut (impl Read + Seek), len: u64) -> bool {
    find(file, len).is_ok_and(|place| place.behind == 0)
}

/// Finds the directory of an archive of `len` bytes.
pub(super) fn find(file: &mut (impl Read + Seek), len: u64) -> Result<DirectoryPlace> {
    let tail_len = len.min(END_LEN as u64 + COMMENT_MAX);
    let from = len - tail_len;
    let mut tail = vec![0; usize::try_from(tail_len).unwrap_or_default()];
    fill_at(file, from, &mut tail)?;
    let Some((offset, comment)) = last_end(&tail) else {
        let what = "the archive has no end: it is cut off, or it is the first of several files";
        return Err(bad(len, what));
    };
    let at = from + offset as u64;
    let short = tail.get(offset..).and_then(end);
    let short = short.ok_or_else(|| bad(at, "the end of the archive is cut off"))?;
    let behind = len - (at + END_LEN as u64 + u64::from(comment)).min(len);
    let (end, at, is_long) = match long_end(file, at)? {
        Some((long, at)) => (long, at, true),
        None => (short, at, false),
    };
    if end.disks != [0, 0] || end.counts[0] != end.counts[1] {
        let what = "an archive of several files: join them by Info-ZIP first";
        return Err(Error::unsupported(what).at("zip", at));
    }
    let (directory, before) = place(file, &end, at)?;
    Ok(DirectoryPlace {
        directory,
        len: end.len,
        count: end.counts[1],
        is_long,
        before,
        behind,
    })
}

/// Finds the last end in the last bytes of a file, and the length of its comment; one whose comment
/// ends with the file comes before others.
fn last_end(tail: &[u8]) -> Option<(usize, u16)> {
    let mut other = None;
    for (offset, window) in tail.windows(END_LEN).enumerate().rev() {
        if !window.starts_with(&END) {
            continue;
        }
        let (_, comment) = window.split_last_chunk::<2>()?;
        let comment = u16::from_le_bytes(*comment);
        if offset + window.len() + usize::from(comment) == tail.len() {
            return Some((offset, comment));
        }
        other = other.or(Some((offset, comment)));
    }
    other.filter(|&(offset, comment)| offset + END_LEN + usize::from(comment) < tail.len())
}

fn end(bytes: &[u8]) -> Option<End> {
    let mut fields = ZipFields(bytes);
    fields.take(4)?;
    Some(End {
        disks: [fields.u16()?.into(), fields.u16()?.into()],
        counts: [fields.u16()?.into(), fields.u16()?.into()],
        len: fields.u32()?.into(),
        offset: fields.u32()?.into(),
    })
}

/// Reads the end of a 64-bit archive, whose locator is before the other end; returns its position,
/// too.
fn long_end(file: &mut (impl Read + Seek), at: u64) -> Result<Option<(End, u64)>> {
    let Some(locator_at) = at.checked_sub(LOCATOR_LEN as u64) else {
        return Ok(None);
    };
    let mut locator = [0; LOCATOR_LEN];
    fill_at(file, locator_at, &mut locator)?;
    if !locator.starts_with(&LOCATOR) {
        return Ok(None);
    }
    let mut fields = ZipFields(&locator);
    fields.take(8);
    let stated = fields.u64().unwrap_or_default();
    // bytes before the archive move it; it is then just before its locator
    for at in [Some(stated), locator_at.checked_sub(END64_LEN as u64)] {
        let Some(at) = at.filter(|at| at.saturating_add(END64_LEN as u64) <= locator_at) else {
            continue;
        };
        let mut bytes = [0; END64_LEN];
        fill_at(file, at, &mut bytes)?;
        if let Some(end) = end64(&bytes) {
            return Ok(Some((end, at)));
        }
    }
    Err(bad(
        locator_at,
        "the end of a 64-bit archive is not where its locator says",
    ))
}

fn end64(bytes: &[u8]) -> Option<End> {
    let mut fields = ZipFields(bytes.strip_prefix(&END64)?);
    fields.take(12)?;
    Some(End {
        disks: [fields.u32()?, fields.u32()?],
        counts: [fields.u64()?, fields.u64()?],
        len: fields.u64()?,
        offset: fields.u64()?,
    })
}

/// Returns the position of the directory, and what is before the archive.
fn place(file: &mut (impl Read + Seek), end: &End, at: u64) -> Result<(u64, u64)> {
    let outside = || bad(at, "the directory is outside of the file");
    let before_end = at.checked_sub(end.len).ok_or_else(outside)?;
    if end.len == 0 {
        return Ok((before_end, 0));
    }
    if let Some(before) = before_end.checked_sub(end.offset)
        && begins_entry(file, before_end)?
    {
        return Ok((before_end, before));
    }
    // something is between the directory and the end
    let is_within = end.offset.checked_add(end.len).is_some_and(|to| to <= at);
    if is_within && begins_entry(file, end.offset)? {
        return Ok((end.offset, 0));
    }
    Err(outside())
}

fn begins_entry(file: &mut (impl Read + Seek), at: u64) -> Result<bool> {
    let mut start = [0; 4];
    fill_at(file, at, &mut start)?;
    Ok(start == ENTRY)
}
