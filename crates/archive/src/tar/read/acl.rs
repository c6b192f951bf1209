//! Access control lists: the text that archives have, as the attribute that Linux has.
//!
//! Text: entries of tag, name and permissions between colons (POSIX.1e draft 17, 23.3), separated
//! by commas or line ends, followed by the number of the user or group if star or libarchive wrote
//! them. Attribute: see [`posix_acl`]. **Invariant:** entries are in the order that the kernel
//! demands.

use sinterfs_model::posix_acl::{self, AclEntry, NO_ID, has_id, tag};

/// More entries than any file system keeps.
const MAX_ENTRIES: usize = 8192;

/// The list in a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct List {
    /// The value of the attribute; `None` if permission bits say as much.
    pub(crate) value: Option<Vec<u8>>,
    /// The permission bits; the group bits are the mask, if there is one.
    pub(crate) mode: u16,
}

/// Parses the text of a list; `None` if it is none, or names a user or a group without a number.
pub(crate) fn parse(text: &[u8]) -> Option<List> {
    let entries = entries(text)?;
    let rights = |tag: u16| {
        let entry = entries.iter().find(|entry| entry.tag == tag);
        entry.map(|entry| entry.permissions)
    };
    let group = rights(tag::MASK).or(rights(tag::OWNING_GROUP))?;
    let mode = rights(tag::OWNER)? << 6 | group << 3 | rights(tag::OTHERS)?;
    let is_in_mode = |entry: &AclEntry| !has_id(entry.tag) && entry.tag != tag::MASK;
    let is_mode = entries.iter().all(is_in_mode);
    Some(List {
        value: (!is_mode).then(|| posix_acl::value(&entries)),
        mode,
    })
}

/// Parses the text of a default list, which is more than permission bits however short it is.
pub(crate) fn parse_default(text: &[u8]) -> Option<Vec<u8>> {
    entries(text).map(|entries| posix_acl::value(&entries))
}

/// Parses all entries, in the order of the attribute; `None` if there is one that can't be.
fn entries(text: &[u8]) -> Option<Vec<AclEntry>> {
    let mut entries = Vec::new();
    for line in text.split(|&byte| matches!(byte, b',' | b'\n' | 0)) {
        let words = line.split(|&byte| byte == b'#').next().unwrap_or(line);
        let words = words.trim_ascii();
        if words.is_empty() {
            continue;
        }
        entries.push(entry(words)?);
        if entries.len() > MAX_ENTRIES {
            return None;
        }
    }
    entries.sort_unstable();
    entries.dedup();
    Some(entries)
}

/// Parses one entry: its tag, number and permissions.
fn entry(words: &[u8]) -> Option<AclEntry> {
    let mut fields = words.split(|&byte| byte == b':').map(<[u8]>::trim_ascii);
    let kind = fields.next()?;
    let mut name = fields.next()?;
    let mut permissions = fields.next();
    if matches!(kind, b"mask" | b"m" | b"other" | b"o") && permissions.is_none() {
        // Solaris leaves the empty name out
        permissions = Some(std::mem::take(&mut name));
    }
    let permissions = rights(permissions?)?;
    let id = match (name, fields.next()) {
        (b"", _) => NO_ID,
        (_, Some(number)) if !number.is_empty() => decimal(number)?,
        (name, _) => decimal(name)?,
    };
    let tag = match (kind, id == NO_ID) {
        (b"user" | b"u", true) => tag::OWNER,
        (b"user" | b"u", false) => tag::USER,
        (b"group" | b"g", true) => tag::OWNING_GROUP,
        (b"group" | b"g", false) => tag::GROUP,
        (b"mask" | b"m", true) => tag::MASK,
        (b"other" | b"o", true) => tag::OTHERS,
        _ => return None,
    };
    Some(AclEntry {
        tag,
        id,
        permissions,
    })
}

fn rights(text: &[u8]) -> Option<u16> {
    text.iter().try_fold(0, |rights, letter| {
        Some(match letter {
            b'r' => rights | 4,
            b'w' => rights | 2,
            b'x' => rights | 1,
            b'-' => rights,
            _ => return None,
        })
    })
}

fn decimal(text: &[u8]) -> Option<u32> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_lists_match_setfacl() {
        let text = b"user::rw-,user:lisa:r-x:502,group::r--,group:7:-w-,mask::rwx,other::---";
        let list = parse(text).unwrap();
        let expected = [
            &[2, 0, 0, 0][..],
            &[1, 0, 6, 0, 255, 255, 255, 255],
            &[2, 0, 5, 0, 0xf6, 1, 0, 0],
            &[4, 0, 4, 0, 255, 255, 255, 255],
            &[8, 0, 2, 0, 7, 0, 0, 0],
            &[0x10, 0, 7, 0, 255, 255, 255, 255],
            &[0x20, 0, 0, 0, 255, 255, 255, 255],
        ];
        assert_eq!((list.value, list.mode), (Some(expected.concat()), 0o670));
        let lines = b"user::rw-\nuser:502:r-x\ngroup::r--\ngroup:7:-w-\nmask::rwx\nother::---\n";
        assert_eq!(parse(lines).unwrap().value, Some(expected.concat()));
    }

    #[test]
    fn reports_access_lists_without_numbers() {
        let short = b"user::rw-,group::r--,other::r--";
        let list = parse(short).unwrap();
        assert_eq!((list.value, list.mode), (None, 0o644));
        assert_eq!(parse_default(short).unwrap().len(), 4 + 3 * 8);
        for bad in [
            "user::rw-,group::r--,other::r--,user:lisa:rwx",
            "everyone@:rwx",
            "user::rwz",
            "",
        ] {
            assert_eq!(parse(bad.as_bytes()), None, "{bad}");
        }
    }
}
