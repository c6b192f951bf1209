//! Images of every format inside a compressed device: opened and checked as if they were files.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use sinterfs::build::{BuildRequest, Destination, FormatOptions, build};
use sinterfs::image::MemorySource;
use sinterfs::{OpenOptions, Quiet, open_source};
use sinterfs_codec::{CodecId, Encoding};
use sinterfs_model::Kind;

const BLOCK_SIZE: usize = 32 << 10;

/// Makes a compressed device of some bytes.
fn compressed(content: &[u8]) -> Vec<u8> {
    let mut blocks = Vec::new();
    for block in content.chunks(BLOCK_SIZE) {
        let mut block = block.to_vec();
        block.resize(BLOCK_SIZE, 0);
        let zlib = Encoding::at_level(CodecId::Zlib, 9).unwrap();
        blocks.push(zlib.encode_unit(&block, None).unwrap());
    }
    let mut device = b"#!/bin/sh\n#V2.0 Format\n".to_vec();
    device.resize(128, 0);
    device.extend((BLOCK_SIZE as u32).to_be_bytes());
    device.extend((blocks.len() as u32).to_be_bytes());
    let mut at = 136 + (blocks.len() as u64 + 1) * 8;
    let blocks: Vec<Vec<u8>> = blocks.into_iter().map(Option::unwrap).collect();
    for block in &blocks {
        device.extend(at.to_be_bytes());
        at += block.len() as u64;
    }
    device.extend(at.to_be_bytes());
    device.extend(blocks.concat());
    device
}

fn text() -> Vec<u8> {
    let lines = (0..4000).map(|n| format!("line {n} of a text, {}\n", n * n % 97));
    lines.collect::<String>().into_bytes()
}

fn image_of(format: &str, tree: &Path, path: &Path) -> Vec<u8> {
    let request = BuildRequest {
        destination: Destination::File {
            path: path.to_owned(),
            replace: true,
        },
        format: Some(FormatOptions::named(format).unwrap()),
        level: 0,
        ..BuildRequest::new(tree)
    };
    build(&request, &Quiet).unwrap();
    fs::read(path).unwrap()
}

#[test]
fn images_inside_are_opened() {
    let work = tempfile::tempdir().unwrap();
    let tree = work.path().join("tree");
    fs::create_dir_all(tree.join("dir")).unwrap();
    fs::write(tree.join("dir/text"), text()).unwrap();
    for format in ["dwarfs", "squashfs", "erofs", "cramfs"] {
        let image = image_of(format, &tree, &work.path().join("image"));
        let padded = [image, vec![0; BLOCK_SIZE]].concat();
        let device = compressed(&padded);
        let source = Arc::new(MemorySource(device.clone()));
        let opened = open_source(source, &OpenOptions::default()).unwrap();
        let image = &**opened.raw();
        assert_eq!(image.info().format, format);
        let dir = image.lookup(image.info().root, b"dir").unwrap().unwrap();
        let file = image.lookup(dir, b"text").unwrap().unwrap();
        let mut found = vec![0; text().len()];
        assert_eq!(image.read_at(file, 0, &mut found).unwrap(), found.len());
        assert!(found == text(), "{format}");
    }
}

#[test]
fn a_device_inside_another_is_refused() {
    let twice = compressed(&compressed(&vec![0; 1 << 20]));
    let source = Arc::new(MemorySource(twice));
    let opened = open_source(source, &OpenOptions::default()).map(drop);
    assert_eq!(opened.unwrap_err().kind(), Kind::Unsupported);
}
