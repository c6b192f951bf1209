//! File systems that no tool makes: each is made here, and is refused or read within bounds.

#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sinterfs_block::{MemorySource, ReadAt};
use sinterfs_ext::check::check;
use sinterfs_ext::read::{Ext, ReadOptions};
use sinterfs_model::{Cursor, Image, Ino, Kind, Limits, Quiet, Result};

const BLOCK: usize = 1024;
const BLOCKS: usize = 512;
const INODES: u32 = 64;
const TABLE: usize = 3;
const DIRECTORY: u16 = 0o40_755;
const FILE: u16 = 0o100_644;
const EXTENTS: u32 = 0x8_0000;

/// A source that counts reads.
#[derive(Clone)]
struct Counted(Arc<(MemorySource, AtomicU64)>);

impl Counted {
    fn reads(&self) -> u64 {
        self.0.1.swap(0, Ordering::Relaxed)
    }
}

impl ReadAt for Counted {
    fn len(&self) -> u64 {
        self.0.0.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.0.1.fetch_add(1, Ordering::Relaxed);
        self.0.0.read_at(offset, buf)
    }
}

/// A file system while it is made: blocks of 1 KiB, one group.
struct Made {
    bytes: Vec<u8>,
    next: u32,
}

impl Made {
    fn new() -> Self {
        let mut bytes = vec![0; BLOCKS * BLOCK];
        let words = [
            (0, INODES),
            (4, BLOCKS as u32),
            (0x10, 40),
            (0x14, 1),
            (0x20, 8192),
            (0x24, 8192),
            (0x28, INODES),
            (0x4c, 1),
            (0x60, 0x42),
        ];
        for (at, word) in words {
            bytes[BLOCK + at..][..4].copy_from_slice(&word.to_le_bytes());
        }
        for (at, half) in [(0x38, 0xef53_u16), (0x3a, 1), (0x58, 128)] {
            bytes[BLOCK + at..][..2].copy_from_slice(&half.to_le_bytes());
        }
        bytes[2 * BLOCK + 8..][..4].copy_from_slice(&(TABLE as u32).to_le_bytes());
        Self { bytes, next: 20 }
    }

    /// Adds a block and returns its number.
    fn block(&mut self, content: &[u8]) -> u32 {
        let at = self.next as usize * BLOCK;
        self.bytes[at..][..content.len()].copy_from_slice(content);
        self.next += 1;
        self.next - 1
    }

    fn inode(&mut self, number: u32, mode: u16, size: u32, flags: u32, pointers: &[u8]) {
        let at = TABLE * BLOCK + (number as usize - 1) * 128;
        let inode = &mut self.bytes[at..][..128];
        inode[0..2].copy_from_slice(&mode.to_le_bytes());
        inode[4..8].copy_from_slice(&size.to_le_bytes());
        inode[0x20..0x24].copy_from_slice(&flags.to_le_bytes());
        inode[0x28..][..pointers.len()].copy_from_slice(pointers);
    }

    /// Adds a directory of one block.
    fn directory(&mut self, number: u32, parent: u32, entries: &[(&str, u32)]) {
        let dots = [(".", number), ("..", parent)];
        let content = listing(&dots.iter().chain(entries).copied().collect::<Vec<_>>());
        let block = self.block(&content);
        self.inode(number, DIRECTORY, BLOCK as u32, 0, &block.to_le_bytes());
    }

    fn source(self) -> Counted {
        Counted(Arc::new((MemorySource(self.bytes), AtomicU64::new(0))))
    }
}

/// Returns a block of a directory.
fn listing(entries: &[(&str, u32)]) -> Vec<u8> {
    let mut content = Vec::new();
    for (name, inode) in entries {
        let len = (8 + name.len()).next_multiple_of(4);
        content.extend(inode.to_le_bytes());
        content.extend((len as u16).to_le_bytes());
        content.extend([name.len() as u8, 0]);
        content.extend(name.as_bytes());
        content.resize(content.len().next_multiple_of(4), 0);
    }
    let rest = (BLOCK - content.len()) as u16;
    if rest > 0 {
        content.extend([0; 4]);
        content.extend(rest.to_le_bytes());
        content.resize(BLOCK, 0);
    }
    content
}

/// Returns a node of an extent tree; of an extent the second number is its count.
fn node(depth: u16, entries: &[(u32, u16, u32)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for half in [0xf30a, entries.len() as u16, 4, depth, 0, 0] {
        bytes.extend(half.to_le_bytes());
    }
    for (first, count, block) in entries {
        bytes.extend(first.to_le_bytes());
        if depth == 0 {
            bytes.extend(count.to_le_bytes());
            bytes.extend([0; 2]);
            bytes.extend(block.to_le_bytes());
        } else {
            bytes.extend(block.to_le_bytes());
            bytes.extend([0; 4]);
        }
    }
    bytes
}

fn open(source: &Counted, limits: Limits) -> Result<Ext> {
    let options = ReadOptions {
        limits,
        ..ReadOptions::default()
    };
    Ext::open(Arc::new(source.clone()), &options)
}

fn problems(source: &Counted) -> Vec<String> {
    let source = Arc::new(source.clone());
    let report = check(source, &ReadOptions::default(), &Quiet).unwrap();
    report.findings.into_messages().0
}

#[test]
fn a_directory_in_several_places_is_reported() {
    let made = |entries: &[(&str, u32)], parent| {
        let mut made = Made::new();
        made.directory(2, 2, entries);
        made.directory(12, parent, &[]);
        made.directory(13, 2, &[]);
        made.source()
    };
    let sound = made(&[("a", 12), ("b", 13)], 2);
    assert_eq!(problems(&sound), Vec::<String>::new());
    let image = open(&sound, Limits::default()).unwrap();
    // capacity is 64, of which 40 are not used
    assert_eq!(image.info().totals.inodes, 24);
    for source in [
        made(&[("a", 12), ("b", 12)], 2),
        made(&[("a", 12), ("again", 2), ("b", 13)], 2),
    ] {
        let found = problems(&source);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("more than one place"), "{found:?}");
    }
    let found = problems(&made(&[("a", 12), ("b", 13)], 13));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("it is in inode 2"), "{found:?}");
}

#[test]
fn entries_of_an_extent_tree_must_ascend() {
    let read = |second: u32, inner: u32| {
        let mut made = Made::new();
        let data = [made.block(&[1; BLOCK]), made.block(&[2; BLOCK])];
        let leaves = [
            made.block(&node(0, &[(0, 1, data[0])])),
            made.block(&node(0, &[(inner, 1, data[1])])),
        ];
        let root = node(1, &[(0, 0, leaves[0]), (second, 0, leaves[1])]);
        made.inode(12, FILE, 20 * BLOCK as u32, EXTENTS, &root);
        made.directory(2, 2, &[("file", 12)]);
        let image = open(&made.source(), Limits::default()).unwrap();
        let mut byte = [0];
        image.read_at(Ino(12), 10 * BLOCK as u64, &mut byte)?;
        let first = image.read_at(Ino(12), 0, &mut [0; BLOCK])?;
        assert_eq!(first, BLOCK);
        Ok(byte[0])
    };
    assert_eq!(read(10, 10).unwrap(), 2);
    assert_eq!(read(5, 10).unwrap(), 2);
    for (second, inner) in [(0, 10), (10, 9), (10, 0)] {
        let error: sinterfs_model::Error = read(second, inner).unwrap_err();
        assert_eq!(error.kind(), Kind::Corrupt, "{error}");
        assert!(error.what().contains("ascend"), "{error}");
    }
}

#[test]
fn a_read_visits_only_needed_blocks() {
    let mut made = Made::new();
    // nodes without extents
    let empty = made.block(&node(0, &[]));
    let data = made.block(&[7; BLOCK]);
    let first = made.block(&node(0, &[(0, 1, data)]));
    let mut entries = vec![(0, 0, first)];
    entries.extend((1..80).map(|at| (at, 0, empty)));
    let middle = made.block(&node(1, &entries));
    let root = node(2, &[(0, 0, middle)]);
    made.inode(12, FILE, 200 * BLOCK as u32, EXTENTS, &root);
    // pointers to blocks without pointers
    let zeros = made.block(&[]);
    let many: Vec<u8> = std::iter::repeat_n(zeros.to_le_bytes(), 256)
        .flatten()
        .collect();
    let many = made.block(&many);
    let mut pointers = vec![0; 48];
    pointers[..4].copy_from_slice(&data.to_le_bytes());
    pointers.extend(zeros.to_le_bytes());
    pointers.extend(many.to_le_bytes());
    made.inode(13, FILE, 1 << 26, 0, &pointers);
    made.directory(2, 2, &[("a", 12), ("b", 13)]);
    let source = made.source();
    let image = open(&source, Limits::default()).unwrap();
    for ino in [12, 13] {
        source.reads();
        let mut bytes = [0; 100];
        assert_eq!(image.read_at(Ino(ino), 0, &mut bytes).unwrap(), 100);
        assert_eq!(bytes, [7; 100]);
        // the inode, two nodes, and the block
        let reads = source.reads();
        assert!(reads <= 4, "inode {ino}: {reads} reads");
    }
}

#[test]
fn a_directory_is_read_once_within_the_limits() {
    let mut made = Made::new();
    let mut leaves = Vec::new();
    for block in 0..40_u32 {
        let names: Vec<_> = (0..40)
            .map(|name| format!("{block:03}-{name:03}"))
            .collect();
        let mut entries = vec![];
        if block == 0 {
            entries.extend([(".", 12), ("..", 2)]);
        }
        entries.extend(names.iter().map(|name| (name.as_str(), 13)));
        leaves.push((block, 1, made.block(&listing(&entries))));
    }
    let leaf = made.block(&node(0, &leaves));
    let root = node(1, &[(0, 0, leaf)]);
    made.inode(12, DIRECTORY, 40 * BLOCK as u32, EXTENTS, &root);
    made.inode(13, FILE, 0, 0, &[]);
    made.directory(2, 2, &[("many", 12), ("file", 13)]);
    let source = made.source();
    let list = |metadata| {
        let limits = Limits {
            metadata,
            ..Limits::default()
        };
        let image = open(&source, limits).unwrap();
        source.reads();
        let mut names = 0;
        let mut visit = |_: sinterfs_model::Dirent<'_>| {
            names += 1;
            ControlFlow::Continue(())
        };
        image.read_dir(Ino(12), Cursor::START, &mut visit)?;
        Ok((names, source.reads()))
    };
    let (names, reads) = list(1 << 20).unwrap();
    assert_eq!(names, 1600);
    // an inode for each name, and the directory: its inode, its node and its blocks
    assert_eq!(reads, 1600 + 42);
    let error: sinterfs_model::Error = list(50_000).unwrap_err();
    assert_eq!(error.kind(), Kind::Limit, "{error}");
    assert!(error.place().is_some(), "{error}");
}

#[test]
fn encrypted_symlinks_are_refused() {
    let mut made = Made::new();
    made.inode(12, 0o120_777, 10, 0x800, b"ciphertext");
    made.inode(13, 0o120_777, 4, 0, b"text");
    made.directory(2, 2, &[("a", 12), ("b", 13)]);
    let image = open(&made.source(), Limits::default()).unwrap();
    assert_eq!(image.read_link(Ino(13)).unwrap(), b"text");
    let error = image.read_link(Ino(12)).unwrap_err();
    assert_eq!(error.kind(), Kind::Unsupported, "{error}");
}
