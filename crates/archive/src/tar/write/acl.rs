//! POSIX access control lists: from the attribute that Linux has to the text that tar has.
//!
//! Enters the value of the attribute (see [`posix_acl`]); leaves `user::rwx,user:1000:r--,...` with
//! numbers for names. Spec: acl(5); star(5), `SCHILY.acl.access`.

use sinterfs_model::posix_acl::{self, AclEntry, PERMISSIONS, tag};

/// Formats an access control list as text; `None` if the attribute is not one.
pub(super) fn text(value: &[u8]) -> Option<String> {
    let entries = posix_acl::parse(value)?.into_iter();
    let words: Option<Vec<String>> = entries.map(text_of_entry).collect();
    Some(words?.join(","))
}

fn text_of_entry(entry: AclEntry) -> Option<String> {
    let (bits, id) = (entry.permissions, entry.id);
    if bits > PERMISSIONS {
        return None;
    }
    let letter = |bit: u16, letter| if bits & bit != 0 { letter } else { '-' };
    let rights: String = [letter(4, 'r'), letter(2, 'w'), letter(1, 'x')]
        .iter()
        .collect();
    let who = match entry.tag {
        tag::OWNER => "user:".to_owned(),
        tag::USER => format!("user:{id}"),
        tag::OWNING_GROUP => "group:".to_owned(),
        tag::GROUP => format!("group:{id}"),
        tag::MASK => "mask:".to_owned(),
        tag::OTHERS => "other:".to_owned(),
        _ => return None,
    };
    Some(format!("{who}:{rights}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
        let mut bytes = 2_u32.to_le_bytes().to_vec();
        for (tag, bits, id) in entries {
            bytes.extend(tag.to_le_bytes());
            bytes.extend(bits.to_le_bytes());
            bytes.extend(id.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn a_list_as_text() {
        let no = u32::MAX;
        let acl = list(&[
            (1, 6, no),
            (2, 7, 1234),
            (4, 4, no),
            (8, 5, 77),
            (0x10, 7, no),
            (0x20, 0, no),
        ]);
        let expected = "user::rw-,user:1234:rwx,group::r--,group:77:r-x,mask::rwx,other::---";
        assert_eq!(text(&acl).as_deref(), Some(expected));
    }

    #[test]
    fn no_list() {
        let no = u32::MAX;
        let mut old = list(&[(1, 6, no)]);
        old[0] = 1;
        let short = list(&[(1, 6, no)])[..11].to_vec();
        let strange = [list(&[(3, 6, no)]), list(&[(1, 8, no)]), list(&[])];
        for value in [vec![], old, short].into_iter().chain(strange) {
            assert_eq!(text(&value), None);
        }
    }
}
