//! Images made by hand, of what no tool at hand makes: every kind of block pointer, other block
//! sizes, version 1, unsorted listings; and hostile ones, which end in errors.

#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use sinterfs_block::MemorySource;
use sinterfs_cramfs::check::check;
use sinterfs_cramfs::layout::{
    ByteOrder, Flags, InodeFields, MAGIC, Pointer, SIGNATURE, SUPERBLOCK_LEN,
};
use sinterfs_cramfs::read::{Cramfs, ReadOptions};
use sinterfs_model::{Cursor, Error, Extent, ExtentSource, FileType, Image, Kind, Quiet, Result};
use sinterfs_testkit::noise;

const UNIT: usize = 4096;

/// An image in progress: words in its byte order, and bytes.
struct Made {
    order: ByteOrder,
    bytes: Vec<u8>,
}

impl Made {
    fn new(order: ByteOrder) -> Self {
        let bytes = vec![0; SUPERBLOCK_LEN];
        Self { order, bytes }
    }

    fn at(&self) -> usize {
        self.bytes.len()
    }

    fn put(&mut self, at: usize, word: u32) {
        self.bytes[at..at + 4].copy_from_slice(&self.order.bytes(word));
    }

    fn align(&mut self, to: usize) {
        self.bytes.resize(self.at().next_multiple_of(to), 0);
    }

    /// Appends a listing of one inode per name and returns its offset and length.
    fn listing(&mut self, entries: &[(&str, InodeFields)]) -> (usize, usize) {
        self.align(4);
        let start = self.at();
        for (name, fields) in entries {
            let fields = InodeFields {
                name_words: name.len().div_ceil(4) as u8,
                ..*fields
            };
            self.bytes.extend(fields.encode(self.order));
            self.bytes.extend(name.as_bytes());
            self.align(4);
        }
        (start, self.at() - start)
    }

    /// Writes the superblock; the root has the listing given.
    fn finish(mut self, flags: u32, (start, len): (usize, usize)) -> Vec<u8> {
        self.put(0, MAGIC);
        let size = self.at() as u32;
        self.put(4, size);
        self.put(8, flags);
        self.bytes[16..32].copy_from_slice(SIGNATURE);
        let root = directory(start, len).encode(self.order);
        self.bytes[64..76].copy_from_slice(&root);
        self.bytes
    }
}

fn directory(start: usize, len: usize) -> InodeFields {
    InodeFields {
        mode: 0o40755,
        size: len as u32,
        offset_words: start as u32 / 4,
        ..InodeFields::default()
    }
}

fn file(start: usize, len: usize) -> InodeFields {
    InodeFields {
        mode: 0o100_644,
        uid: 1000,
        gid: 100,
        size: len as u32,
        offset_words: start as u32 / 4,
        ..InodeFields::default()
    }
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(9));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn text(len: usize) -> Vec<u8> {
    (0..len).map(|i| b'a' + (i * i / 7 % 23) as u8).collect()
}

fn open(bytes: &[u8]) -> Result<Cramfs> {
    let source = Arc::new(MemorySource(bytes.to_vec()));
    Cramfs::open(source, &ReadOptions::default())
}

fn content(image: &Cramfs, name: &[u8]) -> Result<Vec<u8>> {
    let ino = image.lookup(image.info().root, name)?.unwrap();
    let size = image.inode(ino)?.size as usize;
    let mut whole = vec![0; size];
    assert_eq!(image.read_at(ino, 0, &mut whole)?, size);
    // every part is the same
    for (start, len) in [(1, 5), (4095, 2), (5000, 9000), (size - 1, 10)] {
        let mut part = vec![0; len];
        let read = image.read_at(ino, start as u64, &mut part)?;
        assert_eq!(
            part[..read],
            whole[start.min(size)..(start + len).min(size)]
        );
    }
    Ok(whole)
}

fn names(image: &Cramfs) -> Vec<String> {
    let mut names = Vec::new();
    let visit = &mut |entry: sinterfs_model::Dirent<'_>| {
        names.push(String::from_utf8(entry.name.to_vec()).unwrap());
        ControlFlow::Continue(())
    };
    image
        .read_dir(image.info().root, Cursor::START, visit)
        .unwrap();
    names
}

/// A file whose blocks are stored in each way: compressed, a hole, not compressed, both again where
/// the pointer says, a hole there, and compressed after it.
fn all_pointers(order: ByteOrder) -> (Vec<u8>, Vec<u8>) {
    let mut made = Made::new(order);
    let parts = [text(UNIT), vec![0; UNIT], noise(1, UNIT)];
    let (far, near) = (text(UNIT)[7..].to_vec(), noise(2, UNIT));
    let far = [far, vec![b'x'; 7]].concat();
    let last = text(1234);
    // aligned as code that is executed in place
    made.align(UNIT);
    let raw_at = made.at();
    made.bytes.extend(&near);
    let packed_at = made.at();
    let packed = zlib(&far);
    let len = match order {
        ByteOrder::Little => (packed.len() as u16).to_le_bytes(),
        ByteOrder::Big => (packed.len() as u16).to_be_bytes(),
    };
    made.bytes.extend(len);
    made.bytes.extend(&packed);
    made.align(4);
    let hole_at = made.at();
    // the block after the hole starts where the hole ends
    made.bytes.extend([0, 0]);
    made.bytes.extend(zlib(&last));
    let end = made.at() as u32;
    made.align(4);
    let start = made.at();
    made.bytes.resize(start + 7 * 4, 0);
    let direct = |at: usize| Pointer::DIRECT | (at as u32 / 4);
    made.bytes.extend(zlib(&parts[0]));
    let first = made.at() as u32;
    made.bytes.extend(&parts[2]);
    let third = made.at() as u32;
    let pointers = [
        first,
        first,
        third | Pointer::RAW,
        direct(packed_at),
        direct(raw_at) | Pointer::RAW,
        direct(hole_at),
        end,
    ];
    for (number, pointer) in pointers.into_iter().enumerate() {
        made.put(start + number * 4, pointer);
    }
    let size = UNIT * 6 + last.len();
    let listing = made.listing(&[("all", file(start, size))]);
    let flags = Flags::POINTER_FLAGS | Flags::SHIFTED_ROOT;
    let [a, b, c] = parts;
    let whole = [a, b, c, far, near, vec![0; UNIT], last].concat();
    (made.finish(flags, listing), whole)
}

#[test]
fn every_kind_of_pointer_is_followed() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let (bytes, whole) = all_pointers(order);
        let image = open(&bytes).unwrap();
        assert!(content(&image, b"all").unwrap() == whole, "{order:?}");
        let ino = image.lookup(image.info().root, b"all").unwrap().unwrap();
        let mut holes = Vec::new();
        let mut end = 0;
        let visit = &mut |extent: Extent| {
            assert_eq!(extent.offset, end);
            end += extent.len;
            if extent.source == ExtentSource::Hole {
                holes.push(extent.offset / UNIT as u64);
            }
            ControlFlow::Continue(())
        };
        image.extents(ino, 0, visit).unwrap();
        assert_eq!((end, &holes[..]), (whole.len() as u64, &[1, 5][..]));
        let inode = image.inode(ino).unwrap();
        assert_eq!(inode.allocated, inode.size - 2 * UNIT as u64);
        assert_eq!((inode.meta.uid, inode.meta.gid), (1000, 100));
    }
}

/// An image with a file of compressed blocks of a size.
fn blocks_of(size: usize, content: &[u8], flags: u32) -> Vec<u8> {
    let mut made = Made::new(ByteOrder::Little);
    let start = made.at();
    let pieces: Vec<&[u8]> = content.chunks(size).collect();
    made.bytes.resize(start + pieces.len() * 4, 0);
    for (number, piece) in pieces.iter().enumerate() {
        made.bytes.extend(zlib(piece));
        let end = made.at() as u32;
        made.put(start + number * 4, end);
    }
    let entries = [("z", file(start, content.len())), ("a", file(0, 0))];
    let listing = made.listing(&entries);
    made.finish(flags | Flags::SHIFTED_ROOT, listing)
}

#[test]
fn the_block_size_is_found() {
    let whole = [text(40_000), noise(3, 30_000)].concat();
    for size in [4096, 8192, 16384, 65536, 1 << 17] {
        let image = open(&blocks_of(size, &whole, 0)).unwrap();
        assert_eq!(image.block_size() as usize, size);
        assert!(content(&image, b"z").unwrap() == whole, "{size}");
        assert_eq!(names(&image), ["a", "z"], "an unsorted listing is sorted");
    }
}

#[test]
fn version_1_has_no_size() {
    let whole = text(10_000);
    let mut bytes = blocks_of(UNIT, &whole, 0);
    bytes[4..8].copy_from_slice(&0x10000u32.to_le_bytes());
    let image = open(&bytes).unwrap();
    assert_eq!(image.head().version(), 1);
    assert!(content(&image, b"z").unwrap() == whole);
    let source = Arc::new(MemorySource(bytes));
    let report = check(source, &ReadOptions::default(), &Quiet).unwrap();
    assert!(report.findings.is_sound() && report.inodes == 3);
}

/// Returns what is wrong with directories and inodes, and the names of what can be read.
fn problems(image: &Cramfs) -> (Vec<Error>, Vec<String>) {
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
    let damaged = |what: &str, others: &[&str], make: &dyn Fn(&mut Made) -> (usize, usize)| {
        let mut made = Made::new(ByteOrder::Little);
        let listing = make(&mut made);
        let bytes = made.finish(Flags::SHIFTED_ROOT, listing);
        let image = open(&bytes).unwrap();
        let (problems, names) = problems(&image);
        assert_eq!(names, others, "{what}");
        let error = problems.first().expect(what);
        assert_eq!(error.kind(), Kind::Corrupt, "{what}: {error}");
        assert!(error.place().is_some(), "{what}: {error}");
        let source = Arc::new(MemorySource(bytes));
        let report = check(source, &ReadOptions::default(), &Quiet).unwrap();
        assert!(!report.findings.is_sound(), "{what}");
    };
    damaged("itself", &["loop"], &|made| {
        let (start, len) = made.listing(&[("abcd", file(0, 0))]);
        made.listing(&[("loop", directory(start + len, 16))])
    });
    damaged("twice", &["a", "b", "f"], &|made| {
        let (start, len) = made.listing(&[("f", file(0, 0))]);
        let (a, b) = (directory(start, len), directory(start, len));
        made.listing(&[("a", a), ("b", b)])
    });
    damaged("outside", &["a", "z"], &|made| {
        made.listing(&[("a", directory(1 << 20, 16)), ("z", file(0, 0))])
    });
    damaged("equal names", &["a"], &|made| {
        made.listing(&[("a", file(0, 0)), ("a", file(0, 0))])
    });
    for name in ["", ".", "..", "a/b", "a\0b"] {
        damaged(name, &["z"], &|made| {
            made.listing(&[(name, file(0, 0)), ("z", file(0, 0))])
        });
    }
    damaged("cut name", &["a"], &|made| {
        let (start, len) = made.listing(&[("a", file(0, 0)), ("abcdefg", file(0, 0))]);
        (start, len - 4)
    });
    damaged("no type", &["z"], &|made| {
        let none = InodeFields::default();
        made.listing(&[("a", none), ("z", file(0, 0))])
    });
}

#[test]
fn unknown_flags_are_unsupported() {
    let mut made = Made::new(ByteOrder::Little);
    let listing = made.listing(&[]);
    let error = open(&made.finish(0x1000 | Flags::SHIFTED_ROOT, listing)).unwrap_err();
    assert_eq!(error.kind(), Kind::Unsupported, "{error}");
}

#[test]
fn damaged_pointers_are_errors() {
    let (bytes, whole) = all_pointers(ByteOrder::Little);
    let image = open(&bytes).unwrap();
    let ino = image.lookup(image.info().root, b"all").unwrap().unwrap();
    let mut first = None;
    image
        .stored_blocks(ino, &mut |block| {
            first.get_or_insert(block.position);
        })
        .unwrap();
    let pointers = first.unwrap() as usize - 28;
    for bad in [0, 1, 0x3fff_ffff, 0x7fff_ffff, 0xffff_ffff, 0x8000_0000] {
        for number in 0..7 {
            let mut bytes = bytes.clone();
            let at = pointers + number * 4;
            bytes[at..at + 4].copy_from_slice(&u32::to_le_bytes(bad));
            let Ok(image) = open(&bytes) else { continue };
            let mut room = vec![0; whole.len()];
            let read = image.read_at(ino, 0, &mut room);
            let error = read.expect_err("the pointer is wrong");
            assert_eq!(error.kind(), Kind::Corrupt);
            assert!(error.place().is_some(), "{error}");
            let source = Arc::new(MemorySource(bytes));
            check(source, &ReadOptions::default(), &Quiet).unwrap();
        }
    }
}
