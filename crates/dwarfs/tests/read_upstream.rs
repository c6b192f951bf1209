//! Reads upstream's own test images: every version since 2.0, and what was once misread.

#![allow(clippy::unwrap_used, reason = "this is a test")]

mod manifest;
mod support;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use manifest::{Compare, Manifest};
use sinterfs_dwarfs::read::Dwarfs;
use sinterfs_model::{Image, Kind};

fn open(path: &Path) -> Dwarfs {
    support::open(support::read_file(path))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn images(below: &str) -> Option<Vec<PathBuf>> {
    let directory = support::shared(format!("vectors/upstream/dwarfs{below}"))?;
    let mut paths: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "dwarfs")
        })
        .collect();
    paths.sort();
    Some(paths)
}

fn file_name(path: &Path) -> Cow<'_, str> {
    path.file_name().unwrap().to_string_lossy()
}

/// Compares what is the same in every image of the same tree.
fn differences(expected: &Manifest, found: &Manifest) -> Vec<String> {
    // the files were made anew for every release, and only some kept their owners
    let compare = Compare::parse(&["--drop", "mtime,uid,gid,nlink,link"]);
    compare.differences(expected, found)
}

#[test]
fn every_release_wrote_the_same_tree() {
    let Some(paths) = images("/compat") else {
        return;
    };
    let paths: Vec<_> = paths
        .iter()
        .filter(|path| file_name(path).starts_with("compat-v"))
        .collect();
    assert_eq!(paths.len(), 10);
    let newest = manifest::of_image(&open(paths[9]));
    assert_eq!(newest.len(), 44);
    let mut versions = BTreeSet::new();
    for path in paths {
        let image = open(path);
        let version = image.info().version.clone();
        let mut expected = newest.clone();
        if version == "2.0" {
            // devices and pipes came with 2.1
            expected.retain(|_, fields| !["c", "p"].iter().any(|kind| fields["type"] == *kind));
        }
        let differences = differences(&expected, &manifest::of_image(&image));
        assert!(
            differences.is_empty(),
            "{}: {differences:#?}",
            path.display()
        );
        versions.insert(version);
    }
    let versions: Vec<_> = versions.into_iter().collect();
    assert_eq!(versions, ["2.0", "2.2", "2.3", "2.4", "2.5"]);
}

#[test]
fn all_other_images_are_read() {
    let Some(mut paths) = images("") else { return };
    paths.extend(images("/bugs").unwrap_or_default());
    paths.extend(images("/compat").unwrap_or_default());
    let mut opened = 0;
    for path in &paths {
        if path.ends_with("future-features.dwarfs") {
            continue;
        }
        let image = open(path);
        for (file, fields) in manifest::of_image(&image) {
            if let Some(hash) = fields.get("hash") {
                let hash = hash.as_str().unwrap();
                assert!(hash.len() == 64, "{}: {file}: {hash}", path.display());
            }
        }
        opened += 1;
    }
    assert_eq!(opened, 20);
}

#[test]
fn unknown_features_are_refused_by_name() {
    let Some(path) = support::shared("vectors/upstream/dwarfs/future-features.dwarfs") else {
        return;
    };
    let error = support::open(support::read_file(&path)).unwrap_err();
    assert_eq!(error.kind(), Kind::Unsupported);
    assert!(error.to_string().contains('"'), "{error}");
}
