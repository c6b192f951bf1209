//! Extended attributes: in the inode, and in a separate block.
//!
//! In: an inode. Out: full names and values, sorted.
//!
//! **Invariant:** names and values are within the inode or block. Access lists are converted to the
//! form that Linux shows. Format: `docs/formats/ext.md`, "Extended attributes".

use sinterfs_model::posix_acl::{self, AclEntry, NO_ID, has_id};
use sinterfs_model::{Error, Result, Xattrs};

use super::open::Ext;
use crate::layout::{ExtInode, INODE_LEN, part};

/// The magic number before the entries.
const MAGIC: u32 = 0xea02_0000;

/// The attribute whose value is content, which Linux does not list.
const INLINE_DATA: &[u8] = b"system.data";

/// The bytes before the entries in a block.
const BLOCK_HEAD: usize = 32;

/// The bytes of an entry before its name.
const ENTRY_LEN: usize = 16;

/// The beginnings of names, by their number.
const PREFIXES: [&str; 9] = [
    "",
    "user.",
    "system.posix_acl_access",
    "system.posix_acl_default",
    "trusted.",
    "",
    "security.",
    "system.",
    "system.richacl",
];

impl Ext {
    /// Returns the extended attributes of an inode.
    pub(super) fn attributes(&self, number: u32, inode: &ExtInode) -> Result<Xattrs> {
        let mut found = self.stored_attributes(number, inode)?;
        // content that is in the inode
        found.retain(|(name, _)| name != INLINE_DATA);
        Ok(found)
    }

    /// Returns the value of the attribute with content that is in the inode, if it has one.
    pub(super) fn inline_attribute(
        &self,
        number: u32,
        inode: &ExtInode,
    ) -> Result<Option<Vec<u8>>> {
        let all = self.stored_attributes(number, inode)?.into_iter();
        let mut data = all.filter(|(name, _)| name == INLINE_DATA);
        Ok(data.next().map(|(_, value)| value))
    }

    fn stored_attributes(&self, number: u32, inode: &ExtInode) -> Result<Xattrs> {
        let mut found = Xattrs::new();
        let bytes = self.inode_bytes(number)?;
        let own = bytes.get(INODE_LEN + usize::from(inode.extra)..);
        if let Some((magic, entries)) = own.and_then(<[u8]>::split_first_chunk::<4>)
            && u32::from_le_bytes(*magic) == MAGIC
        {
            parse(entries, entries, &mut found)?;
        }
        if inode.attributes != 0 {
            let block = self.block(inode.attributes)?;
            if u32::from_le_bytes(part(&block, 0)) != MAGIC {
                return Err(Error::corrupt(
                    "a block of attributes with a wrong magic number",
                ));
            }
            let entries = block.get(BLOCK_HEAD..).unwrap_or_default();
            parse(entries, &block, &mut found)?;
        }
        found.sort();
        if found
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if a.0 == b.0))
        {
            return Err(Error::corrupt("an attribute that occurs twice"));
        }
        Ok(found)
    }
}

/// Appends the attributes of some entries; their values are at offsets of `values`.
fn parse(mut entries: &[u8], values: &[u8], found: &mut Xattrs) -> Result<()> {
    while part::<4>(entries, 0) != [0; 4] {
        let [name_len, index] = part(entries, 0);
        let at = usize::from(u16::from_le_bytes(part(entries, 2)));
        let len = u32::from_le_bytes(part(entries, 8)) as usize;
        if u32::from_le_bytes(part(entries, 4)) != 0 {
            return Err(Error::unsupported(
                "an attribute with its value in an inode",
            ));
        }
        let prefix = PREFIXES.get(usize::from(index)).copied();
        let prefix = prefix.ok_or_else(|| Error::corrupt(format!("attributes of kind {index}")))?;
        let end = ENTRY_LEN + usize::from(name_len);
        let name = entries.get(ENTRY_LEN..end);
        let value = values.get(at..).and_then(|value| value.get(..len));
        let (Some(name), Some(value)) = (name, value) else {
            return Err(Error::corrupt("an attribute past the end of its block"));
        };
        let value = match index {
            2 | 3 => access_list(value)?,
            _ => value.to_vec(),
        };
        found.push(([prefix.as_bytes(), name].concat(), value));
        entries = entries.get(end.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(())
}

/// Converts a stored access list to the form of `getxattr`, in which all entries have the same
/// length.
fn access_list(stored: &[u8]) -> Result<Vec<u8>> {
    let broken = || Error::corrupt("an invalid access list");
    let (version, mut rest) = stored.split_first_chunk::<4>().ok_or_else(broken)?;
    if u32::from_le_bytes(*version) != 1 {
        return Err(broken());
    }
    let mut entries = Vec::new();
    while let Some((entry, later)) = rest.split_first_chunk::<4>() {
        rest = later;
        let tag = u16::from_le_bytes(part(entry, 0));
        // users and groups by number
        let id = if has_id(tag) {
            let (id, later) = rest.split_first_chunk::<4>().ok_or_else(broken)?;
            rest = later;
            u32::from_le_bytes(*id)
        } else {
            NO_ID
        };
        entries.push(AclEntry {
            tag,
            id,
            permissions: u16::from_le_bytes(part(entry, 2)),
        });
    }
    if rest.is_empty() {
        Ok(posix_acl::value(&entries))
    } else {
        Err(broken())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::access_list;

    /// `user::rw-,user:1000:r--,group::r--,mask::r--,other::---`, as ext4 stores it.
    const STORED: &[u8] = b"\x01\0\0\0\
        \x01\0\x06\0\
        \x02\0\x04\0\xe8\x03\0\0\
        \x04\0\x04\0\
        \x10\0\x04\0\
        \x20\0\0\0";

    /// The same as getxattr(2) gives it.
    const SHOWN: &[u8] = b"\x02\0\0\0\
        \x01\0\x06\0\xff\xff\xff\xff\
        \x02\0\x04\0\xe8\x03\0\0\
        \x04\0\x04\0\xff\xff\xff\xff\
        \x10\0\x04\0\xff\xff\xff\xff\
        \x20\0\0\0\xff\xff\xff\xff";

    #[test]
    fn access_lists_are_shown_as_the_kernel_shows_them() {
        assert_eq!(access_list(STORED).unwrap(), SHOWN);
    }

    #[test]
    fn access_lists_that_are_none_are_refused() {
        let whole = [4, 8, 16, 20, 24];
        for len in 0..STORED.len() {
            let found = access_list(&STORED[..len]);
            assert_eq!(found.is_ok(), whole.contains(&len), "{len}");
        }
        let mut other = STORED.to_vec();
        other[0] = 2;
        assert!(access_list(&other).is_err());
    }
}
