//! Tars made byte by byte, and damaged ones.

use std::io::Cursor;

use proptest::prelude::*;
use sinterfs_model::{Meta, Rdev, Result, Time, Times};

use super::super::layout::{GNU, USTAR, checksum, set_octal};
use super::*;
use crate::member::{DataRun, Kind};

/// Makes a header with a right checksum.
fn header(name: &str, flag: u8, size: u64, change: impl FnOnce(&mut UstarHeader)) -> Vec<u8> {
    let mut header = UstarHeader::read_from_bytes(&[0; BLOCK]).unwrap();
    header.name[..name.len()].copy_from_slice(name.as_bytes());
    header.typeflag = flag;
    header.magic = USTAR;
    set_octal(&mut header.mode, 0o640);
    set_octal(&mut header.uid, 7);
    set_octal(&mut header.gid, 8);
    set_octal(&mut header.size, size);
    set_octal(&mut header.mtime, 1000);
    change(&mut header);
    let sum = checksum(&header);
    set_octal(&mut header.checksum[..7], sum.into());
    header.as_bytes().to_vec()
}

fn plain(name: &str, flag: u8, size: u64) -> Vec<u8> {
    header(name, flag, size, |_| ())
}

/// Fills a block up.
fn padded(content: &[u8]) -> Vec<u8> {
    let mut content = content.to_vec();
    content.resize(content.len().next_multiple_of(BLOCK), 0);
    content
}

/// Makes a record, with its own length before it.
fn record(key: &str, value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut len = rest + 1;
    while len != rest + len.to_string().len() {
        len = rest + len.to_string().len();
    }
    [format!("{len} {key}=").as_bytes(), value, b"\n"].concat()
}

/// Makes an extended header.
fn records(flag: u8, all: &[(&str, &[u8])]) -> Vec<u8> {
    let content: Vec<u8> = all
        .iter()
        .flat_map(|(key, value)| record(key, value))
        .collect();
    [plain("pax", flag, content.len() as u64), padded(&content)].concat()
}

fn read(tar: &[u8]) -> Result<Vec<Member>> {
    let mut reader = Reader::new(Cursor::new(tar));
    let mut members = Vec::new();
    while let Some(member) = reader.next_member()? {
        members.push(member);
    }
    Ok(members)
}

fn one(parts: &[&[u8]]) -> Member {
    let mut members = read(&parts.concat()).unwrap();
    assert_eq!(members.len(), 1, "{members:?}");
    members.remove(0)
}

fn fails(parts: &[&[u8]]) -> String {
    read(&parts.concat()).unwrap_err().to_string()
}

#[test]
fn a_header_of_ustar() {
    let long = header("b", typeflag::FILE, 3, |header| {
        header.prefix[..3].copy_from_slice(b"d/e");
    });
    let member = one(&[&long, &padded(b"abc"), &[0; 1024]]);
    let time = Time {
        secs: 1000,
        nanos: 0,
    };
    let meta = Meta {
        mode: 0o640,
        uid: 7,
        gid: 8,
        times: Times::all(time),
    };
    assert_eq!((&member.path[..], member.meta), (&b"d/e/b"[..], meta));
    assert_eq!((member.size, member.content, member.map), (3, 512, None));
    // a v7 header has no prefix, and directories are names with a slash
    let old = header("d/", typeflag::OLD_FILE, 0, |header| {
        header.magic = [0; 8];
        header.prefix[..3].copy_from_slice(b"x/y");
    });
    let member = one(&[&old]);
    assert_eq!(
        (&member.path[..], member.kind),
        (&b"d/"[..], Kind::Directory)
    );
    let device = header("tty", typeflag::CHAR_DEVICE, 0, |header| {
        set_octal(&mut header.dev_major, 5);
        set_octal(&mut header.dev_minor, 1);
    });
    let rdev = Rdev { major: 5, minor: 1 };
    assert_eq!(one(&[&device]).kind, Kind::CharDevice(rdev));
}

#[test]
fn names_and_targets_of_gnu_and_pax() {
    let name = "n".repeat(300);
    let long = plain("././@LongLink", typeflag::GNU_LONG_NAME, 301);
    let target = plain("././@LongLink", typeflag::GNU_LONG_LINK, 3);
    let link = header("short", typeflag::SYMLINK, 0, |header| header.magic = GNU);
    let content = [name.as_bytes(), b"\0"].concat();
    let member = one(&[&long, &padded(&content), &target, &padded(b"to\0"), &link]);
    assert_eq!(member.path, name.as_bytes());
    assert_eq!(member.kind, Kind::Symlink(b"to".to_vec()));
    let pax = records(
        b'x',
        &[("path", b"p\xff"), ("linkpath", b"l"), ("comment", b"c")],
    );
    let member = one(&[&pax, &link]);
    assert_eq!(
        (&member.path[..], member.kind),
        (&b"p\xff"[..], Kind::Symlink(b"l".to_vec()))
    );
}

#[test]
fn records_of_one_and_of_all() {
    let all = records(b'g', &[("uid", b"3000000000"), ("mtime", b"5.25")]);
    let own = records(
        b'x',
        &[
            ("mtime", b""),
            ("atime", b"-1.5"),
            ("SCHILY.xattr.user.a%3D", b"v\0"),
        ],
    );
    let file = plain("f", typeflag::FILE, 0);
    let members = read(&[all, own, file.clone(), file].concat()).unwrap();
    let at = |secs, nanos| Time { secs, nanos };
    assert_eq!(members[0].meta.uid, 3_000_000_000);
    assert_eq!(members[0].meta.times.modified, at(1000, 0));
    assert_eq!(members[0].meta.times.accessed, at(-2, 500_000_000));
    assert_eq!(members[0].xattrs, [(b"user.a=".to_vec(), b"v\0".to_vec())]);
    assert_eq!(members[1].meta.times.modified, at(5, 250_000_000));
    assert!(members[1].xattrs.is_empty());
}

/// The same file in every form: 1000 bytes, data at 0..2 and 600..605.
fn holes() -> Vec<(&'static str, Vec<u8>)> {
    let data = padded(b"abcdefg");
    let file = |size| plain("made/up", typeflag::FILE, size);
    let size: (&str, &[u8]) = ("GNU.sparse.size", b"1000");
    let form = |all: &[(&str, &[u8])]| [records(b'x', all), file(7), data.clone()].concat();
    let old = header("f", typeflag::GNU_SPARSE, 7, |header| {
        header.magic = GNU;
        for (place, value) in [
            (41, 0),
            (53, 2),
            (65, 600),
            (77, 5),
            (89, 1000),
            (101, 0),
            (138, 1000),
        ] {
            set_octal(&mut header.prefix[place..place + 12], value);
        }
    });
    let extended = header("f", typeflag::GNU_SPARSE, 7, |header| {
        header.magic = GNU;
        header.prefix[137] = 1;
        set_octal(&mut header.prefix[138..150], 1000);
    });
    let mut further = [0; BLOCK];
    for (place, value) in [(0, 0), (12, 2), (24, 600), (36, 5)] {
        set_octal(&mut further[place..place + 12], value);
    }
    let map = padded(b"2\n0\n2\n600\n5\n");
    let one_zero = records(
        b'x',
        &[
            ("GNU.sparse.major", b"1"),
            ("GNU.sparse.minor", b"0"),
            ("GNU.sparse.name", b"f"),
            ("GNU.sparse.realsize", b"1000"),
        ],
    );
    vec![
        (
            "0.0",
            form(&[
                size,
                ("GNU.sparse.numblocks", b"2"),
                ("GNU.sparse.offset", b"0"),
                ("GNU.sparse.numbytes", b"2"),
                ("GNU.sparse.offset", b"600"),
                ("GNU.sparse.numbytes", b"5"),
                ("path", b"f"),
            ]),
        ),
        (
            "0.1",
            form(&[
                size,
                ("GNU.sparse.numblocks", b"2"),
                ("GNU.sparse.map", b"0,2,600,5"),
                ("GNU.sparse.name", b"f"),
            ]),
        ),
        ("1.0", [one_zero, file(519), map, data.clone()].concat()),
        ("old", [old, data.clone()].concat()),
        (
            "old, extended",
            [extended, further.to_vec(), data.clone()].concat(),
        ),
    ]
}

#[test]
fn holes_in_all_forms_are_one() {
    let runs = [
        DataRun { offset: 0, len: 2 },
        DataRun {
            offset: 600,
            len: 5,
        },
    ];
    for (form, tar) in holes() {
        let next = plain("next", typeflag::FILE, 0);
        let members = read(&[&tar[..], &next].concat()).unwrap();
        let member = &members[0];
        assert_eq!(member.map.as_deref(), Some(&runs[..]), "{form}");
        assert_eq!((&member.path[..], member.size), (&b"f"[..], 1000), "{form}");
        let content = usize::try_from(member.content).unwrap();
        assert_eq!(&tar[content..content + 7], b"abcdefg", "{form}");
        assert_eq!(members[1].path, b"next", "{form}");
    }
}

#[test]
fn maps_that_contradict_themselves_are_refused() {
    let file = [plain("f", typeflag::FILE, 7), padded(b"abcdefg")].concat();
    let with = |map: &[u8], size: &[u8]| {
        let all = records(b'x', &[("GNU.sparse.size", size), ("GNU.sparse.map", map)]);
        fails(&[&all, &file])
    };
    assert!(with(b"600,5,0,2", b"1000").contains("order"));
    assert!(with(b"0,2,600,5", b"604").contains("beyond"));
    assert!(with(b"0,2,600,4", b"1000").contains("7 are stored"));
    assert!(with(b"0,2,600", b"1000").contains("without a length"));
    assert!(with(b"18446744073709551615,7", b"1000").contains("beyond"));
}

#[test]
fn a_hard_link_has_content_only_where_it_was_allowed() {
    let link = header("b", typeflag::LINK, 3, |header| header.linkname[0] = b'a');
    let next = plain("c", typeflag::FILE, 0);
    // old writers recorded the size of the file, and stored nothing
    let members = read(&[&link[..], &next].concat()).unwrap();
    assert_eq!((members.len(), members[0].size), (2, 0));
    assert_eq!(members[0].kind, Kind::HardLink(b"a".to_vec()));
    let members = read(&[&link[..], &padded(b"abc"), &next].concat()).unwrap();
    assert_eq!(
        (members.len(), members[0].size, members[0].content),
        (2, 3, 512)
    );
    let pax = records(b'x', &[("uid", b"1")]);
    let members = read(&[&pax[..], &link, &padded(b"abc"), &next].concat()).unwrap();
    assert_eq!((members.len(), members[0].size), (2, 3));
    // a record alone does not mean that there is content
    let members = read(&[&pax[..], &link, &next].concat()).unwrap();
    assert_eq!((members.len(), members[0].size), (2, 0));
}

#[test]
fn errors_of_short_or_damaged_archives_have_a_place() {
    let file = [plain("f", typeflag::FILE, 600), vec![1; 1024]].concat();
    assert!(read(&file).is_ok());
    for len in [1, 511, 513, 1111] {
        let told = fails(&[&file[..len]]);
        assert!(told.contains("ends before"), "{len}: {told}");
    }
    let mut broken = [&file[..], &file].concat();
    broken[1536] ^= 1;
    assert!(fails(&[&broken]).contains("tar header at 0x600: the checksum"));
    let endless = header("f", typeflag::FILE, 0, |header| {
        header.size = *b"\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
    });
    assert!(fails(&[&endless]).contains("not a number"));
    let long = plain("f", typeflag::GNU_LONG_NAME, 1 << 30);
    assert!(fails(&[&long]).contains("1073741824 bytes"));
    assert!(fails(&[&records(b'x', &[("uid", b"1")])]).contains("ends before"));
}

#[test]
fn only_the_padding_of_the_last_member_may_be_missing() {
    let file = [plain("f", typeflag::FILE, 600), vec![1; 1024]].concat();
    for len in [1112, 1535, 1536] {
        let mut reader = Reader::new(Cursor::new(&file[..len]));
        let size = reader.next_member().unwrap().map(|member| member.size);
        assert_eq!(size, Some(600));
        assert!(reader.next_member().unwrap().is_none() && reader.next_member().unwrap().is_none());
        assert_eq!(reader.warnings().get(NO_END), Some(&1), "{len}");
    }
}

/// Reads all members and returns the warnings.
fn warnings(parts: &[&[u8]]) -> Vec<(&'static str, u64)> {
    let mut reader = Reader::new(Cursor::new(parts.concat()));
    while reader.next_member().unwrap().is_some() {}
    reader.warnings().clone().into_iter().collect()
}

#[test]
fn a_missing_end_or_data_after_it_is_a_warning() {
    let member = plain("a", typeflag::FILE, 0);
    let zeros = [0; BLOCK];
    assert_eq!(warnings(&[&member, &zeros, &zeros]), []);
    assert_eq!(warnings(&[&member, &[0; 20 * BLOCK]]), []);
    assert_eq!(warnings(&[&member]), [(NO_END, 1)]);
    for between in [1, 2, 18] {
        let zeros = zeros.repeat(between);
        let found = warnings(&[&member, &zeros, &member]);
        assert_eq!(found, [(MORE, 1)], "{between}");
    }
}

#[test]
fn content_of_volumes_that_is_passed_over_is_a_warning() {
    let member = plain("a", typeflag::FILE, 0);
    let volume = |size| plain("label", typeflag::GNU_VOLUME, size);
    let rest = plain("b", typeflag::GNU_CONTINUED, 3);
    let (content, zeros) = (padded(b"abc"), [0; 1024]);
    assert_eq!(warnings(&[&volume(0), &member, &zeros]), []);
    for before in [volume(3), rest] {
        let found = warnings(&[&before, &content, &member, &zeros]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].0.contains("skipped"), "{found:?}");
    }
}

/// Returns path and size of each member.
fn sizes(parts: &[&[u8]]) -> Vec<(String, u64)> {
    let members = read(&parts.concat()).unwrap().into_iter();
    let name = |path: Vec<u8>| String::from_utf8(path).unwrap();
    members
        .map(|found| (name(found.path), found.size))
        .collect()
}

fn expected(all: &[(&str, u64)]) -> Vec<(String, u64)> {
    let all = all.iter();
    all.map(|&(name, size)| (name.to_owned(), size)).collect()
}

#[test]
fn a_size_is_no_content_where_the_type_has_none() {
    let lost = [plain("lost", typeflag::FILE, 5), padded(b"hello")].concat();
    let kept = plain("kept", typeflag::FILE, 0);
    let end = [0; 1024];
    let records_of_size = records(b'x', &[("size", b"1024"), ("mtime", b"1")]);
    let sparse: [(&str, &[u8]); 2] = [("GNU.sparse.map", b"0,9"), ("GNU.sparse.size", b"9")];
    let sparse = records(b'x', &sparse);
    for flag in *b"123456" {
        for size in [1, 512, 1024, 4096, 1 << 40] {
            let member = plain("m", flag, size);
            let all = expected(&[("m", 0), ("lost", 5), ("kept", 0)]);
            assert_eq!(sizes(&[&member, &lost, &kept, &end]), all, "{flag} {size}");
            let with = [&records_of_size[..], &plain("m", flag, 0)].concat();
            assert_eq!(sizes(&[&with, &lost, &kept, &end]), all, "{flag}");
            let last = expected(&[("m", 0)]);
            assert_eq!(sizes(&[&member, &end]), last, "{flag} {size}");
            assert_eq!(warnings(&[&member, &end]), [], "{flag} {size}");
            if flag != typeflag::LINK {
                let with = [&sparse[..], &member].concat();
                assert_eq!(sizes(&[&with, &lost, &kept, &end]), all, "{flag}");
            }
        }
    }
    // names with a slash were directories before there was a type
    for flag in [typeflag::FILE, typeflag::OLD_FILE, typeflag::CONTIGUOUS] {
        let all = expected(&[("d/", 0), ("lost", 5), ("kept", 0)]);
        let member = plain("d/", flag, 1024);
        assert_eq!(sizes(&[&member, &lost, &kept, &end]), all, "{flag}");
    }
}

#[test]
fn content_of_types_without_content_is_detected() {
    let next = plain("next", typeflag::FILE, 0);
    let end = [0; 1024];
    let content = padded(&[b'x'; 600]);
    for (name, flag, zeros) in [
        ("m", typeflag::DIRECTORY, false),
        ("m", typeflag::FIFO, false),
        ("m", typeflag::LINK, true),
        ("d/", typeflag::FILE, true),
    ] {
        let member = plain(name, flag, 600);
        let all = expected(&[(name, 600), ("next", 0)]);
        assert_eq!(sizes(&[&member, &content, &next, &end]), all, "{flag}");
        if zeros {
            let mut content = content.clone();
            content[..BLOCK].fill(0);
            assert_eq!(sizes(&[&member, &content, &next, &end]), all, "{flag}");
            content.fill(0);
            assert_eq!(sizes(&[&member, &content, &next, &end]), all, "{flag}");
        }
    }
    let names = [&plain("d", b'D', 600)[..], &content, &next, &end];
    assert_eq!(sizes(&names), expected(&[("d", 0), ("next", 0)]));
    let unknown = [&plain("q", b'Q', 600)[..], &content, &next, &end].concat();
    let members = read(&unknown).unwrap();
    let remark = members[0].remark.as_deref().unwrap_or_default();
    assert_eq!((members.len(), members[0].size), (2, 600));
    assert!(remark.contains("type 'Q'"), "{remark}");
}

#[test]
fn global_records_are_bounded() {
    let value = vec![b'x'; 40 << 10];
    let comment = records(typeflag::PAX_GLOBAL, &[("comment", &value)]);
    let member = plain("a", typeflag::FILE, 0);
    one(&[&comment, &comment, &comment, &member]);
    let attribute = records(typeflag::PAX_GLOBAL, &[("SCHILY.xattr.user.a", &value)]);
    one(&[&attribute, &member]);
    let told = fails(&[&attribute, &attribute, &member]);
    assert!(told.contains("more than 65536 bytes of records"), "{told}");
}

#[test]
fn signed_sums_are_right_too() {
    let mut tar = plain("\u{e9}", typeflag::FILE, 0);
    let header = UstarHeader::read_from_bytes(&tar).unwrap();
    let signed = checksum(&header) - 256 * 2;
    set_octal(&mut tar[148..155], signed.into());
    assert_eq!(one(&[&tar]).path, "\u{e9}".as_bytes());
}

proptest! {
    /// Members of a damaged tar end within it, or it is refused.
    #[test]
    fn damage_is_no_panic(which in 0_usize..5, place in any::<prop::sample::Index>(), byte: u8, mend: bool) {
        let (_, mut tar) = holes().swap_remove(which);
        let at = place.index(tar.len());
        tar[at] = byte;
        if mend {
            // as if it had been written so
            for block in tar.chunks_exact_mut(BLOCK) {
                let Ok(mut header) = UstarHeader::read_from_bytes(block) else { continue };
                if header.magic == USTAR || header.magic == GNU {
                    let sum = checksum(&header);
                    set_octal(&mut header.checksum[..7], sum.into());
                    block.copy_from_slice(header.as_bytes());
                }
            }
        }
        for member in read(&tar).into_iter().flatten() {
            prop_assert!(member.content <= tar.len() as u64);
        }
    }

    #[test]
    fn noise_is_no_panic(noise in prop::collection::vec(any::<u8>(), 0..2048)) {
        let mut records = Records::default();
        let _ = records.add(&noise, MOST_RECORDS, &mut Notes::new());
        let _ = read(&noise);
    }
}
