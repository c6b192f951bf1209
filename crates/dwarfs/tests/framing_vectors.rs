//! Decodes every section of the images that upstream's mkdwarfs made, and finds what it decoded
//! from FLAC and RICEPP in the files they were made from.
//!
//! Needs the shared vectors (SINTER_SHARED or ../shared) and, for the files, python3 and root.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use sinterfs_dwarfs::framing::{self, id};
use sinterfs_testkit::{read_file, shared, skip};

const LIMIT: u64 = 1 << 30;

/// A section: compression id and payload.
type Section<'a> = (u16, &'a [u8]);

/// Walks the sections of an image with 64-byte headers, behind whatever header the file has.
fn sections(image: &[u8]) -> Vec<Section<'_>> {
    let field = |at: usize, len: usize| {
        image[at..at + len]
            .iter()
            .rev()
            .fold(0u64, |value, &byte| value << 8 | u64::from(byte))
    };
    let is_header = |at: usize, number: u64| {
        image.get(at..at + 7) == Some(b"DWARFS\x02")
            && image.len() >= at + 64
            && field(at + 0x30, 4) == number
    };
    let mut at = (0..image.len())
        .find(|&at| is_header(at, 0) && is_header(at + 64 + field(at + 0x38, 8) as usize, 1))
        .expect("an image has a first section");
    let mut found = Vec::new();
    while at < image.len() {
        assert!(
            is_header(at, found.len() as u64),
            "section {} at {at:#x}",
            found.len()
        );
        let len = field(at + 0x38, 8) as usize;
        found.push((field(at + 0x36, 2) as u16, &image[at + 64..at + 64 + len]));
        at += 64 + len;
    }
    found
}

/// Reads all images, packed ones too.
fn images(vectors: &Path) -> Vec<(String, Vec<u8>)> {
    let mut images = Vec::new();
    for entry in fs::read_dir(vectors.join("images/dwarfs")).unwrap() {
        let path = entry.unwrap().path();
        let name: String = path.file_name().unwrap().to_string_lossy().into();
        if name.ends_with(".img") || name.ends_with(".img.gz") {
            images.push((name, read_file(&path)));
        }
    }
    images.sort();
    images
}

#[test]
fn every_section_decodes_to_its_stated_size() {
    let Some(vectors) = shared("vectors") else {
        return;
    };
    let mut seen = BTreeMap::new();
    for (name, image) in images(&vectors) {
        for (index, (compression, payload)) in sections(&image).into_iter().enumerate() {
            let place = format!("{name}, section {index}, {:?}", framing::name(compression));
            let len = framing::decoded_len(compression, payload, LIMIT).expect(&place);
            let decoded = framing::decode(compression, payload, LIMIT).expect(&place);
            assert_eq!(decoded.len() as u64, len, "{place}");
            *seen.entry(compression).or_insert(0) += 1;
        }
    }
    for compression in [
        id::NONE,
        id::LZMA,
        id::ZSTD,
        id::BROTLI,
        id::FLAC,
        id::RICEPP,
    ] {
        assert!(
            seen.contains_key(&compression),
            "no {:?} in {seen:?}",
            framing::name(compression)
        );
    }
}

/// Builds a source tree and reads its files with samples.
fn sources(vectors: &Path, options: &[&str]) -> Option<Vec<Vec<u8>>> {
    let tree = tempfile::tempdir().unwrap();
    let status = Command::new("python3")
        .arg(vectors.join("make-tree.py"))
        .arg(tree.path())
        .args(options)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !status.is_ok_and(|status| status.success()) {
        return None;
    }
    let files = ["audio", "image"].into_iter().flat_map(|dir| {
        fs::read_dir(tree.path().join(dir))
            .unwrap()
            .map(|entry| entry.unwrap().path())
    });
    Some(
        files
            .filter(|path| path.is_file())
            .map(|path| fs::read(path).unwrap())
            .collect(),
    )
}

#[test]
fn samples_are_those_of_the_source_files() {
    let Some(vectors) = shared("vectors") else {
        return;
    };
    let (Some(small), Some(full)) = (
        sources(&vectors, &["--size", "small"]),
        sources(&vectors, &[]),
    ) else {
        return skip("no source tree (needs python3 and root)");
    };
    let mut seen = BTreeMap::new();
    for (name, image) in images(&vectors) {
        let files = if name == "l9-full.img" { &full } else { &small };
        for (compression, payload) in sections(&image) {
            if compression != id::FLAC && compression != id::RICEPP {
                continue;
            }
            let decoded = framing::decode(compression, payload, LIMIT).unwrap();
            let found = files.iter().any(|file| holds(file, &decoded));
            assert!(
                found,
                "{name}: {} bytes are in no source file",
                decoded.len()
            );
            *seen.entry(compression).or_insert(0) += 1;
        }
    }
    assert!(
        seen.get(&id::FLAC) >= Some(&12) && seen.get(&id::RICEPP) >= Some(&4),
        "{seen:?}"
    );
}

/// Returns whether one byte string is in another.
fn holds(file: &[u8], part: &[u8]) -> bool {
    !part.is_empty() && file.windows(part.len()).any(|window| window == part)
}
