//! Devices that create_compressed_fs made: their bytes are those that extract_compressed_fs finds;
//! and damaged ones.

#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::io::ErrorKind;
use std::process::Command;
use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_block::{MemorySource, ReadAt};
use sinterfs_cloop::{CloopDevice, CloopVersion, OpenOptions, is_image, is_image_by_end};
use sinterfs_codec::{CodecId, Encoding, zlib};
use sinterfs_model::{Kind, Limits, Result};
use sinterfs_testkit::{Random, read_file, shared, skip};

fn open(bytes: Vec<u8>) -> Result<CloopDevice> {
    let options = OpenOptions {
        offset: 0,
        limits: Limits {
            block: 1 << 20,
            ..Limits::default()
        },
        cache: Arc::new(BlockCache::new(1 << 20, 1 << 16)),
    };
    CloopDevice::open(Arc::new(MemorySource(bytes)), &options)
}

#[test]
fn the_device_is_the_one_that_was_compressed() {
    let Some(vectors) = shared("vectors") else {
        return;
    };
    let work = tempfile::tempdir().unwrap();
    for name in ["ext2-64k.img", "ext2-best.img", "ext2-128k-7zip.img"] {
        let file = vectors.join("images/cloop").join(name);
        let device = open(read_file(&file)).unwrap();
        let mut bytes = vec![0; device.len() as usize];
        device.read_at(0, &mut bytes).unwrap();
        // the magic number of ext2
        assert_eq!(bytes[1080..1082], [0x53, 0xef], "{name}");
        let mut random = Random(3);
        for _ in 0..200 {
            let start = random.below(bytes.len());
            let len = random.below(200_000).min(bytes.len() - start);
            let mut part = vec![0; len];
            device.read_at(start as u64, &mut part).unwrap();
            assert!(part == bytes[start..start + len], "{name} at {start}");
        }
        assert!(device.read_at(device.len() - 1, &mut [0; 2]).is_err());
        let peer = work.path().join("device");
        let extract = Command::new("extract_compressed_fs");
        match { extract }.args([&file, &peer]).output() {
            Ok(output) => {
                assert!(output.status.success(), "{name}: {output:?}");
                assert!(read_file(&peer) == bytes, "{name}");
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                skip("no extract_compressed_fs (cloop-utils)");
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn damage_ends_in_errors() {
    let Some(vectors) = shared("vectors") else {
        return;
    };
    let bytes = read_file(&vectors.join("images/cloop/ext2-64k.img"));
    assert!(is_image(&MemorySource(bytes.clone()), 0).unwrap());
    let with = |at: usize, new: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + new.len()].copy_from_slice(new);
        bytes
    };
    for (bad, kind) in [
        (with(12, b"7"), Kind::Unsupported),
        (with(128, &[0; 4]), Kind::Corrupt),
        (with(128, &[0, 1, 0, 1]), Kind::Corrupt),
        (with(128, &[0xff, 0, 0, 0]), Kind::Corrupt),
        (with(128, &[0, 0x80, 0, 0]), Kind::Limit),
        (with(132, &[0xff; 4]), Kind::Corrupt),
        (with(136, &[0; 8]), Kind::Corrupt),
        (with(152, &[0xff; 8]), Kind::Corrupt),
        (with(0, b"x"), Kind::Invalid),
    ] {
        assert_eq!(open(bad).unwrap_err().kind(), kind);
    }
    let mut random = Random(9);
    for _ in 0..300 {
        let mut bytes = bytes.clone();
        for _ in 0..=random.below(4) {
            let at = if random.below(2) == 0 {
                1000
            } else {
                bytes.len()
            };
            let at = random.below(at);
            bytes[at] = random.number() as u8;
        }
        let Ok(device) = open(bytes) else { continue };
        let len = device.len().min(8 << 20) as usize;
        let mut room = vec![0; len];
        let _ = device.read_at(0, &mut room);
    }
}

/// Bytes of a block of the images that are made here.
const BLOCK: usize = 8192;

/// Four blocks: text, zeros, noise and text.
fn content() -> Vec<u8> {
    let mut content = sinterfs_testkit::noise(4, 4 * BLOCK);
    for (at, byte) in content.iter_mut().enumerate() {
        match at / BLOCK {
            0 | 3 => *byte = b'a' + (at * at / 5 % 17) as u8,
            1 => *byte = 0,
            _ => {}
        }
    }
    content
}

fn head(version: &str, blocks: u32) -> Vec<u8> {
    let mut head = format!("#!/bin/sh\n#V{version} Format\n").into_bytes();
    head.resize(128, 0);
    head.extend((BLOCK as u32).to_be_bytes());
    head.extend(blocks.to_be_bytes());
    head
}

/// Returns an image with an index behind its header: `index` makes it of the starts, the last of
/// which is the end.
fn image(
    version: &str,
    width: u64,
    blocks: &[Vec<u8>],
    index: impl Fn(&[u64]) -> Vec<u8>,
) -> Vec<u8> {
    let mut at = 136 + width;
    let mut starts = vec![at];
    for block in blocks {
        at += block.len() as u64;
        starts.push(at);
    }
    let index = index(&starts);
    assert_eq!(index.len() as u64, width);
    [head(version, blocks.len() as u32), index, blocks.concat()].concat()
}

fn encoded(codec: CodecId, block: &[u8]) -> Option<Vec<u8>> {
    let encoding = Encoding::at_level(codec, 9).unwrap();
    encoding.encode_unit(block, Some(1 << 20)).unwrap()
}

fn compressed() -> Vec<Vec<u8>> {
    let content = content();
    let blocks = content.chunks(BLOCK);
    blocks
        .map(|block| encoded(CodecId::Zlib, block).unwrap_or_else(|| zlib::stored(block)))
        .collect()
}

fn all_of(bytes: &[u8]) -> Vec<u8> {
    let device = open(bytes.to_vec()).unwrap();
    device.read(0, device.len()).unwrap().to_vec()
}

/// The layouts are those that drivers and tools of the time wrote (docs/formats/cloop.md).
#[test]
fn versions_before_2_are_read() {
    let blocks = compressed();
    let short = image("0.68", 20, &blocks, |starts| {
        starts
            .iter()
            .flat_map(|at| (*at as u32).to_be_bytes())
            .collect()
    });
    let little = image("1.0", 40, &blocks, |starts| {
        starts.iter().flat_map(|at| at.to_le_bytes()).collect()
    });
    // in another order, with what follows each length
    let ranges = image("1.0", 64, &blocks, |starts| {
        let range = |pair: &[u64]| {
            let len = (pair[1] - pair[0]) as u32;
            [
                &pair[0].to_be_bytes()[..],
                &len.to_be_bytes(),
                &7_u32.to_be_bytes(),
            ]
            .concat()
        };
        starts.windows(2).flat_map(range).collect()
    });
    for (bytes, version) in [
        (short, CloopVersion::V0),
        (little, CloopVersion::V1),
        (ranges, CloopVersion::V1),
    ] {
        assert!(all_of(&bytes) == content(), "{version:?}");
        assert_eq!(open(bytes.clone()).unwrap().header().version, version);
        let mut cut = bytes.clone();
        cut.truncate(bytes.len() - 1);
        let error = open(cut).unwrap_err();
        assert_eq!(error.kind(), Kind::Corrupt, "{version:?}");
        assert!(error.to_string().contains("cut off"), "{error}");
        assert!(open(bytes[..150].to_vec()).is_err());
    }
}

/// The index of an empty device has the end alone.
#[test]
fn empty_devices_are_read() {
    let short = |starts: &[u64]| (starts[0] as u32).to_be_bytes().to_vec();
    let little = |starts: &[u64]| starts[0].to_le_bytes().to_vec();
    let long = |starts: &[u64]| starts[0].to_be_bytes().to_vec();
    for bytes in [
        image("0.68", 4, &[], short),
        image("1.0", 8, &[], little),
        image("1.0", 8, &[], long),
        image("2.0", 8, &[], long),
        image("4.0", 8, &[], long),
    ] {
        let device = open(bytes.clone()).unwrap();
        assert_eq!(device.len(), 0);
        device.read_at(0, &mut []).unwrap();
        assert_eq!(
            open(bytes[..138].to_vec()).unwrap_err().kind(),
            Kind::Corrupt
        );
    }
}

#[test]
fn version_3_has_lengths_at_the_end() {
    let blocks = compressed();
    let lens = |blocks: &[Vec<u8>]| -> Vec<u8> {
        blocks
            .iter()
            .flat_map(|block| (block.len() as u32).to_be_bytes())
            .collect()
    };
    let with = |width: u32, count: u32| {
        let tail = [width.to_be_bytes(), count.to_be_bytes()].concat();
        [head("3.0", u32::MAX), blocks.concat(), lens(&blocks), tail].concat()
    };
    let bytes = with(4, 4);
    assert!(all_of(&bytes) == content());
    for (bad, kind) in [
        (with(4, 3), Kind::Corrupt),
        (with(4, u32::MAX), Kind::Corrupt),
        (with(16, 4), Kind::Corrupt),
        (with(5, 4), Kind::Unsupported),
        (bytes[..140].to_vec(), Kind::Corrupt),
    ] {
        let found = open(bad).map(|device| device.read(0, device.len()).map(|_| ()));
        let error = found.and_then(|read| read).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    }
}

#[test]
fn version_4_has_a_codec_for_each_block() {
    let content = content();
    let part = |number: usize| &content[number * BLOCK..][..BLOCK];
    let blocks = [
        encoded(CodecId::Xz, part(0)).unwrap(),
        encoded(CodecId::Lzo, part(1)).unwrap(),
        part(2).to_vec(),
        encoded(CodecId::Lz4Hc, part(3)).unwrap(),
    ];
    let flags = [2_u64, 4, 1, 3, 0];
    let index = |starts: &[u64]| -> Vec<u8> {
        let entries = starts.iter().zip(flags);
        entries
            .flat_map(|(at, flag)| (at | flag << 60).to_be_bytes())
            .collect()
    };
    let first = image("4.0", 40, &blocks, index);
    assert!(all_of(&first) == content);
    // the header behind all else: streams
    let starts: Vec<u64> = (0..5)
        .map(|number| blocks[..number].concat().len() as u64)
        .collect();
    let last = [blocks.concat(), index(&starts), head("4.0", 4)].concat();
    assert!(!is_image(&MemorySource(last.clone()), 0).unwrap());
    assert!(is_image_by_end(&MemorySource(last.clone()), 0).unwrap());
    assert!(all_of(&last) == content);
    assert!(open(last[..last.len() - 1].to_vec()).is_err());
    let mut unknown = first.clone();
    unknown[136] |= 0xf0;
    let device = open(unknown).unwrap();
    assert_eq!(device.read(0, 1).unwrap_err().kind(), Kind::Unsupported);
    assert!(device.read(BLOCK as u64, 1).is_ok());
    // the last block may be shorter
    let mut short = blocks.to_vec();
    short[3] = encoded(CodecId::Lz4Hc, &part(3)[..5000]).unwrap();
    let device = open(image("4.0", 40, &short, index)).unwrap();
    assert!(device.read(3 * BLOCK as u64, 5000).unwrap()[..] == part(3)[..5000]);
    assert!(
        device
            .read(3 * BLOCK as u64 + 5000, 3192)
            .unwrap()
            .iter()
            .all(|byte| *byte == 0)
    );
}
