//! Extents in records of every length, in images made here byte by byte: we read from them what was
//! put in, and so does the kernel. mkfs.erofs writes only the longer records.

#![allow(clippy::unwrap_used, reason = "this is a test")]

mod support;

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

use sinterfs_erofs::read::Erofs;
use sinterfs_model::{Image, Ino, Kind, Quiet};

const BLOCK: usize = 4096;

/// Where inodes are numbered from, and the numbers of the file and of its directory.
const META: usize = BLOCK;
const FILE: usize = 4;

/// Where the first extent is stored: not at the start of a block.
const CONTENT: usize = 2 * BLOCK + 100;

/// Where a record has the position of its extent in the file.
const LOGICAL: usize = 12;

/// A superblock, inodes and extents, put together.
struct Built {
    image: Vec<u8>,
    content: Vec<u8>,
    /// Where the records begin.
    table: usize,
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

/// Makes an image with a directory of one file, `f`.
fn tree(blocks: usize) -> Vec<u8> {
    let mut image = vec![0; blocks * BLOCK];
    superblock(&mut image);
    let mut entries = Vec::new();
    for (nid, name, kind) in [(0, 36, 2_u8), (0, 37, 2), (FILE, 39, 1)] {
        entries.extend((nid as u64).to_le_bytes());
        entries.extend([name, 0, kind, 0]);
    }
    entries.extend(b"...f");
    let end = inode(&mut image, 0, 0o40755, entries.len(), 2, 2);
    put(&mut image, end, &entries);
    image
}

fn deflate(raw: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(9));
    encoder.write_all(raw).unwrap();
    encoder.finish().unwrap()
}

/// Makes an image with a file `f` of extents, every second of them compressed.
fn build(record: usize, count: usize) -> Built {
    let mut image = tree(16 + count);
    let (mut content, mut records) = (Vec::new(), Vec::new());
    let mut at = CONTENT;
    for number in 0..count {
        let len = if number == count - 1 { 1000 } else { BLOCK };
        let (raw, stored, format) = if number % 2 == 1 {
            let raw = vec![b'a' + number as u8; len];
            let stored = deflate(&raw);
            (raw, stored, 3)
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
    let (count, algorithm) = if record < 16 {
        (0, 2)
    } else {
        (count as u64, 0)
    };
    let end = numbers(
        &mut image,
        end,
        &[(4, count), (2, advise), (1, algorithm), (1, 0)],
    );
    let mut to = end.next_multiple_of(record);
    if record == 4 {
        to = numbers(&mut image, to, &[(8, CONTENT as u64)]);
    }
    let table = to;
    for (stored, at, start) in records {
        let mut bytes = [0; 32];
        numbers(&mut bytes, 0, &[(4, stored), (8, at), (8, start)]);
        to = put(&mut image, to, &bytes[..record]);
    }
    Built {
        image,
        content,
        table,
    }
}

#[test]
fn records_of_every_length_are_read() {
    for record in [4, 8, 16, 32] {
        let built = build(record, 5);
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
        let built = build(record, 5);
        std::fs::write(&file, &built.image).unwrap();
        if !mounted(&file, &dir) {
            return sinterfs_testkit::skip("the kernel does not mount EROFS of 48 bits here");
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

/// Makes sure that nobody is given a byte of the file, wherever the reading begins.
fn refused(image: &Erofs, file: Ino, path: &str) {
    let size = image.inode(file).unwrap().size;
    // twice, as verdicts are kept
    for at in [0, size / 3, size / 2, size - 1].repeat(2) {
        let read = image.read_at(file, at, &mut [0; 10]).unwrap_err();
        let mapped = image.extents(file, at, &mut |_| ControlFlow::Continue(()));
        for error in [read, mapped.unwrap_err()] {
            assert_eq!(error.kind(), Kind::Corrupt, "{error}");
            assert!(error.to_string().contains("inode 0x"), "{error}");
        }
    }
    let report = sinterfs_erofs::check::check(image, &Quiet).unwrap();
    let problems = format!("{:?}", report.findings);
    assert!(!report.findings.is_sound(), "{problems}");
    assert!(problems.contains(path), "{problems}");
}

#[test]
fn tables_out_of_order_are_refused() {
    let block = BLOCK as u64;
    // few records, which one read holds, and many
    for (record, count) in [(16, 5), (32, 5), (16, 40), (32, 40)] {
        let last = count as u64 - 1;
        let size = last * block + 1000;
        let swapped = [(2, 3 * block), (3, 2 * block)];
        let changes: [&[(u64, u64)]; 8] = [
            &[(0, 1)],
            &[(2, 0)],
            &[(2, block)],
            &[(2, 3 * block)],
            &[(1, 3 * block + 7)],
            &[(last, size)],
            &[(last, u64::from(u32::MAX))],
            &swapped,
        ];
        for change in changes {
            let mut built = build(record, count);
            for (number, start) in change {
                let at = built.table + *number as usize * record + LOGICAL;
                numbers(&mut built.image, at, &[(4, *start)]);
            }
            let image = support::open(built.image, &[]).unwrap();
            let file = image.lookup(Ino(0), b"f").unwrap().unwrap();
            refused(&image, file, "f");
        }
    }
}

#[test]
fn a_table_that_begins_again_is_refused() {
    let Some(vectors) = support::vectors() else {
        return;
    };
    let image = support::read_file(&vectors.join("hostile/erofs-unsorted-extents.img"));
    let image = support::open(image, &[]).unwrap();
    let dir = image.lookup(image.info().root, b"d").unwrap().unwrap();
    let file = image.lookup(dir, b"rep").unwrap().unwrap();
    refused(&image, file, "d/rep");
}

/// Makes an image with a file `f` of two extents of three logical clusters each, in full indexes;
/// `back` is how far the last index refers back. What is stored for the first extent goes on where
/// the second begins, which a reader does not see that is led there.
fn indexes(back: u64) -> Built {
    let mut image = tree(8);
    let end = inode(&mut image, FILE, 0o100_644, 6 * BLOCK, 1, 1);
    let end = numbers(&mut image, end, &[(4, 0), (2, 0), (1, 2), (1, 0), (8, 0)]);
    let partial = 0x8000;
    let (head, non_head) = (1 | partial, 2);
    let records = [
        (head, 3),
        (non_head, 1),
        (non_head, 2),
        (head, 4),
        (non_head, 1),
        (non_head, back),
    ];
    let mut to = end;
    for (kind, number) in records {
        to = numbers(&mut image, to, &[(2, kind), (2, 0), (4, number)]);
    }
    for (block, byte) in [(3, b'a'), (4, b'b')] {
        let stored = deflate(&[byte; 6 * BLOCK]);
        put(&mut image, (block + 1) * BLOCK - stored.len(), &stored);
    }
    let content = [[b'a'; 3 * BLOCK], [b'b'; 3 * BLOCK]].concat();
    Built {
        image,
        content,
        table: end,
    }
}

#[test]
fn indexes_that_lead_past_their_head_are_refused() {
    for back in 0..=6 {
        let built = indexes(back);
        let image = support::open(built.image, &[]).unwrap();
        let file = image.lookup(Ino(0), b"f").unwrap().unwrap();
        let mut found = vec![0; built.content.len()];
        let first = image.read_at(file, 0, &mut found[..100]);
        assert!(first.is_ok() && found[..100] == built.content[..100]);
        let all = image.read_at(file, 0, &mut found);
        let last = image.read_at(file, 5 * BLOCK as u64, &mut found[5 * BLOCK..]);
        if back == 1 || back == 2 {
            assert!(all.is_ok() && last.is_ok() && found == built.content);
            continue;
        }
        for error in [all.unwrap_err(), last.unwrap_err()] {
            assert_eq!(error.kind(), Kind::Corrupt, "{error}");
        }
        let report = sinterfs_erofs::check::check(&image, &Quiet).unwrap();
        assert!(!report.findings.is_sound(), "{back}");
    }
}
