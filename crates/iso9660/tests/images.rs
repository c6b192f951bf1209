//! Images made by hand, of what no tool at hand makes: interleaved and associated files, extended
//! attribute records, sessions as on a CD, small logical blocks; and hostile ones, which end in
//! errors.

#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use sinterfs_block::{MemorySource, ReadAt};
use sinterfs_iso9660::check::check;
use sinterfs_iso9660::layout::{
    DirectoryRecord, PosixFields, RecordFlags, ZisofsAlgorithm, ZisofsHeader, ZisofsVersion,
    both16, both32,
};
use sinterfs_iso9660::read::{Iso9660, ReadOptions};
use sinterfs_model::{Cursor, Error, FileType, Image, Ino, Kind, Quiet, Rdev, Result};
use sinterfs_testkit::noise;

const SECTOR: usize = 2048;
/// The sector of the root.
const ROOT: u32 = 20;
const DIR: u8 = RecordFlags::DIRECTORY;

/// An image in progress.
struct Disc(Vec<u8>);

impl Disc {
    fn new() -> Self {
        Self(vec![0; 200 * SECTOR])
    }

    fn put(&mut self, sector: u32, bytes: &[u8]) {
        self.put_at(sector as usize * SECTOR, bytes);
    }

    fn put_at(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Writes a directory: its own records, then those given.
    fn directory(&mut self, sector: u32, own: &[u8], records: &[Vec<u8>]) {
        let me = record(b"\0", sector, SECTOR, DIR, own);
        let parent = record(b"\x01", ROOT, SECTOR, DIR, &[]);
        let bytes = [me, parent, records.concat()].concat();
        self.put(sector, &bytes);
    }

    /// Writes the descriptors and the root, and opens the image.
    fn finish(&mut self, own: &[u8], records: &[Vec<u8>]) -> Vec<u8> {
        self.directory(ROOT, own, records);
        let blocks = (self.0.len() / SECTOR) as u32;
        self.put(16, &descriptor(ROOT, blocks, SECTOR as u16));
        self.put(17, b"\xffCD001\x01");
        self.0.clone()
    }
}

fn descriptor(root: u32, blocks: u32, block: u16) -> Vec<u8> {
    let mut sector = vec![0; SECTOR];
    sector[..7].copy_from_slice(b"\x01CD001\x01");
    sector[80..88].copy_from_slice(&both32(blocks));
    sector[128..132].copy_from_slice(&both16(block));
    sector[156..190].copy_from_slice(&record(b"\0", root, SECTOR, DIR, &[]));
    sector
}

fn record(name: &[u8], block: u32, len: usize, flags: u8, system_use: &[u8]) -> Vec<u8> {
    let record = DirectoryRecord {
        block,
        len: len as u32,
        flags: RecordFlags(flags),
        name,
        system_use,
        ..DirectoryRecord::default()
    };
    record.encode()
}

/// Encodes an entry of a system use area.
fn entry(signature: &[u8; 2], data: &[u8]) -> Vec<u8> {
    let head = [signature[0], signature[1], data.len() as u8 + 4, 1];
    [&head[..], data].concat()
}

fn sp() -> Vec<u8> {
    let mode = PosixFields {
        mode: 0o040_755,
        ..PosixFields::default()
    };
    [entry(b"SP", b"\xbe\xef\0"), entry(b"PX", &mode.encode())].concat()
}

fn px(mode: u32, links: u32, serial: Option<u32>) -> Vec<u8> {
    let fields = PosixFields {
        mode,
        links,
        uid: 1000,
        gid: 70_000,
        serial,
    };
    entry(b"PX", &fields.encode())
}

fn nm(name: &[u8]) -> Vec<u8> {
    entry(b"NM", &[&[0], name].concat())
}

fn ce(sector: u32, offset: usize, len: usize) -> Vec<u8> {
    let numbers = [sector, offset as u32, len as u32];
    entry(b"CE", &numbers.map(both32).concat())
}

fn open(bytes: &[u8]) -> Result<Iso9660> {
    let source = Arc::new(MemorySource(bytes.to_vec()));
    Iso9660::open(source, &ReadOptions::default())
}

fn find(image: &Iso9660, path: &str) -> Ino {
    path.split('/').fold(image.info().root, |dir, name| {
        let found = image.lookup(dir, name.as_bytes()).unwrap();
        found.unwrap_or_else(|| panic!("no {name} of {path}"))
    })
}

fn content(image: &Iso9660, path: &str) -> Result<Vec<u8>> {
    let ino = find(image, path);
    let size = image.inode(ino)?.size as usize;
    let mut whole = vec![0; size];
    assert_eq!(image.read_at(ino, 0, &mut whole)?, size);
    for (start, len) in [(1, 5), (2047, 2), (4000, 9000), (size.saturating_sub(1), 9)] {
        let mut part = vec![0; len];
        let read = image.read_at(ino, start as u64, &mut part)?;
        assert_eq!(
            part[..read],
            whole[start.min(size)..(start + len).min(size)]
        );
    }
    Ok(whole)
}

fn names(image: &Iso9660) -> Vec<String> {
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

#[test]
fn sections_of_every_kind() {
    let mut disc = Disc::new();
    let text = noise(1, 10_000);
    // two sectors, a gap of one, two sectors, a gap, one sector
    disc.put(40, &text[..2 * SECTOR]);
    disc.put(43, &text[2 * SECTOR..4 * SECTOR]);
    disc.put(46, &text[4 * SECTOR..]);
    let interleaved = DirectoryRecord {
        block: 40,
        len: 10_000,
        unit: 2,
        gap: 1,
        name: b"LEAVED.BIN;1",
        ..DirectoryRecord::default()
    };
    // three sections in another order
    disc.put(50, &text[2 * SECTOR..4 * SECTOR]);
    disc.put(52, &text[..2 * SECTOR]);
    disc.put(54, &text[4 * SECTOR..]);
    // an extended attribute record of one sector
    disc.put(60, &text[..100]);
    let attributed = DirectoryRecord {
        attribute_blocks: 1,
        block: 59,
        len: 100,
        name: b"XAR.;1",
        ..DirectoryRecord::default()
    };
    let more = RecordFlags::MORE;
    let bytes = disc.finish(
        &[],
        &[
            record(b"FORK.;1", 60, 5, RecordFlags::ASSOCIATED, &[]),
            record(b"FORK.;1", 60, 7, 0, &[]),
            interleaved.encode(),
            record(b"LONG.;1", 52, 2 * SECTOR, more, &[]),
            record(b"LONG.;1", 50, 2 * SECTOR, more, &[]),
            record(b"LONG.;1", 54, 10_000 - 4 * SECTOR, 0, &[]),
            record(b"TWICE.;2", 60, 2, 0, &[]),
            record(b"TWICE.;1", 60, 1, 0, &[]),
            attributed.encode(),
        ],
    );
    let image = open(&bytes).unwrap();
    let expected = ["FORK", "LEAVED.BIN", "LONG", "TWICE", "TWICE;1", "XAR"];
    assert_eq!(names(&image), expected);
    assert!(content(&image, "LEAVED.BIN").unwrap() == text);
    assert!(content(&image, "LONG").unwrap() == text);
    assert_eq!(content(&image, "XAR").unwrap(), &text[..100]);
    assert_eq!(content(&image, "TWICE").unwrap().len(), 2);
    assert_eq!(image.associated_files(), 1);
    let report = check(
        Arc::new(MemorySource(bytes)),
        &ReadOptions::default(),
        &Quiet,
    )
    .unwrap();
    assert!(report.findings.is_sound(), "{:?}", report.findings);
    assert_eq!(report.findings.notes().len(), 1);
}

#[test]
fn rock_ridge_of_every_kind() {
    let mut disc = Disc::new();
    let long = "n".repeat(250);
    // a name and a target that continue in two areas
    disc.put(
        30,
        &[
            entry(b"NM", &[&[1][..], &long.as_bytes()[..100]].concat()),
            ce(31, 8, 200),
        ]
        .concat(),
    );
    let first = entry(b"SL", b"\x01\x08\0\0\x01x");
    let second = entry(b"SL", b"\0\x04\0\x01\x02ab\0\x02cd");
    disc.put_at(
        31 * SECTOR + 8,
        &[nm(&long.as_bytes()[100..]), first, second].concat(),
    );
    let linked = [px(0o120_777, 1, None), ce(30, 0, 133)].concat();
    // a directory that was moved, below `a`
    disc.directory(
        33,
        &[px(0o040_711, 2, None), entry(b"PL", &both32(32))].concat(),
        &[],
    );
    let file = [px(0o100_644, 2, Some(9)), nm(b"first")].concat();
    disc.directory(
        32,
        &[],
        &[
            record(b"FIRST", 70, 5, 0, &file),
            record(
                b"MOVED",
                0,
                0,
                0,
                &[nm(b"moved"), entry(b"CL", &both32(33))].concat(),
            ),
        ],
    );
    disc.directory(
        34,
        &[],
        &[record(b"MOVED", 33, SECTOR, DIR, &entry(b"RE", &[]))],
    );
    disc.put(70, b"hello");
    let second = [px(0o100_644, 2, Some(9)), nm(b"second")].concat();
    let device = |high: u32, low: u32| entry(b"PN", &[both32(high), both32(low)].concat());
    let times = entry(
        b"TF",
        b"\x0e\x46\x01\x01\0\0\x01\0\x46\x01\x01\0\0\x02\0\x46\x01\x01\0\0\x03\0",
    );
    let bytes = disc.finish(
        &sp(),
        &[
            record(
                b"A",
                32,
                SECTOR,
                DIR,
                &[px(0o040_700, 2, None), nm(b"a")].concat(),
            ),
            record(
                b"B",
                0,
                0,
                0,
                &[px(0o020_600, 1, None), nm(b"new"), device(259, 70_000)].concat(),
            ),
            record(
                b"C",
                0,
                0,
                0,
                &[px(0o060_600, 1, None), nm(b"old"), device(0, 0x801)].concat(),
            ),
            record(b"L", 0, 0, 0, &linked),
            record(
                b"RR_MOVED",
                34,
                SECTOR,
                DIR,
                &[px(0o040_700, 2, None), nm(b"rr_moved")].concat(),
            ),
            record(b"S", 70, 5, 0, &[second, times].concat()),
        ],
    );
    let image = open(&bytes).unwrap();
    assert_eq!(names(&image), ["a", "new", &long, "old", "second"]);
    let inode = |path: &str| image.inode(find(&image, path)).unwrap();
    assert_eq!(find(&image, "a/first"), find(&image, "second"));
    let file = inode("a/first");
    assert_eq!(
        (file.nlink, file.meta.uid, file.meta.gid),
        (2, 1000, 70_000)
    );
    assert_eq!((inode("a/moved").meta.mode, inode("a").nlink), (0o711, 3));
    assert_eq!(
        image.parent(find(&image, "a/moved")).unwrap(),
        find(&image, "a")
    );
    assert_eq!(
        inode("new").rdev,
        Rdev {
            major: 259,
            minor: 70_000
        }
    );
    assert_eq!(inode("old").rdev, Rdev { major: 8, minor: 1 });
    let link = find(&image, &long);
    let target = image.read_link(link).unwrap();
    assert_eq!(String::from_utf8_lossy(&target), "/x/../abcd");
    assert_eq!(inode(&long).size, target.len() as u64);
    assert_eq!(inode(&long).kind, FileType::Symlink);
}

#[test]
fn times_of_both_lengths() {
    let mut disc = Disc::new();
    let short = b"\x0e\x46\x01\x01\0\0\x01\0\x46\x01\x01\0\0\x02\0\x46\x01\x01\0\0\x03\x04";
    let long = b"\x822000022900000050\0";
    let bytes = disc.finish(
        &sp(),
        &[
            record(
                b"L",
                70,
                0,
                0,
                &[px(0o100_644, 1, None), nm(b"long"), entry(b"TF", long)].concat(),
            ),
            record(
                b"S",
                70,
                0,
                0,
                &[px(0o100_644, 1, None), nm(b"short"), entry(b"TF", short)].concat(),
            ),
        ],
    );
    let image = open(&bytes).unwrap();
    let times = |path: &str| image.inode(find(&image, path)).unwrap().meta.times;
    let shown = times("short");
    let seconds = [shown.modified, shown.accessed, shown.changed].map(|time| time.secs);
    assert_eq!(seconds, [1, 2, 3 - 3600]);
    let shown = times("long").modified;
    assert_eq!((shown.secs, shown.nanos), (951_782_400, 500_000_000));
    assert_eq!(image.info().capability.time_unit, 10_000_000);
}

#[test]
fn the_last_session_is_opened() {
    let mut first = Disc::new();
    let mut bytes = first.finish(&[], &[record(b"OLD.;1", 70, 3, 0, &[])]);
    bytes.extend(vec![0; (11_400 + 40) * SECTOR]);
    let start = 200 + 11_400;
    let mut second = Disc(bytes);
    let root = start + 20;
    let records = [
        record(b"NEW.;1", 70, 3, 0, &[]),
        record(b"OLD.;1", 70, 3, 0, &[]),
    ];
    second.directory(root, &[], &records);
    second.put(start + 16, &descriptor(root, 40, SECTOR as u16));
    second.put(start + 17, b"\xffCD001\x01");
    let image = open(&second.0).unwrap();
    assert_eq!(names(&image), ["NEW", "OLD"]);
    assert_eq!(image.sessions(), [0, start.into()]);
}

#[test]
fn small_logical_blocks() {
    let mut disc = Disc::new();
    let block = 512;
    let at = 25 * SECTOR + 512;
    disc.finish(&[], &[]);
    let root = (ROOT as usize * SECTOR / block) as u32;
    let me = record(b"\0", root, SECTOR, DIR, &[]);
    let file = record(b"F.;1", (at / block) as u32, 4, 0, &[]);
    disc.put(ROOT, &[&me[..], &me, &file].concat());
    disc.put_at(at, b"text");
    disc.put(16, &descriptor(root, 800, block as u16));
    let image = open(&disc.0).unwrap();
    assert_eq!(content(&image, "F").unwrap(), b"text");
}

/// A file compressed by zisofs, with a hole.
fn compressed(version: ZisofsVersion, whole: &[u8]) -> (ZisofsHeader, Vec<u8>) {
    let header = ZisofsHeader {
        version,
        algorithm: ZisofsAlgorithm::Zlib,
        header_words: (version.header_len() / 4) as u8,
        block_bits: 15,
        size: whole.len() as u64,
    };
    let blocks = whole.chunks(1 << 15).map(|block| {
        if block.iter().all(|byte| *byte == 0) {
            return Vec::new();
        }
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(9));
        encoder.write_all(block).unwrap();
        encoder.finish().unwrap()
    });
    let blocks: Vec<_> = blocks.collect();
    let width = version.pointer_len() as usize;
    let mut bytes = header.encode();
    let mut end = bytes.len() + (blocks.len() + 1) * width;
    for len in std::iter::once(0).chain(blocks.iter().map(Vec::len)) {
        end += len;
        bytes.extend(&(end as u64).to_le_bytes()[..width]);
    }
    bytes.extend(blocks.concat());
    (header, bytes)
}

fn of_zisofs(header: ZisofsHeader, bytes: &[u8], announced: bool) -> Vec<u8> {
    let mut disc = Disc::new();
    disc.put(70, bytes);
    let mut system_use = [px(0o100_644, 1, None), nm(b"f")].concat();
    if announced {
        let mut zf = entry(b"ZF", &header.encode_entry());
        zf[3] = if header.version == ZisofsVersion::V1 {
            1
        } else {
            2
        };
        system_use.extend(zf);
    }
    disc.finish(&sp(), &[record(b"F", 70, bytes.len(), 0, &system_use)])
}

#[test]
fn compressed_files() {
    let text: Vec<u8> = (0..40_000).map(|i| b'a' + (i * i / 7 % 23) as u8).collect();
    let whole = [text, vec![0; 60_000], b"end".to_vec()].concat();
    for version in [ZisofsVersion::V1, ZisofsVersion::V2] {
        let (header, bytes) = compressed(version, &whole);
        for announced in [true, false] {
            let image = open(&of_zisofs(header, &bytes, announced)).unwrap();
            assert!(
                content(&image, "f").unwrap() == whole,
                "{version:?} {announced}"
            );
            let inode = image.inode(find(&image, "f")).unwrap();
            assert_eq!(inode.size - inode.allocated, 1 << 15);
        }
        // what is not quite such a file is shown as it is, unless it is announced as one
        let damaged: [(usize, u8); 3] = [(0, 1), (header.pointers() as usize, 1), (13, 0xff)];
        for (at, change) in damaged {
            let mut bytes = bytes.clone();
            bytes[at] ^= change;
            let image = open(&of_zisofs(header, &bytes, false)).unwrap();
            assert!(
                content(&image, "f").unwrap() == bytes,
                "{version:?} at {at}"
            );
            let image = open(&of_zisofs(header, &bytes, true)).unwrap();
            let error = content(&image, "f").unwrap_err();
            assert_eq!(error.kind(), Kind::Corrupt);
            assert!(error.place().is_some(), "{error}");
        }
    }
}

#[test]
fn damaged_blocks_are_errors() {
    let whole = noise(5, 100_000);
    for version in [ZisofsVersion::V1, ZisofsVersion::V2] {
        let (header, bytes) = compressed(version, &whole);
        let width = version.pointer_len() as usize;
        for number in 0..5 {
            for bad in [0u64, 1, 0x7fff_ffff, u64::MAX, bytes.len() as u64 + 1] {
                let mut bytes = bytes.clone();
                let at = header.pointers() as usize + number * width;
                bytes[at..at + width].copy_from_slice(&bad.to_le_bytes()[..width]);
                let image = of_zisofs(header, &bytes, true);
                let error = content(&open(&image).unwrap(), "f").unwrap_err();
                assert_eq!(error.kind(), Kind::Corrupt, "{error}");
                assert!(error.place().is_some(), "{error}");
                let source = Arc::new(MemorySource(image));
                let report = check(source, &ReadOptions::default(), &Quiet).unwrap();
                assert!(!report.findings.is_sound() || bad == 1 || bad == 0);
            }
        }
    }
    // more blocks than any file has
    let (mut header, _) = compressed(ZisofsVersion::V2, b"text");
    header.size = u64::MAX;
    let bytes = header.encode();
    let image = open(&of_zisofs(header, &bytes, true)).unwrap();
    let ino = find(&image, "f");
    assert!(image.read_at(ino, 0, &mut [0; 10]).is_err());
    let error = image.extents(ino, 0, &mut |_| ControlFlow::Continue(()));
    assert_eq!(error.unwrap_err().kind(), Kind::Corrupt);
}

/// Opens an image of which the whole or an entry must be refused: the listing of its directory
/// ends with an error then.
fn refused(bytes: &[u8], what: &str) -> Error {
    let error = match open(bytes) {
        Ok(image) => listing_error(&image, image.info().root, 0),
        Err(error) => Some(error),
    };
    let error = error.unwrap_or_else(|| panic!("{what} is accepted"));
    assert_eq!(error.kind(), Kind::Corrupt, "{what}: {error}");
    // a place in the image, or the entries of the directory by name
    let names_entries = error.to_string().contains("entries are left out: ");
    assert!(error.place().is_some() || names_entries, "{what}: {error}");
    error
}

/// Lists a directory and those in it; returns the first error. Names that are listed are sound.
fn listing_error(image: &Iso9660, dir: Ino, depth: u32) -> Option<Error> {
    assert!(depth < 8, "directories that do not end");
    let mut below = Vec::new();
    let listed = image.read_dir(dir, Cursor::START, &mut |entry| {
        let is_sound = !entry.name.is_empty() && !entry.name.contains(&b'/');
        assert!(is_sound && !matches!(entry.name, b"." | b".."));
        below.push(entry.ino);
        ControlFlow::Continue(())
    });
    let is_directory = |&ino: &Ino| {
        let inode = image.inode(ino);
        inode.is_ok_and(|inode| inode.kind == FileType::Directory)
    };
    let mut directories = below.into_iter().filter(is_directory);
    listed
        .err()
        .or_else(|| directories.find_map(|ino| listing_error(image, ino, depth + 1)))
}

#[test]
fn hostile_trees_end_in_errors() {
    let refuse = |what: &str, own: &[u8], records: &[Vec<u8>]| {
        let mut disc = Disc::new();
        disc.directory(32, &[], &[record(b"UP", ROOT, SECTOR, DIR, &[])]);
        refused(&disc.finish(own, records), what);
    };
    let dir = |name: &[u8], sector| record(name, sector, SECTOR, DIR, &[]);
    refuse("a directory in itself", &[], &[dir(b"LOOP", ROOT)]);
    refuse("a loop of two", &[], &[dir(b"DOWN", 32)]);
    refuse("a directory twice", &[], &[dir(b"A", 40), dir(b"B", 40)]);
    refuse("a directory outside", &[], &[dir(b"FAR", 4_000_000_000)]);
    let huge = record(b"HUGE", 40, u32::MAX as usize, DIR, &[]);
    refuse("a directory of 4 GiB", &[], &[huge]);
    let file = |name: &[u8]| record(name, 40, 4, 0, &[]);
    refuse("equal names", &[], &[file(b"A"), file(b"A")]);
    for name in [&b".."[..], b".", b"A/B", b"A\0B", b"\0\0\0"] {
        refuse("a name", &[], &[file(name)]);
    }
    let more = record(b"M", 40, 4, RecordFlags::MORE, &[]);
    refuse("no last section", &[], std::slice::from_ref(&more));
    refuse("another file's section", &[], &[more, file(b"N")]);
    let mut cut = file(b"CUTNAME");
    cut[0] = 34;
    refuse("a name past its record", &[], &[cut]);
    refuse(
        "a record that crosses its sector",
        &[],
        &vec![file(&[b'Z'; 200]); 9],
    );
    for name in [&b".."[..], b"a/b", b""] {
        let bad = [px(0o100_644, 1, None), nm(name)].concat();
        refuse(
            "a name of Rock Ridge",
            &sp(),
            &[record(b"A", 40, 4, 0, &bad)],
        );
    }
    let with = |system_use: Vec<u8>| [record(b"A", 40, 4, 0, &system_use)];
    refuse("no type", &sp(), &with(px(0o644, 1, None)));
    refuse(
        "a directory that is none",
        &sp(),
        &with(px(0o040_755, 1, None)),
    );
    let moved = |sector| with([nm(b"m"), entry(b"CL", &both32(sector))].concat());
    refuse("moved to itself", &sp(), &moved(ROOT));
    refuse("moved to nothing", &sp(), &moved(50));
    refuse("moved outside", &sp(), &moved(4_000_000_000));
    refuse("continued outside", &sp(), &with(ce(4_000_000_000, 0, 100)));
    refuse(
        "continued for 4 GiB",
        &sp(),
        &with(ce(40, 0, u32::MAX as usize)),
    );
}

#[test]
fn continuations_that_lead_back_end() {
    let mut disc = Disc::new();
    disc.put(40, &ce(40, 0, 28));
    let looped = [px(0o100_644, 1, None), ce(40, 0, 28)].concat();
    let bytes = disc.finish(&sp(), &[record(b"A", 41, 4, 0, &looped)]);
    refused(&bytes, "a loop");
    // many records that share one large area
    let mut disc = Disc::new();
    disc.0.resize(700 * SECTOR, 0);
    let shared = [px(0o100_644, 1, None), ce(100, 0, 1 << 20)].concat();
    let records: Vec<_> = (0..20u8)
        .map(|i| record(&[b'A' + i], 41, 4, 0, &shared))
        .collect();
    let bytes = disc.finish(&sp(), &records);
    refused(&bytes, "a shared area");
}

/// A source of which some bytes cannot be read.
struct Failing(MemorySource, std::ops::Range<u64>);

impl ReadAt for Failing {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        if offset < self.1.end && offset + buf.len() as u64 > self.1.start {
            let error = std::io::Error::other("a bad sector");
            return Err(Error::io("cannot read", error));
        }
        self.0.read_at(offset, buf)
    }
}

#[test]
fn read_errors_do_not_change_the_format() {
    let (header, bytes) = compressed(ZisofsVersion::V1, &noise(9, 100_000));
    let image = of_zisofs(header, &bytes, false);
    let failing = |sector: u64| {
        let range = sector * SECTOR as u64..sector * SECTOR as u64 + 1;
        let source = Failing(MemorySource(image.clone()), range);
        Iso9660::open(Arc::new(source), &ReadOptions::default())
    };
    // the record of the root: not an image without Rock Ridge
    assert_eq!(failing(u64::from(ROOT)).unwrap_err().kind(), Kind::Io);
    // the header of a compressed file: not a file of another size
    let opened = failing(70).unwrap();
    let ino = find(&opened, "f");
    assert_eq!(opened.inode(ino).unwrap_err().kind(), Kind::Io);
}

#[test]
fn blocks_at_one_position_are_distinguished() {
    let content: Vec<u8> = (0..20_000).map(|at| (at / 100) as u8).collect();
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(9));
    encoder.write_all(&content).unwrap();
    let stored = encoder.finish().unwrap();
    let mut disc = Disc::new();
    disc.put(71, &stored);
    let more = RecordFlags::MORE;
    let mut records = Vec::new();
    // the block of both files is in sector 71: all of `a`, and the first of two of `b`
    for (name, sector, size) in [(b"a", 70, 20_000), (b"b", 72, 40_000)] {
        let header = ZisofsHeader {
            size,
            ..compressed(ZisofsVersion::V1, b"text").0
        };
        let end = SECTOR + stored.len();
        let pointers = [SECTOR, end, end].map(|at| (at as u32).to_le_bytes());
        disc.put(sector, &[header.encode(), pointers.concat()].concat());
        let mut zf = entry(b"ZF", &header.encode_entry());
        zf[3] = 1;
        let system_use = [px(0o100_644, 1, None), nm(name), zf].concat();
        for (sector, flags) in [(sector, more), (71, 0)] {
            records.push(record(name, sector, SECTOR, flags, &system_use));
        }
    }
    let image = open(&disc.finish(&sp(), &records)).unwrap();
    let part = |name: &str| {
        let mut bytes = [0; 100];
        image.read_at(find(&image, name), 500, &mut bytes)?;
        Ok::<_, Error>(bytes)
    };
    assert_eq!(part("a").unwrap(), content[500..600]);
    let error = part("b").unwrap_err();
    assert!(error.what().contains("expected 32768"), "{error}");
    assert_eq!(part("a").unwrap(), content[500..600]);
}

#[test]
fn a_section_outside_the_image_is_reported() {
    let mut disc = Disc::new();
    let more = RecordFlags::MORE;
    let bytes = disc.finish(
        &[],
        &[
            record(b"LONG.;1", 5000, SECTOR, more, &[]),
            record(b"LONG.;1", 50, SECTOR, 0, &[]),
        ],
    );
    let source = Arc::new(MemorySource(bytes));
    let report = check(source, &ReadOptions::default(), &Quiet).unwrap();
    let problems = report.findings.into_messages().0;
    assert!(
        problems.iter().any(|what| what.contains("after the end")),
        "{problems:?}"
    );
}
