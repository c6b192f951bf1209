//! Images that no tool writes: each is made here, and is refused or read within bounds.

#![allow(clippy::unwrap_used, reason = "this is a test")]

mod support;

use std::sync::Arc;

use sinterfs_block::checksum::Sha1Digest;
use sinterfs_block::{MemorySource, ReadAt};
use sinterfs_model::{Error, Image, Kind, Quiet, Result};
use sinterfs_wim::check::check;
use sinterfs_wim::layout::{HEADER_LEN, ResourceEntry, ResourceFlags, WimHeader, attributes};
use support::{Made, ROOT_LISTING, directory, entry, file, open, options, solid, source};

#[test]
fn sizes_that_exceed_64_bits_are_no_panic() {
    let mut made = Made::default();
    // each chunk takes 5 stored bytes at least, so that this is 2^50 bytes
    let chunks = 1 << 20;
    let resource = made.resource(&solid(chunks << 30, 1 << 30, 5 * chunks as usize));
    made.solid_resource(resource);
    let contents: Vec<_> = (0..1 << 14)
        .map(|_| made.solid_blob(0, chunks << 30))
        .collect();
    let names = (0..).map(|number: u32| number.to_string());
    let files = contents.iter().zip(names);
    let files: Vec<_> = files.map(|(blob, name)| file(&name, *blob)).collect();
    let bytes = made.finish(&directory(&files));
    let image = open(&bytes).unwrap();
    assert_eq!(image.info().totals.bytes, Some(u64::MAX));
    assert_eq!(image.decoded_bytes(), u64::MAX);
    let report = check(source(&bytes), &[], &options(), false, &Quiet).unwrap();
    assert!(report.findings.is_sound(), "{:?}", report.findings);
}

#[test]
fn each_reader_of_damaged_content_learns_of_it() {
    let mut made = Made::default();
    let resource = made.resource(&[7; 3000]);
    let damaged = made.some_digest();
    made.entry(resource, damaged);
    let bytes = made.finish(&directory(&[file("a", damaged), file("b", damaged)]));
    let image = open(&bytes).unwrap();
    let read = |name: &[u8], at| {
        let ino = image.lookup(image.info().root, name).unwrap().unwrap();
        image.read_at(ino, at, &mut [0; 1000])
    };
    for at in [0, 1000] {
        assert_eq!(read(b"a", at).unwrap(), 1000);
        assert_eq!(read(b"b", at).unwrap(), 1000);
    }
    for name in [b"a", b"b"] {
        let error = read(name, 2000).unwrap_err();
        assert!(error.what().contains("SHA-1"), "{error}");
    }
}

#[test]
fn reads_that_nobody_continues_do_not_end_the_comparison_of_others() {
    let mut made = Made::default();
    let mut files = Vec::new();
    for number in 0..2000_u32 {
        let blob = made.content(&number.to_le_bytes());
        files.push(file(&number.to_string(), blob));
    }
    let resource = made.resource(b"damaged");
    let damaged = made.some_digest();
    files.push(file("damaged", made.entry(resource, damaged)));
    let image = open(&made.finish(&directory(&files))).unwrap();
    let ino = |name: &str| {
        let root = image.info().root;
        image.lookup(root, name.as_bytes()).unwrap().unwrap()
    };
    for number in 0..2000 {
        image
            .read_at(ino(&number.to_string()), 0, &mut [0; 2])
            .unwrap();
    }
    image.read_at(ino("damaged"), 0, &mut [0; 4]).unwrap();
    let error = image.read_at(ino("damaged"), 4, &mut [0; 4]).unwrap_err();
    assert_eq!(error.kind(), Kind::Corrupt, "{error}");
    // a program that reads files in several parts must know
    assert!(image.info().checked_in_order);
}

#[test]
fn listings_that_are_parts_of_each_other_are_refused() {
    const COUNT: u64 = 50;
    let unusable = file("a/b", [0; 20]);
    let first = file("000", [0; 20]).len() as u64;
    // the listing of each directory is the rest of one listing, from another entry on
    let listings = ROOT_LISTING + COUNT * first + 8;
    let directories: Vec<_> = (0..COUNT)
        .map(|number| {
            let at = listings + number * unusable.len() as u64;
            entry(&format!("{number:03}"), attributes::DIRECTORY, at, [0; 20])
        })
        .collect();
    let mut metadata = directory(&directories);
    for _ in 0..COUNT {
        metadata.extend_from_slice(&unusable);
    }
    metadata.extend_from_slice(&[0; 8]);
    let error = open(&Made::default().finish(&metadata)).unwrap_err();
    assert_eq!(error.kind(), Kind::Corrupt, "{error}");
    assert!(error.what().contains("overlap"), "{error}");
}

#[test]
fn resources_that_overlap_are_refused() {
    let image = |overlapping: fn(&mut ResourceEntry)| {
        let mut made = Made::default();
        let mut resource = made.resource(&[7; 2000]);
        (resource.stored, resource.len) = (1000, 1000);
        let one = made.some_digest();
        made.entry(resource, one);
        overlapping(&mut resource);
        let other = made.some_digest();
        made.entry(resource, other);
        open(&made.finish(&directory(&[file("a", one), file("b", other)])))
    };
    let cases: [fn(&mut ResourceEntry); 3] = [
        |resource| (resource.stored, resource.len) = (999, 999),
        |resource| (resource.at, resource.stored, resource.len) = (HEADER_LEN as u64 + 1, 5, 5),
        |resource| resource.at += 999,
    ];
    for change in cases {
        let error = image(change).unwrap_err();
        assert_eq!(error.kind(), Kind::Corrupt, "{error}");
        assert!(error.what().contains("overlap"), "{error}");
        assert!(error.place().is_some(), "{error}");
    }
    // behind each other, and twice the same
    let behind: fn(&mut ResourceEntry) = |resource| resource.at += 1000;
    for change in [behind, |_| {}] {
        image(change).unwrap();
    }
}

/// Returns an entry with streams.
fn with_streams(name: &str, streams: &[(&str, Sha1Digest)]) -> Vec<u8> {
    let mut bytes = file(name, [0; 20]);
    bytes[96..98].copy_from_slice(&(streams.len() as u16).to_le_bytes());
    for (name, digest) in streams {
        let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut stream = vec![0; 38];
        stream[0..8].copy_from_slice(&(38 + name.len() as u64).to_le_bytes());
        stream[16..36].copy_from_slice(digest);
        stream[36..38].copy_from_slice(&(name.len() as u16).to_le_bytes());
        stream.extend_from_slice(&name);
        stream.resize(stream.len().next_multiple_of(8), 0);
        bytes.extend_from_slice(&stream);
    }
    bytes
}

#[test]
fn named_streams_are_bounded() {
    let mut made = Made::default();
    let large = made.content(&[7; 1 << 16]);
    let names: Vec<String> = (0..300).map(|number| number.to_string()).collect();
    let many: Vec<_> = names.iter().map(|name| (name.as_str(), large)).collect();
    let long = "x".repeat(251);
    let files = [
        with_streams("many", &many),
        with_streams("again", &[("same", large); 300]),
        with_streams("names", &[("a\0b", large), (&long, large), ("fine", large)]),
    ];
    let image = open(&made.finish(&directory(&files))).unwrap();
    let xattrs = |name: &[u8]| {
        let ino = image.lookup(image.info().root, name).unwrap().unwrap();
        image.xattrs(ino)
    };
    let error = xattrs(b"many").unwrap_err();
    assert_eq!(error.kind(), Kind::Limit, "{error}");
    assert_eq!(xattrs(b"again").unwrap().len(), 1);
    let found = xattrs(b"names").unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, b"user.fine");
    assert_eq!(image.lost_entries()[0].count, 1);
}

#[test]
fn names_of_attributes_are_bounded() {
    let image = |len: usize| {
        let pair = [
            &(len as u32).to_le_bytes()[..],
            &4_u32.to_le_bytes(),
            &vec![b'x'; len],
            &[0; 4],
        ];
        let mut item = pair.concat();
        item.resize(item.len().next_multiple_of(4), 0);
        let mut bytes = file("a", [0; 20]);
        bytes.extend_from_slice(&0x337d_d874_u32.to_le_bytes());
        bytes.extend_from_slice(&(item.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&item);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let len = bytes.len() as u64;
        bytes[..8].copy_from_slice(&len.to_le_bytes());
        open(&Made::default().finish(&directory(&[bytes])))
    };
    assert!(image(255).is_ok());
    let error = image(256).unwrap_err();
    assert!(error.what().contains("256 bytes"), "{error}");
}

/// A source of which some bytes cannot be read.
struct Failing(Vec<u8>, std::ops::Range<u64>);

impl ReadAt for Failing {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        if offset < self.1.end && offset + buf.len() as u64 > self.1.start {
            let error = std::io::Error::other("a bad sector");
            return Err(Error::io("cannot read", error));
        }
        MemorySource(self.0.clone()).read_at(offset, buf)
    }
}

#[test]
fn a_table_of_digests_that_cannot_be_read_is_no_damage() {
    let digests = [0; 5000 * 20];
    let image = |count: u32| {
        let mut made = Made::default();
        let table = [
            &(digests.len() as u32 + 12).to_le_bytes()[..],
            &count.to_le_bytes(),
            &1_u32.to_le_bytes(),
            &digests,
        ];
        let integrity = made.resource(&table.concat());
        let change = |header: &mut WimHeader| header.integrity = integrity;
        (integrity.at, made.finish_with(&directory(&[]), change))
    };
    let (at, bytes) = image(u32::MAX);
    let report = check(source(&bytes), &[], &options(), false, &Quiet).unwrap();
    let problems = report.findings.into_messages().0;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("integrity table"), "{problems:?}");
    assert_eq!(problems[0].matches("corrupt").count(), 1, "{problems:?}");
    let failing = Arc::new(Failing(bytes, at..at + 1));
    let error = check(failing, &[], &options(), false, &Quiet).unwrap_err();
    assert_eq!(error.kind(), Kind::Io, "{error}");
}

#[test]
fn damaged_xml_data_costs_the_names_of_images_alone() {
    let cases: [fn(&mut WimHeader); 3] = [
        |header| header.xml.at = 1 << 50,
        |header| header.xml.stored = 1 << 50,
        |header| header.xml.flags.0 |= ResourceFlags::COMPRESSED,
    ];
    for change in cases {
        let mut made = Made::default();
        let blob = made.content(b"content");
        let bytes = made.finish_with(&directory(&[file("a", blob)]), change);
        let image = open(&bytes).unwrap();
        assert_eq!(image.images()[0].name, "");
        let report = check(source(&bytes), &[], &options(), true, &Quiet).unwrap();
        let problems = report.findings.into_messages().0;
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains("XML data"), "{problems:?}");
    }
}
