//! One image with everything a tree can hold: all file types, holes, hard links, odd names and
//! odd times.

use sinterfs_model::{FileType, Meta, Rdev, Time, Times};

use crate::{Builder, MemImage, Piece};

/// Makes metadata of permission bits and a modification time; the other times differ from it.
pub fn meta(mode: u16, secs: i64, nanos: u32) -> Meta {
    let time = |secs| Time { secs, nanos };
    let times = Times {
        modified: time(secs),
        accessed: time(secs + 1),
        changed: time(secs + 2),
    };
    Meta {
        mode,
        uid: 0,
        gid: 0,
        times,
    }
}

/// Makes bytes that look random and are the same for the same seed.
pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(next).take(len).collect()
}

/// Builds the image; the root's inode number is `mask`.
pub fn sample(mask: u64) -> MemImage {
    let mut b = Builder::new(meta(0o755, 1_000_000_000, 1), 64 << 10);
    let root = Builder::ROOT;
    let data = |seed, len| [Piece::Data(noise(seed, len))];

    let docs = b.dir(root, b"docs", meta(0o750, 1_100_000_000, 999_999_999));
    let deep = b.dir(docs, b"deep", meta(0o555, 1_200_000_000, 0));
    let odd = b.dir(root, b"odd names", meta(0o1777, 1, 2));
    b.dir(root, b"void", meta(0o700, 0, 0));
    b.dir(deep, b"set-gid", meta(0o2775, 1_300_000_000, 5));

    b.file(docs, b"empty", meta(0o600, 1_400_000_000, 123_456_789), &[]);
    b.file(
        docs,
        b"small",
        meta(0o644, -5, 500_000_000),
        &[Piece::Data(b"hello\n".to_vec())],
    );
    let big = b.file(
        docs,
        b"big",
        meta(0o640, 1_400_000_001, 7),
        &data(1, 3_000_001),
    );
    b.file(
        docs,
        b"read-only",
        meta(0o444, 4_000_000_000, 1),
        &data(2, 70_000),
    );
    let tool = Meta {
        uid: 1234,
        gid: 5678,
        ..meta(0o6755, 1_400_000_002, 8)
    };
    b.file(deep, b"tool", tool, &data(3, 10));
    let mode_zero = Meta {
        uid: 77,
        gid: 88,
        ..meta(0, 1_400_000_003, 9)
    };
    b.file(deep, b"mode-zero", mode_zero, &data(4, 100));
    b.link(deep, b"another-big", big);
    b.link(root, b"zz-big", big);

    let hole = |len| Piece::Hole(len);
    let part = |seed, len| Piece::Data(noise(seed, len));
    let sparse = [
        part(5, 65_536),
        hole(1 << 20),
        part(6, 5000),
        hole(60_536),
        part(7, 1),
        hole(9),
    ];
    b.file(docs, b"sparse", meta(0o644, 1_400_000_004, 10), &sparse);
    b.file(
        docs,
        b"sparse-start",
        meta(0o644, 1_400_000_005, 11),
        &[hole(1 << 20), part(8, 9)],
    );
    b.file(
        docs,
        b"hole-only",
        meta(0o644, 1_400_000_006, 12),
        &[hole(5 << 20)],
    );

    for (seed, name) in odd_names().iter().enumerate() {
        b.file(
            odd,
            name,
            meta(0o644, 1_500_000_000, 13),
            &data(100 + seed as u64, seed * 11),
        );
    }

    b.symlink(root, b"link", meta(0o777, 1_600_000_000, 14), b"docs/small");
    b.symlink(root, b"broken", meta(0o777, -1, 15), b"/no/such/\xff\xfe");
    b.symlink(docs, b"up", meta(0o777, 1_600_000_001, 16), b"../odd names");
    b.symlink(root, b"loop-a", meta(0o777, 1_600_000_002, 17), b"loop-b");
    b.symlink(root, b"loop-b", meta(0o777, 1_600_000_003, 18), b"loop-a");
    let twin = b.symlink(root, b"twin", meta(0o777, 1_600_000_004, 19), b"docs");
    b.link(docs, b"twin-too", twin);

    let device = |major, minor| Rdev { major, minor };
    let special = meta(0o620, 1_700_000_000, 20);
    b.special(root, b"pipe", special, FileType::Fifo, Rdev::default());
    b.special(root, b"socket", special, FileType::Socket, Rdev::default());
    b.special(root, b"null", special, FileType::CharDevice, device(1, 3));
    b.special(
        root,
        b"disk",
        special,
        FileType::BlockDevice,
        device(259, 70_000),
    );
    b.finish(mask)
}

/// Names that programs trip over: bytes that are no text, blanks, wildcards, the longest.
fn odd_names() -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> = [
        &b"\xff\xfe"[..],
        b" ",
        b"\n",
        b"...",
        b"-rf",
        b"*",
        b"a\\b",
        b"\x01\x7f",
        b"$(id)",
        b"\xc3\xa4",
        b"a\xcc\x88",
        b"CON",
        b"tab\there",
        b"\"quoted'",
    ]
    .iter()
    .map(|name| name.to_vec())
    .collect();
    names.push(vec![b'x'; 255]);
    names.push(b"\xe2\x82\xac".repeat(85));
    names
}
