//! Finds the shared test vectors and opens images of them.

#![allow(dead_code, reason = "each test binary uses another part of this")]

use std::sync::Arc;

use sinterfs_block::MemorySource;
use sinterfs_dwarfs::read::{Dwarfs, ReadOptions};
use sinterfs_model::Result;

pub use sinterfs_testkit::{read_file, shared};

/// Opens an image in memory with the default options.
pub fn open(bytes: Vec<u8>) -> Result<Dwarfs> {
    Dwarfs::open(Arc::new(MemorySource(bytes)), &ReadOptions::default())
}

/// Makes an uncompressed section like another one with new content.
pub fn section_with_hashes(like: &[u8], content: &[u8]) -> Vec<u8> {
    let mut section = like[..64].to_vec();
    section[0x36..0x38].copy_from_slice(&[0, 0]);
    section[0x38..0x40].copy_from_slice(&(content.len() as u64).to_le_bytes());
    section.extend(content);
    let xxh3 = sinterfs_block::checksum::xxh3_64(&section[0x30..]);
    section[0x28..0x30].copy_from_slice(&xxh3.to_le_bytes());
    let sha = sinterfs_block::checksum::sha512_256(&section[0x28..]);
    section[8..0x28].copy_from_slice(&sha);
    section
}
