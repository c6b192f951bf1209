//! Extracts images from memory and compares what is on disk, field by field.

#![allow(clippy::unwrap_used, reason = "all of this is test code")]
#![allow(clippy::disallowed_methods, reason = "a test fails without threads")]

#[path = "../support/mod.rs"]
mod support;

mod content;
mod damage;
mod hidden;
mod hostile;
mod privileges;
mod selection;
mod stopped;

use std::path::{Path, PathBuf};

use sinterfs_ops::ExtractOptions;
use support::paths_on_disk;

fn target() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out");
    (dir, target)
}

fn some_paths(paths: &[&str]) -> ExtractOptions {
    ExtractOptions {
        paths: paths.iter().map(PathBuf::from).collect(),
        ..Default::default()
    }
}

fn relative(root: &Path) -> Vec<String> {
    paths_on_disk(root)
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}
