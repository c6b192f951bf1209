//! POSIX access control lists as the attributes in which Linux shows them.
//!
//! In: the value of an attribute, or entries. Out: entries, or the value: a version of 4 bytes,
//! then tag, permissions and number of each entry, in 8 bytes, all little-endian.
//! **Invariant:** what [`parse`] returns has the same value again. Spec: acl(5);
//! linux/posix_acl_xattr.h.

/// The attribute that decides who may do what with a file.
pub const ACCESS: &[u8] = b"system.posix_acl_access";

/// The attribute that new files in a directory get as theirs.
pub const DEFAULT: &[u8] = b"system.posix_acl_default";

/// The most bits of permissions: to read, to write and to execute.
pub const PERMISSIONS: u16 = 7;

/// The number of an entry that is for no one user or group.
pub const NO_ID: u32 = u32::MAX;

/// The version of the value's layout.
const VERSION: u32 = 2;

/// Whom an entry is for.
pub mod tag {
    /// The owner of the file.
    pub const OWNER: u16 = 0x01;
    /// A user by number.
    pub const USER: u16 = 0x02;
    /// The group of the file.
    pub const OWNING_GROUP: u16 = 0x04;
    /// A group by number.
    pub const GROUP: u16 = 0x08;
    /// The bound of what users and groups may do.
    pub const MASK: u16 = 0x10;
    /// Everybody else.
    pub const OTHERS: u16 = 0x20;
}

/// An entry of a list. Entries are ordered as the kernel demands them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AclEntry {
    /// Whom it is for: see [`tag`].
    pub tag: u16,
    /// The number of a user or a group; [`NO_ID`] for other tags.
    pub id: u32,
    /// What is allowed: bits of [`PERMISSIONS`].
    pub permissions: u16,
}

/// Returns whether entries of a tag name a user or a group by number.
pub fn has_id(tag: u16) -> bool {
    matches!(tag, tag::USER | tag::GROUP)
}

/// Parses the value of an attribute; `None` for another version, for a list without entries, and if
/// the last entry is cut. Tags and permissions are not checked.
pub fn parse(value: &[u8]) -> Option<Vec<AclEntry>> {
    let (version, rest) = value.split_first_chunk::<4>()?;
    let (list, []) = rest.as_chunks::<8>() else {
        return None;
    };
    if u32::from_le_bytes(*version) != VERSION || list.is_empty() {
        return None;
    }
    let entry = |&[t0, t1, p0, p1, i0, i1, i2, i3]: &[u8; 8]| AclEntry {
        tag: u16::from_le_bytes([t0, t1]),
        permissions: u16::from_le_bytes([p0, p1]),
        id: u32::from_le_bytes([i0, i1, i2, i3]),
    };
    Some(list.iter().map(entry).collect())
}

/// Returns the value of the attribute with these entries.
pub fn value(entries: &[AclEntry]) -> Vec<u8> {
    let mut value = VERSION.to_le_bytes().to_vec();
    for entry in entries {
        value.extend(entry.tag.to_le_bytes());
        value.extend(entry.permissions.to_le_bytes());
        value.extend(entry.id.to_le_bytes());
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_comes_back() {
        let entry = |tag, permissions, id| AclEntry {
            tag,
            id,
            permissions,
        };
        let entries = [
            entry(tag::OWNER, 6, NO_ID),
            entry(tag::USER, 5, 502),
            entry(tag::OTHERS, 0, NO_ID),
        ];
        let bytes = value(&entries);
        let expected = [
            &[2, 0, 0, 0][..],
            &[1, 0, 6, 0, 255, 255, 255, 255],
            &[2, 0, 5, 0, 0xf6, 1, 0, 0],
            &[0x20, 0, 0, 0, 255, 255, 255, 255],
        ];
        assert_eq!(bytes, expected.concat());
        assert_eq!(parse(&bytes).as_deref(), Some(&entries[..]));
        for cut in [0, 3, 4, 11, bytes.len() - 1] {
            assert_eq!(parse(&bytes[..cut]), None);
        }
        assert_eq!(parse(&[&[1, 0, 0, 0], &bytes[4..]].concat()), None);
    }
}
