//! Zstandard in a build without it: every call fails and names the feature.

use sinterfs_model::{Error, Result};
use sinterfs_workers::WorkerPermits;

/// Fails.
pub fn decoded_len(_: &[u8]) -> Result<u64> {
    Err(missing())
}

/// Fails.
pub fn decode(_: &[u8], _: u64) -> Result<Vec<u8>> {
    Err(missing())
}

/// A frame that is decoded step by step: there is none.
pub(super) enum State {}

impl State {
    pub(super) fn new() -> Result<Self> {
        Err(missing())
    }

    pub(super) fn step(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<()> {
        match *self {}
    }

    pub(super) fn finish(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<()> {
        match *self {}
    }
}

pub(super) fn encode(_: &[u8], _: i32, _: Option<u32>, _: bool) -> Result<Vec<u8>> {
    Err(missing())
}

pub(super) fn encode_optimal(
    _: &[u8],
    _: u32,
    _: Option<u32>,
    _: &WorkerPermits,
) -> Result<Vec<u8>> {
    Err(missing())
}

#[cold]
fn missing() -> Error {
    super::missing::error("zstd", "zstd")
}
