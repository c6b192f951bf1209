//! Devices that we compress, unpacked by extract_compressed_fs and by ourselves.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::process::Command;
use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_block::{MemorySource, ReadAt};
use sinterfs_cloop::{BlockCodec, CloopDevice, OpenOptions, WriteOptions, WrittenVersion, write};
use sinterfs_model::{Kind, Limits, Quiet};
use sinterfs_testkit::{noise, skip};

/// Text, noise and zeros, which do not fill the last block.
fn device() -> Vec<u8> {
    let text: Vec<u8> = (0..700_000usize)
        .map(|i| b'a' + (i * i / 7 % 23) as u8)
        .collect();
    [
        text,
        noise(3, 300_001),
        vec![0; 200_000],
        b"the end".to_vec(),
    ]
    .concat()
}

fn image(options: WriteOptions) -> Vec<u8> {
    let mut image = Vec::new();
    let report = write(&MemorySource(device()), &mut image, options, &Quiet).unwrap();
    assert_eq!(report.stored, image.len() as u64);
    image
}

/// Returns the device with the padding of its last block.
fn padded(block_size: u32) -> Vec<u8> {
    let mut device = device();
    device.resize(device.len().next_multiple_of(block_size as usize), 0);
    device
}

#[test]
fn images_are_unpacked_by_their_own_tool() {
    let work = tempfile::tempdir().unwrap();
    for (block_size, level) in [
        (512, 1),
        (8192, 0),
        (65_536, 9),
        (131_072, 12),
        // extract_compressed_fs wants ten blocks or more
        (73_728, 0),
    ] {
        let options = WriteOptions {
            block_size,
            level,
            threads: 3,
            ..WriteOptions::default()
        };
        let bytes = image(options);
        let own = OpenOptions {
            offset: 0,
            limits: Limits::default(),
            cache: Arc::new(BlockCache::new(1 << 20, block_size.into())),
        };
        let opened = CloopDevice::open(Arc::new(MemorySource(bytes.clone())), &own).unwrap();
        let expected = padded(block_size);
        assert_eq!(opened.len(), expected.len() as u64);
        assert!(opened.read(0, opened.len()).unwrap()[..] == expected);
        let file = work.path().join("image");
        fs::write(&file, &bytes).unwrap();
        // it keeps what is behind the end of an older file
        let out = work.path().join(format!("device-{block_size}"));
        let mut extract = Command::new("extract_compressed_fs");
        match extract.arg(&file).arg(&out).output() {
            Ok(output) => assert!(output.status.success(), "{output:?}"),
            Err(_) => return skip("no extract_compressed_fs"),
        }
        assert!(fs::read(&out).unwrap() == expected, "{block_size} {level}");
    }
}

#[test]
fn version_4_comes_back() {
    let mut sizes = Vec::new();
    for (codec, level) in [
        (BlockCodec::Zlib, 9),
        (BlockCodec::Xz, 6),
        (BlockCodec::Lz4, 9),
        (BlockCodec::Lzo, 1),
        (BlockCodec::Stored, 9),
        (BlockCodec::Xz, 0),
    ] {
        let bytes = image(WriteOptions {
            version: WrittenVersion::V4(codec),
            level,
            threads: 2,
            ..WriteOptions::default()
        });
        assert!(bytes.starts_with(b"#!/bin/sh\n#V4.0 Format\n"));
        let own = OpenOptions {
            offset: 0,
            limits: Limits::default(),
            cache: Arc::new(BlockCache::new(1 << 20, 65_536)),
        };
        let opened = CloopDevice::open(Arc::new(MemorySource(bytes.clone())), &own).unwrap();
        assert!(
            opened.read(0, opened.len()).unwrap()[..] == padded(65_536),
            "{codec:?}"
        );
        sizes.push(bytes.len());
    }
    // noise is stored by each, text by the last two
    let [zlib, xz, lz4, lzo, stored, unpacked] = sizes[..] else {
        panic!("six sizes");
    };
    assert!(xz < zlib && zlib < lz4 && zlib < lzo, "{sizes:?}");
    assert!(
        lz4 < stored && lzo < stored && stored == unpacked,
        "{sizes:?}"
    );
}

#[test]
fn threads_do_not_change_the_image() {
    let by = |threads| {
        image(WriteOptions {
            threads,
            ..WriteOptions::default()
        })
    };
    let one = by(1);
    assert!(one == by(2) && one == by(7));
}

#[test]
fn a_device_without_bytes_is_an_image() {
    let mut image = Vec::new();
    let empty = MemorySource(Vec::new());
    let report = write(&empty, &mut image, WriteOptions::default(), &Quiet).unwrap();
    assert_eq!((report.blocks, report.stored, image.len()), (0, 144, 144));
}

#[test]
fn impossible_options_are_refused() {
    for (block_size, level) in [(0, 9), (700, 9), (1 << 27, 9), (65_536, 13), (65_536, -1)] {
        let options = WriteOptions {
            block_size,
            level,
            threads: 1,
            ..WriteOptions::default()
        };
        let refused = write(&MemorySource(vec![1]), &mut Vec::new(), options, &Quiet);
        assert_eq!(refused.unwrap_err().kind(), Kind::Invalid);
    }
}
