//! Devices that create_compressed_fs made: their bytes are those that extract_compressed_fs finds;
//! and damaged ones.

#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::process::Command;
use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_block::{MemorySource, ReadAt};
use sinterfs_cloop::{CloopDevice, OpenOptions, is_image};
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
            Ok(output) if output.status.success() => {
                assert!(read_file(&peer) == bytes, "{name}");
            }
            _ => skip("no extract_compressed_fs"),
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
        (with(12, b"4"), Kind::Unsupported),
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
