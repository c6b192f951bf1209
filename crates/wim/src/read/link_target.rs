//! Targets of reparse points as targets of symlinks.
//!
//! In: the tag and the data of a reparse point. Out: a path with slashes.
//!
//! **Invariant:** the target is neither empty nor has a NUL. A path of Windows loses the prefix
//! `\??\` and its drive; other prefixes stay. Format: `docs/formats/wim.md`, "Links".

use sinterfs_model::{Error, Result};

use super::dentries::to_bytes;
use crate::layout::{reparse, short, word};

/// The most bytes of data of a reparse point.
pub(super) const MAX_DATA: u64 = 1 << 16;

/// Returns the target of a reparse point that is a symlink.
pub(super) fn target(tag: u32, data: &[u8]) -> Result<Vec<u8>> {
    let target = match tag {
        reparse::LX_SYMLINK => data.get(4..).map(<[u8]>::to_vec),
        reparse::SYMLINK => named(data, 12, word(data, 8) & 1 != 0),
        _ => named(data, 8, false),
    };
    match target {
        Some(target) if !target.is_empty() && !target.contains(&0) => Ok(target),
        Some(_) => Err(Error::corrupt("a link without a target")),
        None => Err(Error::corrupt("a target past the end of its reparse point")),
    }
}

/// Returns the substitute name after a header of `header` bytes.
fn named(data: &[u8], header: usize, is_relative: bool) -> Option<Vec<u8>> {
    let (at, len) = (usize::from(short(data, 0)), usize::from(short(data, 2)));
    let name = data.get(header..)?.get(at..)?.get(..len)?;
    let mut path = to_bytes(name);
    if !is_relative {
        path = without_drive(&path).to_vec();
    }
    for byte in &mut path {
        if *byte == b'\\' {
            *byte = b'/';
        }
    }
    Some(path)
}

/// Removes the prefix and the drive of an absolute path.
fn without_drive(path: &[u8]) -> &[u8] {
    let rest = path.strip_prefix(br"\??\").unwrap_or(path);
    match rest {
        [drive, b':', path @ ..] if drive.is_ascii_alphabetic() && !path.is_empty() => path,
        _ => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(name: &str, header: usize, flags: u32) -> Vec<u8> {
        let units: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut data = vec![0; 8];
        data[2..4].copy_from_slice(&(units.len() as u16).to_le_bytes());
        if header == 12 {
            data.extend(flags.to_le_bytes());
        }
        data.extend(units);
        data
    }

    #[test]
    fn targets_of_links() {
        let of = |tag, data: &[u8]| target(tag, data).map(|path| String::from_utf8(path).unwrap());
        let relative = data(r"..\a\b", 12, 1);
        assert_eq!(of(reparse::SYMLINK, &relative).unwrap(), "../a/b");
        let absolute = data(r"\??\C:\usr\bin", 12, 0);
        assert_eq!(of(reparse::SYMLINK, &absolute).unwrap(), "/usr/bin");
        let junction = data(r"\??\D:\x", 8, 0);
        assert_eq!(of(reparse::JUNCTION, &junction).unwrap(), "/x");
        assert_eq!(of(reparse::LX_SYMLINK, b"\x02\0\0\0a/b").unwrap(), "a/b");
        for bad in [&relative[..8], &[], &relative[..relative.len() - 1]] {
            assert!(of(reparse::SYMLINK, bad).is_err());
        }
        assert!(of(reparse::SYMLINK, &data("", 12, 1)).is_err());
    }
}
