//! Checks sound images, which must be found sound, and damaged ones, whose damage must be found.

#![allow(clippy::unwrap_used, reason = "this is a test")]

mod support;

use std::path::PathBuf;
use std::sync::Arc;

use sinterfs_block::MemorySource;
use sinterfs_dwarfs::check::{Report, check};
use sinterfs_dwarfs::read::ReadOptions;
use sinterfs_model::{Kind, Quiet};

fn check_bytes(bytes: Vec<u8>, deep: bool) -> sinterfs_model::Result<Report> {
    check(
        Arc::new(MemorySource(bytes)),
        &ReadOptions::default(),
        deep,
        2,
        &Quiet,
    )
}

fn images() -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for below in [
        "images/dwarfs",
        "upstream/dwarfs",
        "upstream/dwarfs/compat",
        "upstream/dwarfs/bugs",
    ] {
        let Some(directory) = support::shared(format!("vectors/{below}")) else {
            continue;
        };
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_string_lossy();
            let image = [".img", ".img.gz", ".dwarfs"]
                .iter()
                .any(|end| name.ends_with(end));
            if image && !name.ends_with("future-features.dwarfs") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths
}

#[test]
fn sound_images_are_found_sound() {
    let mut failed = Vec::new();
    for path in images() {
        let report = check_bytes(support::read_file(&path), true).unwrap();
        if !report.is_sound() {
            failed.push(format!("{}: {:?}", path.display(), report.findings));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn every_damaged_byte_is_found() {
    let Some(path) = support::shared("vectors/upstream/dwarfs/unixlink.dwarfs") else {
        return;
    };
    let sound = support::read_file(&path);
    for at in 0..sound.len() {
        let mut bytes = sound.clone();
        bytes[at] ^= 0x10;
        match check_bytes(bytes, false) {
            // only by the first bytes is an image recognised at all
            Err(error) => assert!(
                matches!(error.kind(), Kind::Invalid | Kind::Unsupported),
                "byte {at}: {error}"
            ),
            Ok(report) => {
                assert!(
                    !report.is_sound() || !report.findings.notes().is_empty(),
                    "byte {at} passed"
                );
            }
        }
    }
}

#[test]
fn all_damage_is_listed_with_its_place() {
    let Some(path) = support::shared("vectors/images/dwarfs/l9-small-block.img") else {
        return;
    };
    let mut bytes = support::read_file(&path);
    let image = support::open(bytes.clone()).unwrap();
    let sections = image.sections().unwrap();
    // one byte in the middle of three blocks and of the history
    for index in [0, 3, 5, sections.len() - 2] {
        let section = &sections[index];
        bytes[(section.offset + 64 + section.len / 2) as usize] ^= 1;
    }
    let report = check_bytes(bytes, true).unwrap();
    let mut places: Vec<_> = report
        .findings
        .problems()
        .iter()
        .map(|error| error.place().unwrap().clone())
        .collect();
    places.dedup();
    let expected: Vec<_> = [0, 3, 5, sections.len() - 2]
        .iter()
        .map(|index| Some(sections[*index].offset))
        .collect();
    let mut offsets: Vec<_> = places.iter().map(|place| place.offset).collect();
    offsets.dedup();
    // the history is named twice: by its hash, and because it cannot be read
    assert_eq!(offsets[..4], expected, "{places:?}");
    assert_eq!(places[0].structure, "block 0");
    assert_eq!(report.sections, sections.len() as u64);
}
