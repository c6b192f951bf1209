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

/// Makes an uncompressed section like another one with new content.
pub fn section_with_hashes(like: &[u8], content: &[u8]) -> Vec<u8> {
    let mut section = like[..64].to_vec();
    section[0x36..0x38].copy_from_slice(&[0, 0]);
    section[0x38..0x40].copy_from_slice(&(content.len() as u64).to_le_bytes());
    section.extend(content);
    let xxh3 = block::checksum::xxh3_64(&section[0x30..]);
    section[0x28..0x30].copy_from_slice(&xxh3.to_le_bytes());
    let sha = block::checksum::sha512_256(&section[0x28..]);
    section[8..0x28].copy_from_slice(&sha);
    section
}
