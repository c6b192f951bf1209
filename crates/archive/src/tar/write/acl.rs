//! POSIX access control lists: from the attribute that Linux has to the text that tar has.
//!
//! Enters the value of `system.posix_acl_access` or `_default`: a version, then 8 bytes an entry.
//! Leaves `user::rwx,user:1000:r--,...` with numbers for names. Spec: acl(5); star(5),
//! `SCHILY.acl.access`; the value's layout: linux/posix_acl_xattr.h.

/// Formats an access control list as text; `None` if the attribute is not one.
pub(super) fn text(value: &[u8]) -> Option<String> {
    let (version, entries) = value.split_first_chunk::<4>()?;
    if u32::from_le_bytes(*version) != 2 || entries.is_empty() || entries.len() % 8 != 0 {
        return None;
    }
    let words: Option<Vec<String>> = entries.chunks_exact(8).map(entry).collect();
    Some(words?.join(","))
}

fn entry(bytes: &[u8]) -> Option<String> {
    let (tag, rest) = bytes.split_first_chunk::<2>()?;
    let (bits, id) = rest.split_first_chunk::<2>()?;
    let id = u32::from_le_bytes(*id.first_chunk()?);
    let bits = u16::from_le_bytes(*bits);
    if bits > 7 {
        return None;
    }
    let letter = |bit: u16, letter| if bits & bit != 0 { letter } else { '-' };
    let rights: String = [letter(4, 'r'), letter(2, 'w'), letter(1, 'x')]
        .iter()
        .collect();
    let who = match u16::from_le_bytes(*tag) {
        0x01 => "user:".to_owned(),
        0x02 => format!("user:{id}"),
        0x04 => "group:".to_owned(),
        0x08 => format!("group:{id}"),
        0x10 => "mask:".to_owned(),
        0x20 => "other:".to_owned(),
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
