//! Extracts an image with a cache much smaller than what it holds: each block is decoded once.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::sync::Arc;

use sinterfs::build::{BuildRequest, Destination, build};
use sinterfs::image::BlockCache;
use sinterfs::ops::{ExtractOptions, extract};
use sinterfs::verify::{CheckOptions, check};
use sinterfs::{OpenOptions, Quiet, open_with};
use sinterfs_testkit::noise;

const BLOCK: usize = 64 << 10;
const FILES: usize = 60;

#[test]
fn far_references_make_no_block_be_decoded_twice() {
    let dir = tempfile::tempdir().unwrap();
    let (tree, path) = (dir.path().join("tree"), dir.path().join("image.dwarfs"));
    fs::create_dir(&tree).unwrap();
    let mut contents: Vec<Vec<u8>> = Vec::new();
    for number in 0..FILES {
        // compresses to half, and every other part has been in another file
        let mut content: Vec<u8> = Vec::new();
        for part in 0..4 {
            let own = noise((number * 10 + part) as u64, 24 << 10);
            content.extend(own.iter().map(|byte| byte & 15));
            let other = contents.get((number * 37 + part * 11) % FILES);
            content.extend(other.iter().flat_map(|other| &other[..16 << 10]));
        }
        fs::write(tree.join(format!("{number:02}")), &content).unwrap();
        contents.push(content);
    }
    let request = BuildRequest {
        destination: Destination::File {
            path: path.clone(),
            replace: false,
        },
        block_size: Some(BLOCK as u64),
        compression: Some("zstd:level=1".to_owned()),
        ..BuildRequest::new(&tree)
    };
    build(&request, &Quiet).unwrap();

    let deep = CheckOptions {
        deep: true,
        threads: 1,
    };
    let blocks = check(&path, &OpenOptions::default(), deep, &Quiet)
        .unwrap()
        .blocks;
    let few = 6 * BLOCK as u64;
    for (threads, cached, capacity) in [
        (1, few, few),
        (2, 0, few),
        (3, few, 2 * few),
        (1, u64::MAX, few),
    ] {
        let cache = Arc::new(BlockCache::new(capacity, BLOCK as u64));
        let options = OpenOptions {
            cache: Some(Arc::clone(&cache)),
            ..OpenOptions::default()
        };
        let opened = open_with(&path, &options).unwrap();
        assert!(blocks > 80, "the cache is small for {blocks} blocks");
        let options = ExtractOptions {
            threads,
            cached,
            ..ExtractOptions::default()
        };
        let target = dir.path().join(format!("out{threads}-{cached}-{capacity}"));
        let report = extract(&**opened.raw(), &target, &options, &Quiet).unwrap();
        assert_eq!((report.files, report.failed), (FILES as u64, 0));
        for (number, content) in contents.iter().enumerate() {
            assert!(fs::read(target.join(format!("{number:02}"))).unwrap() == *content);
        }
        // a block of this size is decoded in one step
        let decoded = cache.stats().misses;
        if cached == u64::MAX {
            assert!(decoded > 2 * blocks, "far references are far: {decoded}");
        } else {
            assert_eq!(decoded, blocks, "{threads} threads");
        }
    }
}
