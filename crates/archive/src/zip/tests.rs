//! Archives that are built here, and damaged.

#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::io::Cursor;

use super::*;
use crate::member::Kind;
use crate::packed::DecodeStep;

/// An archive of stored members: name, content, attributes of Unix.
fn archive(members: &[(&[u8], &[u8], u32)], comment: &[u8]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content, mode) in members {
        let at = bytes.len() as u32;
        let crc = crate::crc32::Crc32::of(content);
        let mut common = Vec::new();
        for number in [20_u16, 1 << 11, 0, 0, 1 << 5 | 1] {
            common.extend(number.to_le_bytes());
        }
        for number in [crc, content.len() as u32, content.len() as u32] {
            common.extend(number.to_le_bytes());
        }
        common.extend((name.len() as u16).to_le_bytes());
        common.extend(0_u16.to_le_bytes());
        bytes.extend(LOCAL);
        bytes.extend(&common);
        bytes.extend(*name);
        bytes.extend(*content);
        directory.extend(b"PK\x01\x02\x1e\x03");
        directory.extend(&common);
        directory.extend([0; 6]);
        directory.extend((mode << 16).to_le_bytes());
        directory.extend(at.to_le_bytes());
        directory.extend(*name);
    }
    let at = bytes.len() as u32;
    bytes.extend(&directory);
    bytes.extend(END);
    bytes.extend([0; 4]);
    for _ in 0..2 {
        bytes.extend((members.len() as u16).to_le_bytes());
    }
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(at.to_le_bytes());
    bytes.extend((comment.len() as u16).to_le_bytes());
    bytes.extend(comment);
    bytes
}

fn read_bytes(bytes: &[u8]) -> Result<Directory> {
    read(&mut Cursor::new(bytes), bytes.len() as u64)
}

const MEMBERS: [(&[u8], &[u8], u32); 4] = [
    (b"a/", b"", 0o040_750),
    (b"a/b", b"content", 0o100_640),
    (b"a/l", b"b", 0o120_777),
    (b"f", b"", 0o010_600),
];

#[test]
fn members_are_what_was_written() {
    for comment in [
        &b""[..],
        b"a comment with PK\x05\x06 in it, which is no end",
    ] {
        let found = read_bytes(&archive(&MEMBERS, comment)).unwrap();
        assert!(found.warnings.is_empty(), "{:?}", found.warnings);
        let kinds: Vec<_> = found.members.iter().map(|m| &m.member.kind).collect();
        let target = Kind::Symlink(Vec::new());
        assert_eq!(kinds, [&Kind::Directory, &Kind::File, &target, &Kind::Fifo]);
        let file = &found.members[1];
        assert_eq!(
            (&*file.member.path, file.member.meta.mode),
            (&b"a/b"[..], 0o640)
        );
        let unit = &found.units[file.part.unwrap().unit as usize];
        assert!(
            matches!(unit.step, DecodeStep::Stored { len: 7, .. }),
            "{unit:?}"
        );
    }
}

#[test]
fn a_program_may_be_before_an_archive_and_bytes_behind_it() {
    let bytes = archive(&MEMBERS, b"");
    let whole = [&b"MZ a program"[..], &bytes].concat();
    assert!(has_end(&mut Cursor::new(&whole), whole.len() as u64));
    let found = read_bytes(&whole).unwrap();
    assert_eq!(found.members[1].member.at, 12 + 32);
    assert!(found.members.iter().all(|member| member.refused.is_none()));
    let more = [&bytes[..], b"more"].concat();
    let found = read_bytes(&more).unwrap();
    assert_eq!(found.warnings.len(), 1);
}

#[test]
fn members_that_overlap_or_differ_are_named() {
    let mut bytes = archive(&MEMBERS, b"");
    // the third entry begins where the second does
    let entries: Vec<_> = (0..bytes.len())
        .filter(|&at| bytes[at..].starts_with(b"PK\x01\x02"))
        .collect();
    let second: Vec<u8> = bytes[entries[1] + 42..entries[1] + 46].to_vec();
    bytes[entries[2] + 42..entries[2] + 46].copy_from_slice(&second);
    let found = read_bytes(&bytes).unwrap();
    assert_eq!(
        found.members[2].refused.as_deref(),
        Some("has bytes that another member has, too")
    );
    let mut bytes = archive(&MEMBERS, b"");
    bytes[32 + 30] = b'z';
    let found = read_bytes(&bytes).unwrap();
    assert_eq!(
        found.members[1].member.remark.as_deref(),
        Some("its local header has another name")
    );
    let mut bytes = archive(&MEMBERS, b"");
    bytes[entries[1] + 8] |= 1;
    let found = read_bytes(&bytes).unwrap();
    assert_eq!(found.members[1].refused.as_deref(), Some("is encrypted"));
}

#[test]
fn no_damage_is_a_panic_and_no_cut_is_read() {
    let bytes = archive(&MEMBERS, b"");
    for len in 0..bytes.len() {
        assert!(read_bytes(&bytes[..len]).is_err(), "{len}");
    }
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            if let Ok(found) = read_bytes(&changed) {
                for unit in &found.units {
                    if let DecodeStep::Stored { at, len } = unit.step {
                        assert!(at + len <= bytes.len() as u64);
                    }
                }
            }
        }
    }
}
