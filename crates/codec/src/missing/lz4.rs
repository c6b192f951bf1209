//! LZ4 in a build without it: every call fails and names the feature.

use sinterfs_model::{Error, Result};

/// Fails.
pub fn decode(_: &[u8], _: u64) -> Result<Vec<u8>> {
    Err(missing())
}

pub(super) fn encode(_: &[u8], _: i32) -> Result<Vec<u8>> {
    Err(missing())
}

pub(super) fn encode_hc(_: &[u8], _: i32) -> Result<Vec<u8>> {
    Err(missing())
}

pub(super) fn fill(_: &[u8], _: usize) -> Result<(usize, Vec<u8>)> {
    Err(missing())
}

pub(super) fn fill_hc(_: &[u8], _: usize, _: i32) -> Result<(usize, Vec<u8>)> {
    Err(missing())
}

#[cold]
fn missing() -> Error {
    super::missing::error("lz4", "lz4")
}
