//! Compares the local headers of a zip with its directory, and finds the content after them.
//!
//! In: entries. Out: the same with positions of content, and reasons to leave out those that
//! overlap others or have no header. Spec: APPNOTE 4.3.7 and 4.4.4 (bit 3). **Invariant:** the
//! bytes of two members don't overlap, so decoded content is bounded by what a file can hold.

use std::io::{Read, Seek};

use sinterfs_model::{Error, Result};

use super::entry::{Entries, Expected};
use super::fields::{LOCAL, ZipFields, fill_at};

/// The length of a header without name and fields.
const LEN: usize = 30;

/// The bit of flags that says that lengths and the checksum follow the content.
const FOLLOWED: u16 = 1 << 3;

/// Reads the local headers in the order of their positions; content ends before `directory`.
pub(super) fn compare(
    file: &mut (impl Read + Seek),
    found: &mut Entries,
    directory: u64,
) -> Result<()> {
    let mut order: Vec<usize> = (0..found.members.len()).collect();
    order.sort_by_key(|&index| found.expected.get(index).map(|expected| expected.at));
    let mut end = 0;
    for index in order {
        let member = found.members.get_mut(index);
        let Some((member, expected)) = member.zip(found.expected.get_mut(index)) else {
            continue;
        };
        if member.refused.is_some() {
            continue;
        }
        match local(file, expected, directory) {
            Ok(remark) => {
                if expected.at < end {
                    member.refused = Some("has bytes that another member has, too".into());
                    continue;
                }
                end = expected.content.saturating_add(expected.stored);
                member.member.remark = member.member.remark.take().or(remark.map(Into::into));
            }
            Err(Wrong::Member(why)) => member.refused = Some(why.into()),
            Err(Wrong::Read(error)) => return Err(error),
        }
    }
    Ok(())
}

/// What keeps a local header from being read.
enum Wrong {
    Member(&'static str),
    Read(Error),
}

/// Reads a local header; returns what it says otherwise.
fn local(
    file: &mut (impl Read + Seek),
    expected: &mut Expected,
    directory: u64,
) -> std::result::Result<Option<&'static str>, Wrong> {
    let name_at = expected.at.saturating_add(LEN as u64);
    if name_at > directory {
        return Err(Wrong::Member("begins outside of what holds members"));
    }
    let mut bytes = [0; LEN];
    fill_at(file, expected.at, &mut bytes).map_err(Wrong::Read)?;
    let header = LocalHeader::of(&bytes).ok_or(Wrong::Member("has no local header"))?;
    let name_len = u64::from(header.name);
    let content = name_at.saturating_add(name_len + u64::from(header.extra));
    if content.saturating_add(expected.stored) > directory {
        return Err(Wrong::Member("ends behind what holds members"));
    }
    expected.content = content;
    let mut name = vec![0; header.name.into()];
    fill_at(file, name_at, &mut name).map_err(Wrong::Read)?;
    Ok(header.difference(&name, expected))
}

/// What a local header says.
struct LocalHeader {
    flags: u16,
    method: u16,
    crc: u32,
    stored: u32,
    name: u16,
    extra: u16,
}

impl LocalHeader {
    fn of(bytes: &[u8]) -> Option<Self> {
        let mut fields = ZipFields(bytes.strip_prefix(&LOCAL)?);
        fields.take(2)?;
        let (flags, method) = (fields.u16()?, fields.u16()?);
        fields.take(4)?;
        let (crc, stored) = (fields.u32()?, fields.u32()?);
        fields.take(4)?;
        Some(Self {
            flags,
            method,
            crc,
            stored,
            name: fields.u16()?,
            extra: fields.u16()?,
        })
    }

    /// Returns what differs from the directory, which counts.
    fn difference(&self, name: &[u8], expected: &Expected) -> Option<&'static str> {
        if name != expected.name {
            return Some("its local header has another name");
        }
        if self.method != expected.method {
            return Some("its local header has another method");
        }
        // of what follows the content, a header has zeros or what was expected
        if self.flags & FOLLOWED != 0 {
            return None;
        }
        if self.crc != expected.crc {
            return Some("its local header has another checksum");
        }
        let is_long = self.stored == u32::MAX;
        if !is_long && u64::from(self.stored) != expected.stored {
            return Some("its local header has another length");
        }
        None
    }
}
