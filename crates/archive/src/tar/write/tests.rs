//! What headers say: read back by field, and the edges of what fits.

use sinterfs_model::{Ino, Meta, Rdev, Times};
use zerocopy::FromBytes;

use super::super::layout;
use super::*;

fn inode(kind: FileType, size: u64) -> Inode {
    Inode {
        ino: Ino(7),
        kind,
        meta: Meta {
            mode: 0o4755,
            uid: 1000,
            gid: 100,
            times: Times::all(Time {
                secs: 1000,
                nanos: 0,
            }),
        },
        nlink: 1,
        size,
        allocated: size,
        rdev: Rdev { major: 8, minor: 1 },
    }
}

fn outgoing<'a>(path: &'a [u8], inode: &'a Inode) -> Outgoing<'a> {
    Outgoing {
        path,
        inode,
        link: LinkTarget::None,
        xattrs: &[],
        data: None,
    }
}

fn write(entry: &Outgoing<'_>) -> (Vec<u8>, Follows) {
    let mut out = Vec::new();
    let follows = header(&mut out, entry, &mut |what| panic!("{what}"));
    assert_eq!(out.len() % BLOCK, 0);
    (out, follows)
}

/// Splits off the records, and returns the header of the member.
fn parts(bytes: &[u8]) -> (String, UstarHeader) {
    let first = UstarHeader::read_from_bytes(&bytes[..BLOCK]).unwrap();
    let sum = layout::number(&first.checksum[..7]).unwrap();
    assert_eq!(u32::try_from(sum).unwrap(), checksum(&first));
    if first.typeflag != typeflag::PAX {
        return (String::new(), first);
    }
    let len = usize::try_from(layout::number(&first.size).unwrap()).unwrap();
    let records = String::from_utf8_lossy(&bytes[BLOCK..BLOCK + len]).into_owned();
    let (none, header) = parts(&bytes[BLOCK + len.next_multiple_of(BLOCK)..]);
    assert_eq!(none, "");
    (records, header)
}

#[test]
fn values_that_fit_need_no_record() {
    let inode = inode(FileType::File, 513);
    let (bytes, follows) = write(&outgoing(b"usr/bin/true", &inode));
    let (records, header) = parts(&bytes);
    assert_eq!(records, "");
    assert_eq!((follows.content, follows.padding), (513, 511));
    assert!(header.name.starts_with(b"usr/bin/true\0"));
    assert_eq!(&header.mode, b"0004755\0");
    assert_eq!(layout::number(&header.uid), Some(1000));
    assert_eq!(layout::number(&header.size), Some(513));
    assert_eq!(layout::number(&header.dev_major), Some(0));
    assert_eq!(header.typeflag, b'0');
}

#[test]
fn long_paths_are_split_at_a_slash() {
    let inode = inode(FileType::File, 0);
    for (dirs, name, fits) in [
        (155, 100, true),
        (156, 100, false),
        (155, 101, false),
        (1, 100, true),
    ] {
        let path = [vec![b'd'; dirs], vec![b'n'; name]].join(&b'/');
        let (records, header) = parts(&write(&outgoing(&path, &inode)).0);
        assert_eq!(records.is_empty(), fits, "{dirs} {name}");
        if fits {
            assert!(header.prefix.starts_with(&path[..dirs]));
            assert_eq!(&header.name[..], &path[dirs + 1..]);
        } else {
            assert!(records.contains(std::str::from_utf8(&path).unwrap()));
        }
    }
}

#[test]
fn the_slash_of_a_directory_is_no_place_to_split() {
    let inode = inode(FileType::Directory, 0);
    for len in [99, 100, 101] {
        let path = vec![b'd'; len];
        let (records, _) = parts(&write(&outgoing(&path, &inode)).0);
        assert_eq!(records.is_empty(), len < 100, "{len}");
    }
    let (_, header) = parts(&write(&outgoing(b"", &inode)).0);
    assert!(header.name.starts_with(b"./\0"));
}

#[test]
fn large_numbers_are_in_records() {
    let mut inode = inode(FileType::File, 8 << 30);
    inode.meta.uid = 2_097_152;
    inode.meta.times = Times::all(Time {
        secs: -2,
        nanos: 500_000_000,
    });
    let (records, header) = parts(&write(&outgoing(b"big", &inode)).0);
    assert_eq!(
        records,
        "19 size=8589934592\n15 uid=2097152\n14 mtime=-1.5\n"
    );
    assert_eq!(layout::number(&header.size), Some(0));
}

#[test]
fn times_as_decimals() {
    for (secs, nanos, text) in [
        (0, 1, "0.000000001"),
        (-1, 750_000_000, "-0.25"),
        (-100, 0, "-100"),
        (i64::MIN, 0, "-9223372036854775808"),
        (5, 999_999_999, "5.999999999"),
    ] {
        assert_eq!(decimal(Time { secs, nanos }), text);
    }
}

#[test]
fn holes_are_in_a_map_before_the_data() {
    let inode = inode(FileType::File, 100_000);
    let mut entry = outgoing(b"disk", &inode);
    let data = [0..3, 4096..4100];
    entry.data = Some(&data);
    let (bytes, follows) = write(&entry);
    assert_eq!((follows.content, follows.padding), (7, 505));
    let (records, header) = parts(&bytes);
    assert!(
        records.contains("GNU.sparse.realsize=100000\n"),
        "{records}"
    );
    assert!(records.contains("GNU.sparse.name=disk\n"));
    assert_eq!(layout::number(&header.size), Some(519));
    let map = &bytes[bytes.len() - BLOCK..];
    assert!(map.starts_with(b"3\n0\n3\n4096\n4\n100000\n0\n\0"));
}

#[test]
fn a_further_name_has_nothing_but_its_target() {
    let inode = inode(FileType::File, 100);
    let xattrs = [(b"user.x".to_vec(), b"1".to_vec())];
    let entry = Outgoing {
        link: LinkTarget::Hard(b"first"),
        xattrs: &xattrs,
        ..outgoing(b"second", &inode)
    };
    let (bytes, follows) = write(&entry);
    let (records, header) = parts(&bytes);
    assert_eq!((records.as_str(), follows.content), ("", 0));
    assert_eq!(header.typeflag, b'1');
    assert!(header.linkname.starts_with(b"first\0"));
    assert_eq!(layout::number(&header.size), Some(0));
}

#[test]
fn reports_sockets() {
    let inode = inode(FileType::Socket, 0);
    let (mut out, mut told) = (Vec::new(), 0);
    header(&mut out, &outgoing(b"socket", &inode), &mut |_| told += 1);
    assert_eq!((out.len(), told), (0, 1));
}

#[test]
fn archives_end_at_a_record() {
    assert_eq!(end(0), 10_240);
    assert_eq!(end(10_240 - 1024), 1024);
    assert_eq!(end(10_240 - 512), 512 + 10_240);
}
