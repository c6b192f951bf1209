//! Finds the shared test vectors and opens images of them.

#![allow(dead_code, reason = "each test binary uses another part of this")]
#![allow(clippy::unwrap_used, reason = "only tests use this")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use sinterfs_block::{MemorySource, ReadAt};
use sinterfs_erofs::read::{Erofs, ReadOptions};
use sinterfs_model::Result;

pub use sinterfs_testkit::read_file;

/// Finds the shared test vectors.
pub fn vectors() -> Option<PathBuf> {
    sinterfs_testkit::shared("vectors")
}

/// An image of the vectors, in memory.
pub struct Vector {
    pub name: String,
    pub image: Vec<u8>,
    pub devices: Vec<Vec<u8>>,
}

/// Loads all images of a format.
pub fn load(root: &Path, format: &str) -> Vec<Vector> {
    let index = String::from_utf8(read_file(&root.join("images/INDEX.jsonl"))).unwrap();
    let rows = index
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let file = |name: &Value| read_file(&root.join("images").join(name.as_str().unwrap()));
    rows.filter(|row| row["format"] == format)
        .map(|row| Vector {
            name: row["name"].as_str().unwrap().to_owned(),
            image: file(&row["file"]),
            devices: match format {
                "erofs" => row["extra"].as_array().unwrap().iter().map(file).collect(),
                _ => Vec::new(),
            },
        })
        .collect()
}

/// Opens an image in memory with the default options.
pub fn open(image: Vec<u8>, devices: &[Vec<u8>]) -> Result<Erofs> {
    let sources = devices
        .iter()
        .map(|device| Arc::new(MemorySource(device.clone())) as Arc<dyn ReadAt>);
    let devices: Vec<_> = sources.collect();
    let options = ReadOptions {
        cache_bytes: 16 << 20,
        ..ReadOptions::default()
    };
    Erofs::open_with(Arc::new(MemorySource(image)), &devices, &options)
}
