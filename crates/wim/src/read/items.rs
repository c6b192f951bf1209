//! Items after the names of a directory entry: wimlib's metadata of a Unix file, and more.
//!
//! In: the bytes between the names and the end of the entry. Out: owner, mode and device, and
//! extended attributes; whether there are others.
//!
//! **Invariant:** names and values lie within their item. Items with unknown tags are counted.

use sinterfs_model::{Error, Result, Xattrs};

use crate::layout::{items, short, word};

/// The longest name of an attribute in bytes.
const NAME_MAX: usize = 255;

/// The contents of the items of an entry.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Items<'a> {
    pub(super) unix: Option<UnixData>,
    /// The item with extended attributes.
    pub(super) xattrs: Option<XattrItem<'a>>,
    /// Whether there is an object ID of NTFS.
    pub(super) has_object_id: bool,
    /// The number of items with other tags.
    pub(super) unknown: u64,
}

/// Owner, mode and device number.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnixData {
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) mode: u32,
    pub(super) rdev: u32,
}

/// Extended attributes as they are stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct XattrItem<'a> {
    pub(super) bytes: &'a [u8],
    /// Whether they are in the form of wimlib 1.11.
    pub(super) is_old: bool,
}

/// Finds the items of an entry.
pub(super) fn parse(mut bytes: &[u8]) -> Result<Items<'_>> {
    let mut found = Items::default();
    while let Some((head, rest)) = bytes.split_first_chunk::<8>() {
        let (tag, len) = (word(head, 0), word(head, 4) as usize);
        let content = rest.get(..len).ok_or_else(|| {
            Error::corrupt(format!("an item of {len} bytes past the end of its entry"))
        })?;
        match tag {
            items::UNIX_DATA if len >= 16 => {
                found.unix = Some(UnixData {
                    uid: word(content, 0),
                    gid: word(content, 4),
                    mode: word(content, 8),
                    rdev: word(content, 12),
                });
            }
            items::XATTRS | items::OLD_XATTRS => {
                found.xattrs = Some(XattrItem {
                    bytes: content,
                    is_old: tag == items::OLD_XATTRS,
                });
            }
            items::OBJECT_ID => found.has_object_id = true,
            _ => found.unknown += 1,
        }
        bytes = rest.get(len.next_multiple_of(8)..).unwrap_or_default();
    }
    Ok(found)
}

/// Decodes extended attributes.
pub(super) fn xattrs(item: XattrItem<'_>) -> Result<Xattrs> {
    let mut found = Xattrs::new();
    let mut rest = item.bytes;
    while !rest.is_empty() {
        let (name, value, behind) = if item.is_old {
            old_pair(rest)
        } else {
            pair(rest)
        }
        .ok_or_else(|| Error::corrupt("an extended attribute past the end of its item"))?;
        if name.len() > NAME_MAX {
            let what = format!("an extended attribute with a name of {} bytes", name.len());
            return Err(Error::corrupt(what));
        }
        if name.is_empty() || name.contains(&0) {
            return Err(Error::corrupt("an extended attribute without a name"));
        }
        found.push((name.to_vec(), value.to_vec()));
        rest = behind;
    }
    Ok(found)
}

/// An attribute: the lengths of value and name, flags, the name with a NUL, the value.
fn pair(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<4>()?;
    let [_, _, name_len, _] = *head;
    let (name, rest) = rest.split_at_checked(usize::from(name_len))?;
    let (_, rest) = rest.split_first()?;
    let (value, rest) = rest.split_at_checked(usize::from(short(head, 0)))?;
    Some((name, value, rest))
}

/// An attribute of wimlib 1.11: the lengths of name and value, both, padding to 4 bytes.
fn old_pair(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<8>()?;
    let (name_len, value_len) = (word(head, 0) as usize, word(head, 4) as usize);
    let (name, rest) = rest.split_at_checked(name_len)?;
    let (value, rest) = rest.split_at_checked(value_len)?;
    let padding = (name_len + value_len).next_multiple_of(4) - name_len - value_len;
    Some((name, value, rest.get(padding..).unwrap_or_default()))
}
