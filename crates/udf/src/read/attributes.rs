//! Extended attributes of UDF: the number of a device, and what is only counted.
//!
//! In: the bytes of attributes. Out: `UdfAttributes`.
//!
//! **Invariant:** attributes past the end of their space are damage. ECMA-167, 4/14.10; UDF, 3.3.4.

use sinterfs_model::{Error, Rdev, Result, Time};

use crate::layout::{byte, le32, range, time};

/// The bytes before the first attribute.
const HEAD_LEN: usize = 24;

/// The bytes that each attribute begins with.
const ATTRIBUTE_LEN: usize = 12;

/// The types of attributes.
mod attribute_type {
    pub(super) const FILE_TIMES: u32 = 5;
    pub(super) const DEVICE: u32 = 12;
    pub(super) const IMPLEMENTATION: u32 = 2048;
    pub(super) const APPLICATION: u32 = 65_536;
}

/// Attributes that hold nothing that a user wrote.
const ROOM: [&[u8]; 4] = [
    b"*UDF FreeEASpace",
    b"*UDF FreeAppEASpace",
    b"*UDF DVD CGMS Info",
    b"*UDF OS/2 EALength",
];

/// The contents of the attributes of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct UdfAttributes {
    pub(crate) device: Option<Rdev>,
    pub(crate) birth: Option<Time>,
    /// Attributes that are not shown.
    pub(crate) others: u64,
}

/// Decodes attributes.
pub(crate) fn attributes(bytes: &[u8]) -> Result<UdfAttributes> {
    let mut found = UdfAttributes::default();
    let mut rest = bytes.get(HEAD_LEN..).unwrap_or_default();
    while rest.len() >= ATTRIBUTE_LEN {
        let (kind, len) = (le32(rest, 0), le32(rest, 8));
        // zeros up to the end of the space
        if kind == 0 && len == 0 {
            break;
        }
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let split = rest.split_at_checked(len).filter(|_| len >= ATTRIBUTE_LEN);
        let Some((attribute, later)) = split else {
            let what = format!("an extended attribute of {len} bytes, of {}", rest.len());
            return Err(Error::corrupt(what));
        };
        rest = later;
        let entity = match kind {
            attribute_type::IMPLEMENTATION | attribute_type::APPLICATION => {
                range(attribute, 17, 23)
            }
            _ => &[],
        };
        match kind {
            attribute_type::DEVICE => {
                found.device = Some(Rdev {
                    major: le32(attribute, 16),
                    minor: le32(attribute, 20),
                });
            }
            // of the times that may be there, the first one is the birth time
            attribute_type::FILE_TIMES if byte(attribute, 16) & 1 != 0 => {
                found.birth = time(attribute, 20);
            }
            _ if ROOM.iter().any(|name| entity.starts_with(name)) => {}
            _ => found.others += 1,
        }
    }
    Ok(found)
}
