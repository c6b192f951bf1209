//! Extended attributes and ACLs of AAIP.
//!
//! In: the AL entries of a record. Out: full names and values, as Linux has them.
//!
//! **Invariant:** names are unique, not empty and have no NUL; names of the writer's own use
//! (`isofs.`) are left out. AAIP 2.0.

use sinterfs_model::posix_acl::{self, AclEntry, NO_ID, has_id, tag};
use sinterfs_model::{Error, Result, Xattrs};

/// The namespaces that the first byte of a name encodes, by that byte.
const NAMESPACES: [(u8, &[u8]); 5] = [
    (2, b"system."),
    (3, b"user."),
    (4, b"isofs."),
    (5, b"trusted."),
    (6, b"security."),
];

/// The names under which Linux has ACLs.
const ACL_NAMES: [&[u8]; 2] = [posix_acl::ACCESS, posix_acl::DEFAULT];

/// Parts of names and values, joined.
#[derive(Debug, Default)]
pub(super) struct AttributeList {
    components: Vec<Vec<u8>>,
    /// The last component continues.
    is_open: bool,
    /// A record whose bytes continue in the next entry: how many, and whether it is the last one.
    pending: Option<(usize, bool)>,
}

impl AttributeList {
    /// Adds the data of an AL entry.
    pub(super) fn add(&mut self, data: &[u8]) {
        let mut rest = data.get(1..).unwrap_or_default();
        while !rest.is_empty() {
            let (len, is_open) = match self.pending.take() {
                Some(pending) => pending,
                None => {
                    let Some((&[flags, len], after)) = rest.split_first_chunk::<2>() else {
                        return;
                    };
                    rest = after;
                    if !self.is_open {
                        self.components.push(Vec::new());
                    }
                    (usize::from(len), flags & 1 != 0)
                }
            };
            let (part, after) = rest.split_at(len.min(rest.len()));
            if let Some(last) = self.components.last_mut() {
                last.extend(part);
            }
            self.is_open = is_open;
            if part.len() < len {
                self.pending = Some((len - part.len(), is_open));
            }
            rest = after;
        }
    }

    /// Returns the attributes, sorted by name. `mode` has the permissions of the file.
    pub(super) fn finish(self) -> Result<Xattrs> {
        let mut found = Xattrs::new();
        let mut components = self.components.into_iter();
        while let (Some(name), Some(value)) = (components.next(), components.next()) {
            if name.is_empty() {
                found.extend(acls(&value)?);
                continue;
            }
            if let Some(name) = full_name(name) {
                found.push((name, value));
            }
        }
        found.sort();
        // libisofs stores an ACL as such and, if all attributes are requested, also as one of these
        found.dedup_by(|next, one| one.0 == next.0 && ACL_NAMES.contains(&one.0.as_slice()));
        let names = found.iter().zip(found.iter().skip(1));
        if names.into_iter().any(|(one, next)| one.0 == next.0) {
            return Err(Error::corrupt("an extended attribute occurs twice"));
        }
        if found
            .iter()
            .any(|(name, _)| name.contains(&0) || name.len() > 255)
        {
            return Err(Error::corrupt("the name of an extended attribute"));
        }
        Ok(found)
    }
}

/// Returns the full name; `None` for attributes of the writer's own use.
fn full_name(name: Vec<u8>) -> Option<Vec<u8>> {
    let name = match name.split_first() {
        Some((1, rest)) => rest.to_vec(),
        Some((first, rest)) => {
            let namespace = NAMESPACES.iter().find(|(byte, _)| byte == first);
            match namespace {
                Some((_, namespace)) => [namespace, rest].concat(),
                None => name,
            }
        }
        None => name,
    };
    (!name.is_empty() && !name.starts_with(b"isofs.")).then_some(name)
}

/// Converts both ACLs to the values that Linux has for them.
fn acls(mut bytes: &[u8]) -> Result<Xattrs> {
    const SWITCH: u8 = 8;
    let mut found: [Vec<AclEntry>; 2] = [Vec::new(), Vec::new()];
    let mut is_default = false;
    while let Some((&first, rest)) = bytes.split_first() {
        bytes = rest;
        let mut qualifier = None;
        if first & 8 != 0 {
            let (number, rest) = number(bytes)?;
            (qualifier, bytes) = (number, rest);
        }
        let kind = first >> 4;
        if kind == SWITCH {
            is_default = true;
            continue;
        }
        let tag = match kind {
            1 => tag::OWNER,
            3 => tag::OWNING_GROUP,
            5 => tag::MASK,
            6 => tag::OTHERS,
            10 => tag::USER,
            12 => tag::GROUP,
            _ => continue,
        };
        let id = if has_id(tag) {
            qualifier.ok_or_else(|| Error::corrupt("an entry of an ACL without a number"))?
        } else {
            NO_ID
        };
        let [access, default] = &mut found;
        let list = if is_default { default } else { access };
        list.push(AclEntry {
            tag,
            id,
            permissions: u16::from(first & 7),
        });
    }
    let lists = found.into_iter().zip(ACL_NAMES);
    let lists = lists.filter(|(list, _)| !list.is_empty());
    Ok(lists
        .map(|(list, name)| (name.to_vec(), linux(list)))
        .collect())
}

/// Decodes a qualifier: a number of up to four bytes, `None` for another one.
fn number(bytes: &[u8]) -> Result<(Option<u32>, &[u8])> {
    let cut = || Error::corrupt("an ACL ends within a number");
    let (&len, rest) = bytes.split_first().ok_or_else(cut)?;
    let (digits, rest) = rest.split_at_checked((len & 0x7f).into()).ok_or_else(cut)?;
    if digits.len() > 4 || len > 0x7f {
        return Ok((None, rest));
    }
    let number = digits
        .iter()
        .fold(0, |sum, digit| sum << 8 | u32::from(*digit));
    Ok((Some(number), rest))
}

/// Encodes an ACL as Linux does, which wants entries sorted by tag and number.
fn linux(mut list: Vec<AclEntry>) -> Vec<u8> {
    list.sort_by_key(|entry| (entry.tag, entry.id));
    posix_acl::value(&list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_joined() {
        let mut list = AttributeList::default();
        let mut first = vec![1, 0, 4, b'n', b'a', b'm', b'e', 1, 255];
        first.extend([b'x'; 242]);
        list.add(&first);
        let mut second = vec![0];
        second.extend([b'y'; 13]);
        second.extend(b"\x00\x07content\x00\x04\x03one\x00\x04more");
        list.add(&second);
        let found = list.finish().unwrap();
        assert_eq!(found[1], (b"user.one".to_vec(), b"more".to_vec()));
        assert_eq!((&found[0].0[..], found[0].1.len()), (&b"name"[..], 262));
        assert!(found[0].1.ends_with(b"yyycontent"));
    }

    #[test]
    fn the_examples_of_acls() {
        let value = [0x16, 0xae, 1, 123, 0x34, 0xce, 2, 255, 254, 0x54, 0x64];
        let found = acls(&value).unwrap();
        let entries: Vec<_> = found[0].1[4..].chunks(8).map(|e| (e[0], e[2])).collect();
        assert_eq!(found[0].0, ACL_NAMES[0]);
        let expected = [(1, 6), (2, 6), (4, 4), (8, 6), (16, 4), (32, 4)];
        assert_eq!(entries, expected);
        assert_eq!(found[0].1[4 + 8 + 4], 123);
        let both = [
            0x17,
            0x35,
            0x65,
            0x81,
            0x17,
            0x35,
            0x57,
            0x65,
            0xa7 | 8,
            1,
            123,
        ];
        let found = acls(&both).unwrap();
        assert_eq!((found.len(), &found[1].0[..]), (2, ACL_NAMES[1]));
        assert!(acls(&[0xae]).is_err() && acls(&[0xae, 5, 1]).is_err());
    }
}
