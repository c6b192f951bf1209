//! Finds the shared test vectors and opens images of them.

#![allow(dead_code, reason = "each test binary uses another part of this")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "only tests use this"
)]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use block::MemorySource;
use model::Result;
use sinterfs_dwarfs::read::{Dwarfs, OpenOptions};

/// Finds a directory of the shared test vectors. Prints why and gives `None` if it is not there;
/// panics instead where `CI` is `true`.
pub fn shared(below: &str) -> Option<PathBuf> {
    let root = match std::env::var_os("SINTER_SHARED") {
        Some(root) => PathBuf::from(root),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
    };
    let path = root.join(below);
    if path.exists() {
        return Some(path);
    }
    let why = format!("{} is missing (set SINTER_SHARED)", path.display());
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{why}");
    println!("SKIPPED: {why}");
    None
}

/// Reads a file, unpacking it if its name ends in `.gz`.
pub fn read_file(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if path.extension().is_none_or(|extension| extension != "gz") {
        return bytes;
    }
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(&bytes[..])
        .read_to_end(&mut unpacked)
        .unwrap();
    unpacked
}

/// Opens an image in memory with the default options.
pub fn open(bytes: Vec<u8>) -> Result<Dwarfs> {
    Dwarfs::open(Arc::new(MemorySource(bytes)), &OpenOptions::default())
}
