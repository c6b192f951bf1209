//! Extents in records of every length, in images made here byte by byte: we read from them what was put
//! in, and so does the kernel. mkfs.erofs writes only the longer records.

#![allow(clippy::unwrap_used, reason = "this is a test")]

mod support;

use std::io::Write;
use std::path::Path;
use std::process::Command;

use model::{Image, Ino};

const BLOCK: usize = 4096;

/// Where inodes are numbered from, and the numbers of the file and of its directory.
const META: usize = BLOCK;
const FILE: usize = 4;

/// Where the first extent is stored: not at the start of a block.
const CONTENT: usize = 2 * BLOCK + 100;

/// A superblock, inodes and extents, put together.
struct Built {
    image: Vec<u8>,
    content: Vec<u8>,
}

fn put(image: &mut [u8], at: usize, bytes: &[u8]) -> usize {
    image[at..at + bytes.len()].copy_from_slice(bytes);
    at + bytes.len()
}

/// Writes numbers of given widths one after the other.
fn numbers(image: &mut [u8], mut at: usize, numbers: &[(usize, u64)]) -> usize {
    for (width, number) in numbers {
        at = put(image, at, &number.to_le_bytes()[..*width]);
    }
    at
}

fn superblock(image: &mut [u8]) {
    let fields = [
        (4, 0xe0f5_e1e2),
        (4, 0),
        (4, 0),
        (1, 12),
        (1, 0),
        (2, 0),
        (8, 2),
        (8, 0),
        (4, 0),
        (4, 16),
        (4, (META / BLOCK) as u64),
        (4, 0),
    ];
    numbers(image, 1024, &fields);
    // 48bit, configurations, padding in front; DEFLATE alone, with a window of 32 KiB
    numbers(image, 1024 + 80, &[(4, 0x83), (2, 1 << 2)]);
    numbers(image, 1024 + 128, &[(2, 6), (1, 15)]);
}

fn inode(image: &mut [u8], nid: usize, mode: u64, size: usize, layout: u64, links: u64) -> usize {
    let fields = [
        (2, 1 | layout << 1),
        (2, 0),
        (2, mode),
        (2, 0),
        (8, size as u64),
        (4, 5),
        (4, nid as u64),
        (8, 0),
        (8, 1000),
        (4, 0),
        (4, links),
        (16 / 2, 0),
        (16 / 2, 0),
    ];
    numbers(image, META + nid * 32, &fields)
}

/// Makes an image with a file `f` of five extents, two of them compressed.
fn build(record: usize) -> Built {
    let mut image = vec![0; 16 * BLOCK];
    superblock(&mut image);
    let mut entries = Vec::new();
    for (nid, name, kind) in [(0, 36, 2_u8), (0, 37, 2), (FILE, 39, 1)] {
        entries.extend((nid as u64).to_le_bytes());
        entries.extend([name, 0, kind, 0]);
    }
    entries.extend(b"...f");
    let end = inode(&mut image, 0, 0o40755, entries.len(), 2, 2);
    put(&mut image, end, &entries);

    let (mut content, mut records) = (Vec::new(), Vec::new());
    let mut at = CONTENT;
    for number in 0..5_usize {
        let len = if number == 4 { 1000 } else { BLOCK };
        let (raw, stored, format) = if number % 2 == 1 {
            let raw = vec![b'a' + number as u8; len];
            let mut encoder =
                flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(9));
            encoder.write_all(&raw).unwrap();
            (raw, encoder.finish().unwrap(), 3)
        } else {
            let noise = |i: usize| (i * i * 31 + i * 7 + number) as u8;
            let raw: Vec<u8> = (0..len).map(noise).collect();
            (raw.clone(), raw, 0)
        };
        let start = content.len() as u64;
        records.push((stored.len() as u64 | format << 28, at as u64, start));
        at = put(&mut image, at, &stored);
        content.extend(raw);
    }
    let end = inode(&mut image, FILE, 0o100_644, content.len(), 1, 1);
    let advise = 1 + 2 * u64::from((record as u64 / 4).ilog2());
    // a file of long records counts them, one of short ones has DEFLATE as its algorithm
    let (count, algorithm) = if record < 16 { (0, 2) } else { (5, 0) };
    let end = numbers(
        &mut image,
        end,
        &[(4, count), (2, advise), (1, algorithm), (1, 0)],
    );
    let mut to = end.next_multiple_of(record);
    if record == 4 {
        to = numbers(&mut image, to, &[(8, CONTENT as u64)]);
    }
    for (stored, at, start) in records {
        let mut bytes = [0; 32];
        numbers(&mut bytes, 0, &[(4, stored), (8, at), (8, start)]);
        to = put(&mut image, to, &bytes[..record]);
    }
    Built { image, content }
}

#[test]
fn records_of_every_length_are_read() {
    for record in [4, 8, 16, 32] {
        let built = build(record);
        let image = support::open(built.image, &[]).unwrap();
        let file = image.lookup(Ino(0), b"f").unwrap().unwrap();
        let mut found = vec![0; built.content.len() + 1];
        let len = image.read_at(file, 0, &mut found).unwrap();
        assert!(found[..len] == built.content, "{record}");
        for at in (0..built.content.len()).rev().step_by(997) {
            let mut part = [0; 500];
            let len = image.read_at(file, at as u64, &mut part).unwrap();
            assert!(
                built.content[at..].starts_with(&part[..len]),
                "{record} {at}"
            );
            assert_eq!(len, part.len().min(built.content.len() - at));
        }
    }
}

#[test]
fn the_kernel_reads_the_same() {
    let work = tempfile::tempdir().unwrap();
    let (file, dir) = (work.path().join("image"), work.path().join("mnt"));
    std::fs::create_dir(&dir).unwrap();
    for record in [4, 8, 16, 32] {
        let built = build(record);
        std::fs::write(&file, &built.image).unwrap();
        if !mounted(&file, &dir) {
            return testkit::skip("the kernel does not mount EROFS of 48 bits here");
        }
        let found = std::fs::read(dir.join("f"));
        let status = Command::new("umount").arg(&dir).status().unwrap();
        assert!(status.success());
        assert!(found.unwrap() == built.content, "{record}");
    }
}

fn mounted(file: &Path, dir: &Path) -> bool {
    let mut mount = Command::new("mount");
    mount
        .args(["-t", "erofs", "-o", "loop,ro"])
        .args([file, dir]);
    mount.output().is_ok_and(|output| output.status.success())
}
