//! Listings: the content of a directory.
//!
//! In: the bytes of a listing. Out: names and the numbers of their inodes, or what is wrong with an
//! entry.
//!
//! **Invariant:** no name is empty, too long, `.` or `..`, or has a `/`. They should ascend
//! bytewise, which is for others to see. Format: `docs/formats/cromfs.md`, "Listings".

use sinterfs_model::{Error, Result};

use crate::layout::part;

/// The bytes of an entry before its name.
const NUMBER_LEN: usize = 8;

/// The bytes of the pointer to an entry.
const POINTER_LEN: usize = 4;

/// The longest name in bytes.
const NAME_MAX: usize = 255;

/// A name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListedName<'a> {
    pub(super) name: &'a [u8],
    /// The number of the inode.
    pub(super) number: u64,
}

/// Passes all entries of a listing to a visitor.
pub(super) fn visit<'a>(
    listing: &'a [u8],
    mut visitor: impl FnMut(Result<ListedName<'a>>) -> Result<()>,
) -> Result<()> {
    let (count, pointers) = listing
        .split_first_chunk::<4>()
        .ok_or_else(|| Error::corrupt("a directory without a number of names"))?;
    let count = u32::from_le_bytes(*count) as usize;
    let pointers = count
        .checked_mul(POINTER_LEN)
        .and_then(|len| pointers.get(..len))
        .ok_or_else(|| Error::corrupt(format!("{count} names past the end of a directory")))?;
    let (pointers, _) = pointers.as_chunks::<POINTER_LEN>();
    let mut pointers = pointers.iter();
    pointers.try_for_each(|pointer| visitor(entry(listing, u32::from_le_bytes(*pointer))))
}

/// Decodes the entry at an offset of a listing.
fn entry(listing: &[u8], at: u32) -> Result<ListedName<'_>> {
    let entry = listing.get(at as usize..).unwrap_or_default();
    let (number, name) = entry
        .split_first_chunk::<NUMBER_LEN>()
        .ok_or_else(|| Error::corrupt(format!("an entry at {at:#x}, past the listing's end")))?;
    let end = name.iter().take(NAME_MAX + 1).position(|byte| *byte == 0);
    let name = end.and_then(|end| name.get(..end));
    let Some(name) = name else {
        return Err(Error::corrupt("a name without an end, or above 255 bytes"));
    };
    if matches!(name, b"" | b"." | b"..") || name.contains(&b'/') {
        let shown = String::from_utf8_lossy(name).into_owned();
        return Err(Error::corrupt(format!("the name {shown:?}")));
    }
    let number = u64::from_le_bytes(part(number, 0));
    Ok(ListedName { name, number })
}
