//! Images made by hand: versions, flags and sizes that no vector has; and hostile ones, which end
//! in errors. Streams are made by liblzma.

#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::ops::ControlFlow;
use std::sync::Arc;

use liblzma::stream::{Action, LzmaOptions, Stream};
use sinterfs_block::MemorySource;
use sinterfs_cromfs::check::check;
use sinterfs_cromfs::layout::Features;
use sinterfs_cromfs::read::{Cromfs, ReadOptions};
use sinterfs_model::{
    Cursor, Error, Extent, ExtentSource, FileType, Image, Kind, Quiet, Rdev, Result,
};

const FBLOCK: usize = 1 << 16;
const BLOCK: usize = 1000;

/// Compresses with a declared length, as Cromfs' streams have it.
fn lzma(raw: &[u8]) -> Vec<u8> {
    let options = LzmaOptions::new_preset(1).unwrap();
    let mut encoder = Stream::new_lzma_encoder(&options).unwrap();
    let mut out = Vec::with_capacity(raw.len() + 4096);
    encoder.process_vec(raw, &mut out, Action::Finish).unwrap();
    out[5..13].copy_from_slice(&(raw.len() as u64).to_le_bytes());
    out
}

/// An image in progress: one fblock after the other, and blocks in them.
struct Made {
    version: &'static str,
    flags: u32,
    fblocks: Vec<Vec<u8>>,
    blocks: Vec<(u32, u32)>,
    inotab: Vec<u8>,
}

impl Made {
    fn new(version: &'static str, flags: u32) -> Self {
        Self {
            version,
            flags,
            fblocks: vec![Vec::new()],
            blocks: Vec::new(),
            inotab: Vec::new(),
        }
    }

    fn features(&self) -> Features {
        Features(self.flags)
    }

    /// Stores content and returns the numbers of its blocks.
    fn store(&mut self, content: &[u8], unit: usize) -> Vec<u32> {
        let mut numbers = Vec::new();
        for block in content.chunks(unit) {
            if self.fblocks.last().unwrap().len() + block.len() > FBLOCK {
                self.fblocks.push(Vec::new());
            }
            let last = self.fblocks.len() - 1;
            numbers.push(self.blocks.len() as u32);
            self.blocks
                .push((last as u32, self.fblocks[last].len() as u32));
            self.fblocks[last].extend(block);
        }
        numbers
    }

    /// Makes an inode.
    fn inode(&self, mode: u32, links: u32, size: u64, unit: usize, blocks: &[u32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [mode, 1_234_567_890, links] {
            bytes.extend(word.to_le_bytes());
        }
        for half in [1000u16, 100] {
            bytes.extend(half.to_le_bytes());
        }
        bytes.extend(size.to_le_bytes());
        if self.features().has(Features::BLOCK_SIZES) {
            bytes.extend((unit as u32).to_le_bytes());
        }
        for number in blocks {
            bytes.extend(&number.to_le_bytes()[..self.features().number_len()]);
        }
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    /// Adds an inode with content to the table and returns its number.
    fn add(&mut self, mode: u32, links: u32, content: &[u8]) -> u64 {
        // another block size for every inode that may have one
        let unit = if self.features().has(Features::BLOCK_SIZES) {
            BLOCK + self.inotab.len() / 4
        } else {
            BLOCK
        };
        let blocks = self.store(content, unit);
        let inode = self.inode(mode, links, content.len() as u64, unit, &blocks);
        self.inotab.extend(&inode);
        ((self.inotab.len() - inode.len()) / 4 + 2) as u64
    }

    fn finish(mut self, root: &[u8]) -> Vec<u8> {
        let blocks = self.store(root, BLOCK);
        let root = self.inode(0o40755, 2, root.len() as u64, BLOCK, &blocks);
        let table = std::mem::take(&mut self.inotab);
        let blocks = self.store(&table, BLOCK);
        let inotab = self.inode(self.flags, 0, table.len() as u64, BLOCK, &blocks);
        let pack = |bytes: &[u8]| match self.version {
            "01" => bytes.to_vec(),
            _ => lzma(bytes),
        };
        let packed = self.features().has(Features::PACKED);
        let pointer = |(fblock, offset): &(u32, u32)| {
            if packed {
                (fblock * FBLOCK as u32 + offset).to_le_bytes().to_vec()
            } else {
                [fblock.to_le_bytes(), offset.to_le_bytes()].concat()
            }
        };
        let blocks: Vec<u8> = self.blocks.iter().flat_map(pointer).collect();
        let parts = [pack(&root), pack(&inotab), lzma(&blocks)];
        let mut at = 0x38;
        let starts = parts.each_ref().map(|part| {
            at += part.len() as u64;
            at - part.len() as u64
        });
        let mut image = format!("CROMFS{}", self.version).into_bytes();
        for position in [starts[2], at, starts[1], starts[0]] {
            image.extend(position.to_le_bytes());
        }
        for size in [FBLOCK, BLOCK] {
            image.extend((size as u32).to_le_bytes());
        }
        image.extend(0u64.to_le_bytes());
        image.extend(parts.concat());
        for fblock in &self.fblocks {
            let stream = lzma(fblock);
            image.extend((stream.len() as u32).to_le_bytes());
            image.extend(stream);
        }
        image
    }
}

/// Makes a listing of names in their order.
fn listing(entries: &[(&str, u64)]) -> Vec<u8> {
    let mut bytes = (entries.len() as u32).to_le_bytes().to_vec();
    let mut at = 4 + 4 * entries.len();
    for (name, _) in entries {
        bytes.extend((at as u32).to_le_bytes());
        at += 9 + name.len();
    }
    for (name, number) in entries {
        bytes.extend(number.to_le_bytes());
        bytes.extend(name.as_bytes());
        bytes.push(0);
    }
    bytes
}

fn text(len: usize) -> Vec<u8> {
    (0..len as u64)
        .map(|i| b'a' + (i * i / 7 % 23) as u8)
        .collect()
}

fn open(bytes: &[u8]) -> Result<Cromfs> {
    let source = Arc::new(MemorySource(bytes.to_vec()));
    Cromfs::open(source, &ReadOptions::default())
}

/// A directory, a file with two names, a symlink, a device.
fn sample(version: &'static str, flags: u32) -> Vec<u8> {
    let mut made = Made::new(version, flags);
    let file = made.add(0o100_640, 2, &text(150_001));
    let link = made.add(0o120_777, 1, b"../file");
    let device = made.add(0o20_600, (5 << 8) | 3 | (1 << 20), b"");
    let dir = listing(&[("again", file), ("link", link)]);
    let dir = made.add(0o40_700, 2, &dir);
    made.finish(&listing(&[
        ("device", device),
        ("dir", dir),
        ("file", file),
    ]))
}

#[test]
fn every_version_and_flag_reads_the_same() {
    let flags = [0, Features::BITS_24, Features::BITS_16];
    let flags = flags.map(|bits| [bits, bits | Features::PACKED]).concat();
    let sizes = flags.iter().map(|bits| bits | Features::BLOCK_SIZES);
    let third = flags
        .iter()
        .copied()
        .chain(sizes)
        .map(|flags| ("03", flags));
    for (version, flags) in [("01", 0), ("02", 0)].into_iter().chain(third) {
        let bytes = sample(version, flags);
        let image = open(&bytes).unwrap_or_else(|error| panic!("{version} {flags:#x}: {error}"));
        assert_eq!(image.info().version, version);
        let root = image.info().root;
        let find = |dir, name: &[u8]| image.lookup(dir, name).unwrap().unwrap();
        let file = image.inode(find(root, b"file")).unwrap();
        assert_eq!((file.meta.mode, file.nlink), (0o640, 2));
        assert_eq!((file.meta.uid, file.meta.gid), (1000, 100));
        assert_eq!(file.meta.times.modified.secs, 1_234_567_890);
        let mut content = vec![0; 150_001];
        assert_eq!(image.read_at(file.ino, 0, &mut content).unwrap(), 150_001);
        assert!(content == text(150_001));
        for (start, len) in [(1, 5), (999, 2), (65_000, 70_000), (150_000, 9)] {
            let mut part = vec![0; len];
            let read = image.read_at(file.ino, start as u64, &mut part).unwrap();
            assert!(part[..read] == text(150_001)[start..start + read]);
        }
        let dir = find(root, b"dir");
        assert_eq!(find(dir, b"again"), file.ino);
        assert_eq!(image.read_link(find(dir, b"link")).unwrap(), b"../file");
        assert_eq!(image.parent(dir).unwrap(), root);
        let device = image.inode(find(root, b"device")).unwrap();
        assert_eq!(device.kind, FileType::CharDevice);
        let expected = Rdev {
            major: 5,
            minor: 0x103,
        };
        assert_eq!(device.rdev, expected);
        extents_are_the_content(&image, file.ino);
        let source = Arc::new(MemorySource(bytes));
        let report = check(source, &ReadOptions::default(), &Quiet).unwrap();
        assert!(report.findings.is_sound(), "{:?}", report.findings);
    }
}

/// Extents have no gaps, and neighbours in an fblock are one.
fn extents_are_the_content(image: &Cromfs, file: sinterfs_model::Ino) {
    let mut extents: Vec<Extent> = Vec::new();
    let visit = &mut |extent| {
        extents.push(extent);
        ControlFlow::Continue(())
    };
    image.extents(file, 0, visit).unwrap();
    let ends = extents.iter().map(|extent| extent.offset + extent.len);
    let starts = extents.iter().map(|extent| extent.offset).skip(1);
    assert!(
        ends.zip(starts.chain([150_001]))
            .all(|(end, next)| end == next)
    );
    let block = |extent: &Extent| match extent.source {
        ExtentSource::Block { block, .. } => block,
        ExtentSource::Hole => panic!("a hole"),
    };
    assert_eq!(extents.iter().map(block).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn an_image_may_be_followed_by_zeros() {
    let mut bytes = sample("03", 0);
    bytes.resize(bytes.len() + 70_000, 0);
    assert_eq!(open(&bytes).unwrap().fblocks(), 3);
}

fn made(build: impl FnOnce(&mut Made) -> Vec<u8>) -> Vec<u8> {
    let mut made = Made::new("03", 0);
    let root = build(&mut made);
    made.finish(&root)
}

/// Returns what is wrong with directories and inodes, and the names of what can be read.
fn problems(image: &Cromfs) -> (Vec<Error>, Vec<String>) {
    let (mut problems, mut names) = (Vec::new(), Vec::new());
    let mut left = vec![image.info().root];
    while let Some(dir) = left.pop() {
        let listed = image.read_dir(dir, Cursor::START, &mut |entry| {
            match image.inode(entry.ino) {
                Ok(_) => names.push(String::from_utf8_lossy(entry.name).into_owned()),
                Err(error) => problems.push(error),
            }
            left.extend((entry.kind == FileType::Directory).then_some(entry.ino));
            ControlFlow::Continue(())
        });
        problems.extend(listed.err());
    }
    (problems, names)
}

#[test]
fn damaged_entries_hide_no_other_names() {
    let cases: Vec<(&str, Vec<u8>, &[&str])> = vec![
        (
            "the root in itself",
            made(|m| listing(&[("a", 1), ("z", m.add(0o100_644, 1, b""))])),
            &["z"],
        ),
        (
            "a directory twice",
            made(|made| {
                let dir = made.add(0o40_755, 2, &listing(&[]));
                listing(&[("a", dir), ("b", dir)])
            }),
            &["a"],
        ),
        (
            "equal names",
            made(|made| {
                let file = made.add(0o100_644, 2, b"x");
                listing(&[("a", file), ("a", file), ("z", file)])
            }),
            &["a", "z"],
        ),
        (
            "a slash",
            made(|m| {
                let file = m.add(0o100_644, 1, b"");
                listing(&[("a/b", file), ("z", file)])
            }),
            &["z"],
        ),
        (
            "dots",
            made(|m| {
                let file = m.add(0o100_644, 1, b"");
                listing(&[("..", file), ("z", file)])
            }),
            &["z"],
        ),
        (
            "no name",
            made(|m| {
                let file = m.add(0o100_644, 1, b"");
                listing(&[("", file), ("z", file)])
            }),
            &["z"],
        ),
        (
            "no type",
            made(|m| {
                let (none, file) = (m.add(0o644, 1, b""), m.add(0o100_644, 1, b""));
                listing(&[("a", none), ("z", file)])
            }),
            &["z"],
        ),
        ("no inode", made(|_| listing(&[("a", 0)])), &[]),
        (
            "an inode outside",
            made(|_| listing(&[("a", 1 << 60)])),
            &[],
        ),
        (
            "a directory without a listing",
            made(|m| {
                let (dir, file) = (m.add(0o40_755, 2, b""), m.add(0o100_644, 1, b""));
                listing(&[("a", dir), ("z", file)])
            }),
            &["a", "z"],
        ),
        (
            "an entry outside",
            made(|_| [1, 0, 0, 0, 200, 0, 0, 0].to_vec()),
            &[],
        ),
        (
            "a file without blocks",
            made(|made| {
                let inode = made.inode(0o100_644, 1, 1 << 40, BLOCK, &[]);
                made.inotab.extend(inode);
                listing(&[("a", 2)])
            }),
            &[],
        ),
    ];
    for (what, bytes, others) in cases {
        let image = open(&bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
        let (problems, names) = problems(&image);
        assert_eq!(names, others, "{what}");
        let error = problems.first().expect(what);
        assert_eq!(error.kind(), Kind::Corrupt, "{what}: {error}");
        assert!(error.place().is_some(), "{what}: {error}");
        let source = Arc::new(MemorySource(bytes));
        let report = check(source, &ReadOptions::default(), &Quiet).unwrap();
        assert!(!report.findings.is_sound(), "{what}");
    }
}

#[test]
fn names_out_of_order_are_found() {
    let bytes = made(|made| {
        let (one, other) = (made.add(0o100_644, 1, b"x"), made.add(0o100_644, 1, b"y"));
        listing(&[("b", one), ("a", other)])
    });
    let image = open(&bytes).unwrap();
    let (problems, names) = problems(&image);
    assert!(problems.is_empty() && names == ["a", "b"], "{problems:?}");
    let found = image.lookup(image.info().root, b"b").unwrap().unwrap();
    let mut content = [0];
    image.read_at(found, 0, &mut content).unwrap();
    assert_eq!(&content, b"x");
}

#[test]
fn an_image_without_a_root_or_inodes_is_refused() {
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("too many names", made(|_| u32::MAX.to_le_bytes().to_vec())),
        ("no listing", made(|_| Vec::new())),
        ("no inode table", {
            // the only fblock is not a stream
            let mut bytes = sample("03", 0);
            let at = u64::from_le_bytes(bytes[16..24].try_into().unwrap()) as usize;
            bytes[at + 4..at + 24].fill(0xff);
            bytes
        }),
    ];
    for (what, bytes) in cases {
        let error = open(&bytes).expect_err(what);
        assert_eq!(error.kind(), Kind::Corrupt, "{what}: {error}");
        assert!(error.place().is_some(), "{what}: {error}");
    }
    let mut newer = sample("03", 0);
    newer[7] = b'4';
    assert_eq!(open(&newer).unwrap_err().kind(), Kind::Unsupported);
    for flag in [Features::SPARSE, Features::MTF, Features::BWT, 0x8000] {
        let error = open(&sample("03", flag)).unwrap_err();
        assert_eq!(error.kind(), Kind::Unsupported, "{error}");
    }
}

#[test]
fn shared_blocks_take_no_memory_without_bound() {
    // a listing of 32 MiB that is one block, again and again
    let error = open(&made(|made| {
        let one = made.store(&listing(&[]), BLOCK)[0];
        made.store(&[7; BLOCK], BLOCK);
        let blocks = vec![one + 1; 200_000];
        let inode = made.inode(0o40_755, 2, 200_000 * BLOCK as u64, BLOCK, &blocks);
        made.inotab.extend(inode);
        listing(&[("a", 2)])
    }))
    .unwrap_err();
    assert_eq!(error.kind(), Kind::Limit, "{error}");
    // names of thousands of directories that share one listing of thousands of names
    let error = open(&made(|made| {
        let file = made.add(0o100_644, 1, b"");
        let names: Vec<String> = (0..4000).map(|number| format!("{number:04}")).collect();
        let entries: Vec<(&str, u64)> = names.iter().map(|name| (&**name, file)).collect();
        let shared = listing(&entries);
        let blocks = made.store(&shared, BLOCK);
        let inode = made.inode(0o40_755, 2, shared.len() as u64, BLOCK, &blocks);
        let first = made.inotab.len() / 4 + 2;
        for _ in 0..4000 {
            made.inotab.extend(&inode);
        }
        let number = |index: usize| (first + index * inode.len() / 4) as u64;
        let entries = names.iter().enumerate();
        let entries: Vec<_> = entries.map(|(i, name)| (&**name, number(i))).collect();
        listing(&entries)
    }))
    .unwrap_err();
    assert_eq!(error.kind(), Kind::Limit, "{error}");
    // directories without names that share megabytes of zeros
    let error = open(&made(|made| {
        let zeros = made.store(&[0; BLOCK], BLOCK)[0];
        let inode = made.inode(0o40_755, 2, 1000 * BLOCK as u64, BLOCK, &vec![zeros; 1000]);
        let names: Vec<String> = (0..200).map(|number| format!("{number:04}")).collect();
        made.inotab.extend(inode.repeat(names.len()));
        let number = |index: usize| (2 + index * inode.len() / 4) as u64;
        let entries = names.iter().enumerate();
        let entries: Vec<_> = entries.map(|(i, name)| (&**name, number(i))).collect();
        listing(&entries)
    }))
    .unwrap_err();
    assert_eq!(error.kind(), Kind::Limit, "{error}");
    // a stream that declares more than it can hold
    let mut bytes = sample("03", 0);
    let blocks_at = u64::from_le_bytes(bytes[8..16].try_into().unwrap()) as usize;
    bytes[blocks_at + 5..blocks_at + 13].copy_from_slice(&(1u64 << 40).to_le_bytes());
    let error = open(&bytes).unwrap_err();
    assert_eq!(error.kind(), Kind::Corrupt, "{error}");
}

/// Reads all of an image that may be damaged.
#[test]
fn block_numbers_that_inodes_share_are_checked_once() {
    const FILES: usize = 1000;
    let bytes = made(|made| {
        made.store(&[7; BLOCK], BLOCK);
        // the mode of an inode is a number of a block, too
        made.blocks.resize(40_000, (0, 0));
        let names: Vec<String> = (0..FILES).map(|number| format!("{number:04}")).collect();
        let mut inode = made.inode(0o100_644, 0, 30 * BLOCK as u64, BLOCK, &[]);
        inode[4..8].fill(0);
        inode[12..16].fill(0);
        made.inotab.extend(inode.repeat(FILES));
        made.inotab.extend([0; 30 * 4]);
        let number = |index: usize| (2 + index * inode.len() / 4) as u64;
        let entries = names.iter().enumerate();
        let entries: Vec<_> = entries.map(|(i, name)| (&**name, number(i))).collect();
        listing(&entries)
    });
    let source = Arc::new(MemorySource(bytes));
    let report = check(source, &ReadOptions::default(), &Quiet).unwrap();
    let problems = report.findings.into_messages().0;
    let last = problems.last().unwrap();
    assert!(last.contains("the same bytes"), "{last}");
}

fn read_everything(bytes: &[u8]) {
    let Ok(image) = open(bytes) else { return };
    let (mut left, mut files) = (vec![image.info().root], Vec::new());
    while let Some(dir) = left.pop() {
        let visit = &mut |entry: sinterfs_model::Dirent<'_>| {
            match entry.kind {
                FileType::Directory => left.push(entry.ino),
                FileType::File => files.push(entry.ino),
                FileType::Symlink => drop(image.read_link(entry.ino)),
                _ => {}
            }
            ControlFlow::Continue(())
        };
        drop(image.read_dir(dir, Cursor::START, visit));
    }
    for file in files {
        let size = image.inode(file).map_or(0, |inode| inode.size);
        let mut content = vec![0; size.min(1 << 20) as usize];
        drop(image.read_at(file, 0, &mut content));
        drop(image.extents(file, 0, &mut |_| ControlFlow::Continue(())));
    }
}

#[test]
fn damaged_images_end_in_errors() {
    let mut random = sinterfs_testkit::Random(17);
    for (version, flags) in [
        ("01", 0),
        ("02", 0),
        ("03", Features::BITS_24),
        ("03", 0xe00),
    ] {
        let image = sample(version, flags);
        for _ in 0..1500 {
            let mut bytes = image.clone();
            for _ in 0..=random.below(3) {
                // tables are at the front
                let front = random.below(2) == 0;
                let at = random.below(if front { 400 } else { bytes.len() });
                bytes[at] = random.number() as u8;
            }
            read_everything(&bytes);
            let source = Arc::new(MemorySource(bytes));
            drop(check(source, &ReadOptions::default(), &Quiet));
        }
    }
}
