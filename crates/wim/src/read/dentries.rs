//! Directory entries in the metadata of an image.
//!
//! In: a decoded metadata resource. Out: its security descriptors by number, and entries.
//!
//! **Invariant:** every field of an entry is within its length. Format: `docs/formats/wim.md`,
//! "Metadata".

use sinterfs_block::checksum::Sha1Digest;
use sinterfs_model::{Error, Result};

use crate::layout::{long, part, short, word};

/// The length of an entry in bytes, without names.
pub(super) const ENTRY_LEN: usize = 102;

/// The length of a stream's entry in bytes, without the name.
const STREAM_LEN: usize = 38;

/// A directory entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dentry<'a> {
    pub(super) attributes: u32,
    pub(super) has_security: bool,
    /// The position of the entries of a directory; 0 for none.
    pub(super) listing: u64,
    pub(super) created: u64,
    pub(super) accessed: u64,
    pub(super) modified: u64,
    pub(super) digest: Sha1Digest,
    /// The tag of a reparse point.
    pub(super) tag: u32,
    /// Names with one number other than 0 are hard links.
    pub(super) link_group: u64,
    pub(super) streams: u16,
    pub(super) has_short_name: bool,
    /// The name in UTF-16.
    pub(super) name: &'a [u8],
    /// Bytes after the names, from a multiple of 8 on.
    pub(super) items: &'a [u8],
    /// The position after the entry, of its streams or the next entry.
    pub(super) next: u64,
}

/// A stream of a directory entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct StreamEntry<'a> {
    pub(super) digest: Sha1Digest,
    /// The name in UTF-16; empty for content.
    pub(super) name: &'a [u8],
    pub(super) next: u64,
}

/// Returns the number of security descriptors and the position of the root's entry.
pub(super) fn security(metadata: &[u8]) -> Result<(u32, u64)> {
    if metadata.len() < 8 {
        return Err(Error::corrupt("metadata without security data"));
    }
    let (len, count) = (word(metadata, 0), word(metadata, 4));
    let sizes = metadata.get(8..).unwrap_or_default().as_chunks::<8>().0;
    let sizes = sizes.get(..count as usize);
    let sizes = sizes.ok_or_else(|| Error::corrupt(format!("{count} security descriptors")))?;
    let sum = sizes
        .iter()
        .try_fold(8 + 8 * u64::from(count), |sum, size| {
            sum.checked_add(u64::from_le_bytes(*size))
        });
    // some programs store 0 for none
    let len = u64::from(len.max(8)).next_multiple_of(8);
    if sum.is_none_or(|sum| sum > len) {
        return Err(Error::corrupt(format!("security data of {len} bytes")));
    }
    Ok((count, len))
}

/// Parses the entry at a position; `None` at the end of a directory.
pub(super) fn entry(metadata: &[u8], at: u64) -> Result<Option<Dentry<'_>>> {
    let rest = from(metadata, at)?;
    let len = long(rest, 0);
    if len <= 8 {
        return Ok(None);
    }
    let bytes = usize::try_from(len).ok().and_then(|len| rest.get(..len));
    let bytes = bytes.filter(|bytes| bytes.len() >= ENTRY_LEN);
    let bytes = bytes.ok_or_else(|| Error::corrupt(format!("an entry of {len} bytes")))?;
    let (short_len, name_len) = (
        usize::from(short(bytes, 98)),
        usize::from(short(bytes, 100)),
    );
    let with_end = |len: usize| if len == 0 { 0 } else { len + 2 };
    let name = bytes.get(ENTRY_LEN..ENTRY_LEN + name_len);
    let end = ENTRY_LEN + with_end(name_len) + with_end(short_len);
    // the NUL of the last name may be missing
    let (Some(name), true) = (name, end <= bytes.len() + 2 && name_len % 2 == 0) else {
        return Err(Error::corrupt("a name past the end of its entry"));
    };
    let attributes = word(bytes, 8);
    let is_reparse = attributes & crate::layout::attributes::REPARSE_POINT != 0;
    Ok(Some(Dentry {
        attributes,
        has_security: word(bytes, 12) != u32::MAX,
        listing: long(bytes, 16),
        created: long(bytes, 40),
        accessed: long(bytes, 48),
        modified: long(bytes, 56),
        digest: part(bytes, 64),
        tag: if is_reparse { word(bytes, 88) } else { 0 },
        link_group: if is_reparse { 0 } else { long(bytes, 88) },
        streams: short(bytes, 96),
        has_short_name: short_len > 0,
        name,
        items: bytes.get(end.next_multiple_of(8)..).unwrap_or_default(),
        next: after(at, len),
    }))
}

/// Parses the entry of a stream.
pub(super) fn stream(metadata: &[u8], at: u64) -> Result<StreamEntry<'_>> {
    let rest = from(metadata, at)?;
    let len = long(rest, 0);
    let bytes = usize::try_from(len).ok().and_then(|len| rest.get(..len));
    let bytes = bytes.filter(|bytes| bytes.len() >= STREAM_LEN);
    let bytes = bytes.ok_or_else(|| Error::corrupt(format!("a stream's entry of {len} bytes")))?;
    let name_len = usize::from(short(bytes, 36));
    let name = bytes.get(STREAM_LEN..STREAM_LEN + name_len);
    let name = name.filter(|_| name_len % 2 == 0);
    Ok(StreamEntry {
        digest: part(bytes, 16),
        name: name.ok_or_else(|| Error::corrupt("a stream's name past the end of its entry"))?,
        next: after(at, len),
    })
}

fn from(metadata: &[u8], at: u64) -> Result<&[u8]> {
    let rest = usize::try_from(at).ok().and_then(|at| metadata.get(at..));
    let rest = rest.filter(|rest| rest.len() >= 8);
    rest.ok_or_else(|| Error::corrupt(format!("an entry at {at:#x}, outside of the metadata")))
}

fn after(at: u64, len: u64) -> u64 {
    at.saturating_add(len)
        .checked_next_multiple_of(8)
        .unwrap_or(u64::MAX)
}

/// Converts UTF-16 to bytes: UTF-8, with half a pair of surrogates as three bytes, too.
pub(crate) fn to_bytes(name: &[u8]) -> Vec<u8> {
    let (units, _) = name.as_chunks::<2>();
    let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
    let mut bytes = Vec::with_capacity(name.len());
    for decoded in char::decode_utf16(units) {
        match decoded {
            Ok(character) => {
                let mut room = [0; 4];
                bytes.extend_from_slice(character.encode_utf8(&mut room).as_bytes());
            }
            Err(half) => {
                let [high, low] = half.unpaired_surrogate().to_be_bytes();
                bytes.push(0xe0 | (high >> 4));
                bytes.push(0x80 | ((high & 0xf) << 2) | (low >> 6));
                bytes.push(0x80 | (low & 0x3f));
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_utf_16() {
        let of = |units: &[u16]| {
            let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
            to_bytes(&bytes)
        };
        assert_eq!(of(&[0x61, 0xe9, 0xd83d, 0xde00]), "aé😀".as_bytes());
        assert_eq!(of(&[0xd83d, 0x61]), b"\xed\xa0\xbda");
    }
}
