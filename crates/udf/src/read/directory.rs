//! The names of a directory.
//!
//! In: the content of a directory. Out: `UdfListing`.
//!
//! **Invariant:** a name has 1 to 255 bytes without NUL and `/`, and is neither `.` nor `..`.
//! Damage is skipped up to the next intact entry. ECMA-167, 4/14.4; UDF, 2.3.4.

use crate::layout::{PartitionExtent, byte, has_right_crc, le16, name, range, tag, tag_of};

/// The bytes of an entry before its name.
const HEAD_LEN: usize = 38;

/// The longest name in bytes.
const NAME_MAX: usize = 255;

/// Bits of the characteristics of an entry.
mod characteristics {
    pub(super) const HIDDEN: u8 = 1;
    pub(super) const DIRECTORY: u8 = 2;
    pub(super) const DELETED: u8 = 4;
    pub(super) const PARENT: u8 = 8;
    pub(super) const METADATA: u8 = 16;
}

/// A name, and its file or directory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Identifier {
    pub(crate) name: Vec<u8>,
    pub(crate) icb: PartitionExtent,
    pub(crate) is_directory: bool,
    pub(crate) is_hidden: bool,
    /// Whether it is a stream of the file system, not of a user.
    pub(crate) is_metadata: bool,
}

/// The contents of a directory.
#[derive(Debug, Default)]
pub(crate) struct UdfListing {
    pub(crate) identifiers: Vec<Identifier>,
    /// Entries that are left out, and why.
    pub(crate) left_out: Vec<String>,
}

/// Decodes the entries of a directory.
pub(crate) fn listing(bytes: &[u8]) -> UdfListing {
    let mut found = UdfListing::default();
    let (mut at, mut damaged) = (0_usize, None);
    while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= HEAD_LEN) {
        let Some(len) = sound(rest) else {
            damaged.get_or_insert(at);
            at += 4;
            continue;
        };
        if let Some(from) = damaged.take() {
            found.left_out.push(damage(from, at));
        }
        found.add(range(rest, 0, len));
        at = at.saturating_add(len.next_multiple_of(4));
    }
    if let Some(from) = damaged {
        found.left_out.push(damage(from, bytes.len()));
    }
    found
}

fn damage(from: usize, to: usize) -> String {
    format!("bytes {from} to {to} of the directory, which are damaged")
}

/// Returns the length of the entry that bytes begin with, if it is sound.
fn sound(bytes: &[u8]) -> Option<usize> {
    if tag_of(bytes) != tag::FILE_IDENTIFIER {
        return None;
    }
    let len = HEAD_LEN + usize::from(byte(bytes, 19)) + usize::from(le16(bytes, 36));
    bytes.get(..len).filter(|entry| {
        // the checksum is of no more than the entry, which padding follows
        let covered = usize::from(le16(entry, 10)) + 16;
        covered > len.next_multiple_of(4) || has_right_crc(bytes)
    })?;
    Some(len)
}

impl UdfListing {
    fn add(&mut self, entry: &[u8]) {
        let bits = byte(entry, 18);
        let has = |bit: u8| bits & bit != 0;
        if has(characteristics::DELETED) || has(characteristics::PARENT) {
            return;
        }
        let skipped = usize::from(le16(entry, 36));
        let stored = range(entry, HEAD_LEN + skipped, byte(entry, 19).into());
        let Some(name) = name(stored) else {
            let kind = byte(stored, 0);
            let what = format!("a name of {} bytes in characters {kind}", stored.len());
            self.left_out.push(what);
            return;
        };
        let reason = match &name[..] {
            b"" => "an empty name",
            b"." | b".." => "a name that stands for a directory",
            name if name.contains(&b'/') || name.contains(&0) => "a name with a slash or NUL",
            name if name.len() > NAME_MAX => "a name of more than 255 bytes",
            _ => {
                self.identifiers.push(Identifier {
                    name,
                    icb: PartitionExtent::long(entry, 20),
                    is_directory: has(characteristics::DIRECTORY),
                    is_hidden: has(characteristics::HIDDEN),
                    is_metadata: has(characteristics::METADATA),
                });
                return;
            }
        };
        let shown = String::from_utf8_lossy(&name).into_owned();
        self.left_out.push(format!("{reason}: {shown:?}"));
    }
}
