//! Brotli in a build without it: every call fails and names the feature.

use sinterfs_model::{Error, Result};

/// Fails.
pub fn decode(_: &[u8], _: u64) -> Result<Vec<u8>> {
    Err(missing())
}

/// A stream that is decoded in parts: there is none.
pub(super) enum State {}

impl State {
    pub(super) fn new() -> Result<Self> {
        Err(missing())
    }

    pub(super) fn fill(&mut self, _: &[u8], _: &mut [u8]) -> Result<usize> {
        match *self {}
    }

    pub(super) fn finish(&mut self, _: &[u8]) -> Result<()> {
        match *self {}
    }
}

pub(super) fn encode(_: &[u8], _: u32, _: u32) -> Result<Vec<u8>> {
    Err(missing())
}

#[cold]
fn missing() -> Error {
    super::missing::error("brotli", "brotli")
}
