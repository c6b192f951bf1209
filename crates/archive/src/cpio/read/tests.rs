//! Archives made byte by byte, and damaged ones.

use std::io::Cursor;

use proptest::prelude::*;

use super::*;

/// Makes a member of `newc`: inode, mode, links, name, content.
fn member(inode: u32, mode: u32, links: u32, name: &str, content: &[u8]) -> Vec<u8> {
    let numbers = [
        inode,
        mode,
        1,
        2,
        links,
        1000,
        content.len() as u32,
        3,
        4,
        5,
        6,
        name.len() as u32 + 1,
        0,
    ];
    let mut bytes = NEWC.to_vec();
    for number in numbers {
        bytes.extend(format!("{number:08x}").bytes());
    }
    for part in [&[name.as_bytes(), b"\0"].concat(), content] {
        bytes.extend_from_slice(part);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

fn sample() -> Vec<u8> {
    [
        member(1, 0o40755, 2, ".", b""),
        member(2, 0o100644, 2, "a", b""),
        member(3, 0o120777, 1, "s", b"target"),
        member(2, 0o100644, 2, "b", b"content"),
        member(4, 0o20600, 1, "null", b""),
        member(0, 0, 1, "TRAILER!!!", b""),
    ]
    .concat()
}

fn read(bytes: &[u8]) -> Result<Vec<Member>> {
    let mut reader = Reader::new(Cursor::new(bytes));
    let mut members = Vec::new();
    while let Some(member) = reader.next_member()? {
        members.push(member);
    }
    Ok(members)
}

#[test]
fn a_link_is_to_nothing_that_took_the_name_later() {
    let trailer = member(0, 0, 1, "TRAILER!!!", b"");
    let kinds = |members: &[Vec<u8>]| -> Vec<Kind> {
        let members = read(&[&members.concat()[..], &trailer].concat()).unwrap();
        members.into_iter().map(|member| member.kind).collect()
    };
    let file = |inode, links, name, content| member(inode, 0o100644, links, name, content);
    let taken = [
        file(5, 2, "a", b""),
        file(9, 1, "a", b"new"),
        file(5, 2, "b", b"old"),
    ];
    assert_eq!(kinds(&taken), [Kind::File, Kind::File, Kind::File]);
    let anew = ["a", "b", "a", "b"].map(|name| file(5, 2, name, b"x"));
    let link = Kind::HardLink(b"a".to_vec());
    assert_eq!(kinds(&anew), [Kind::File, link.clone(), Kind::File, link]);
}

#[test]
fn data_after_the_trailer_is_read_or_reported() {
    let len = read(&sample()).unwrap().len();
    let junk = b"0707junk".to_vec();
    for (behind, count, archives) in [
        (vec![], 0, 1),
        (vec![0; 5000], 0, 1),
        (junk.clone(), 1, 1),
        (sample(), 0, 2),
        ([sample(), vec![0; 8], sample()].concat(), 0, 3),
        ([sample(), junk].concat(), 1, 2),
    ] {
        let bytes = [sample(), vec![0; 512], behind].concat();
        let at = bytes.windows(8).position(|eight| eight == b"0707junk");
        let mut reader = Reader::new(Cursor::new(bytes));
        let mut members = 0;
        while reader.next_member().unwrap().is_some() {
            members += 1;
        }
        assert_eq!(members, len * archives);
        assert_eq!(reader.warnings().get(MORE).copied().unwrap_or(0), count);
        assert_eq!(reader.behind(), at.map(|at| at as u64));
    }
}

#[test]
fn inodes_of_a_further_archive_are_others() {
    let trailer = member(0, 0, 1, "TRAILER!!!", b"");
    let [a, b] = ["a", "b"].map(|name| member(5, 0o100644, 2, name, b"x"));
    let members = read(&[&a[..], &trailer, &b, &trailer].concat()).unwrap();
    let kinds: Vec<Kind> = members.into_iter().map(|member| member.kind).collect();
    assert_eq!(kinds, [Kind::File, Kind::File]);
}

#[test]
fn members_and_links() {
    let bytes = sample();
    let members = read(&bytes).unwrap();
    let kinds: Vec<_> = members.iter().map(|member| member.kind.clone()).collect();
    let rdev = Rdev { major: 5, minor: 6 };
    assert_eq!(
        kinds,
        [
            Kind::Directory,
            Kind::File,
            Kind::Symlink(b"target".to_vec()),
            Kind::HardLink(b"a".to_vec()),
            Kind::CharDevice(rdev),
        ]
    );
    let last = &members[3];
    let content = usize::try_from(last.content).unwrap();
    assert_eq!(&bytes[content..content + 7], b"content");
    assert_eq!((last.meta.uid, last.meta.gid, last.size), (1, 2, 7));
}

#[test]
fn an_end_before_the_trailer_is_an_error() {
    let bytes = sample();
    for len in [0, 5, 100, 117, bytes.len() - 20] {
        assert!(read(&bytes[..len]).is_err(), "{len}");
    }
}

#[test]
fn an_end_between_members_is_a_warning() {
    let bytes = sample();
    let trailer = member(0, 0, 1, "TRAILER!!!", b"").len();
    // what fills up the last content may be missing, too
    let short = member(1, 0o100644, 1, "f", b"hello");
    for bytes in [&bytes[..bytes.len() - trailer], &short[..short.len() - 3]] {
        let mut reader = Reader::new(Cursor::new(bytes));
        while reader.next_member().unwrap().is_some() {}
        assert_eq!(reader.warnings().get(NO_END), Some(&1));
    }
}

#[test]
fn content_of_types_without_any_is_passed_over_with_a_warning() {
    let file = member(9, 0o100644, 1, "kept", b"hello");
    let trailer = member(0, 0, 1, "TRAILER!!!", b"");
    for mode in [0o40755, 0o10644, 0o20644, 0o60644, 0o140644] {
        let with = member(1, mode, 1, "m", b"content");
        let members = read(&[&with[..], &file, &trailer].concat()).unwrap();
        assert_eq!((members.len(), members[0].size), (2, 7), "{mode:o}");
        // a size, and no content
        let mut without = member(1, mode, 1, "m", b"");
        without[54..62].copy_from_slice(b"00000010");
        let members = read(&[&without[..], &file, &trailer].concat()).unwrap();
        assert_eq!((members.len(), members[0].size), (2, 0), "{mode:o}");
        assert!(members[0].remark.is_some(), "{mode:o}");
        assert_eq!(members[1].size, 5, "{mode:o}");
    }
}

proptest! {
    #[test]
    fn damage_is_no_panic(place in any::<prop::sample::Index>(), byte: u8) {
        let mut bytes = sample();
        let at = place.index(bytes.len());
        bytes[at] = byte;
        for member in read(&bytes).into_iter().flatten() {
            prop_assert!(member.content <= bytes.len() as u64);
        }
    }
}
