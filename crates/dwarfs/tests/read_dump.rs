//! Compares the text of an image with what it has to be, line by line.

#![allow(clippy::unwrap_used, reason = "this is a test")]

mod support;

use sinterfs_dwarfs::dump::{Parts, dump};
use sinterfs_model::Image;

fn dump_of(path: &str, parts: Parts) -> Option<String> {
    let path = support::shared(format!("vectors/upstream/dwarfs/{path}"))?;
    let image = support::open(support::read_file(&path)).unwrap();
    let mut text = Vec::new();
    dump(&image, parts, &mut text).unwrap();
    Some(String::from_utf8(text).unwrap())
}

const TABLES: Parts = Parts {
    sections: false,
    schema: false,
    tables: true,
};

#[test]
fn a_windows_image() {
    let Some(text) = dump_of("winlink.dwarfs", TABLES) else {
        return;
    };
    assert_same_text(&text, include_str!("golden/winlink.txt"));
}

#[test]
fn an_image_of_version_2_0() {
    let parts = Parts {
        sections: true,
        ..TABLES
    };
    let Some(text) = dump_of("compat/compat-v0.2.0.dwarfs", parts) else {
        return;
    };
    assert_same_text(&text, include_str!("golden/compat-v0.2.0.txt"));
}

fn assert_same_text(found: &str, expected: &str) {
    for (number, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {}", number + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}

#[test]
fn links_of_windows_use_slashes() {
    let Some(path) = support::shared("vectors/upstream/dwarfs/winlink.dwarfs") else {
        return;
    };
    let image = support::open(support::read_file(&path)).unwrap();
    assert_eq!(image.options().path_separator, Some(b'\\'));
    let mut targets = Vec::new();
    for ino in 0..image.info().totals.inodes {
        targets.extend(image.read_link(sinterfs_model::Ino(ino)).ok());
    }
    assert!(!targets.is_empty());
    assert!(targets.iter().all(|target| !target.contains(&b'\\')));
    assert!(targets.iter().any(|target| target.contains(&b'/')));
}
