//! The fingerprint of a content: a hash of its data and of the layout of its holes.
//!
//! **Invariant:** depends only on data and runs, not on the buffers in which the data arrives.

use xxhash_rust::xxh3::Xxh3;

/// A range of data, or a hole; neighbouring runs are of different kinds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub hole: bool,
    pub len: u64,
}

/// Computes the fingerprint of a content.
#[derive(Default)]
pub(crate) struct Hasher {
    hash: Xxh3,
}

impl Hasher {
    /// Adds the next data.
    pub fn update(&mut self, data: &[u8]) {
        self.hash.update(data);
    }

    /// Returns the fingerprint, given all runs of the content. A single run of data adds nothing.
    pub fn finish(mut self, runs: impl ExactSizeIterator<Item = Run>) -> u128 {
        let several = runs.len() > 1;
        for run in runs {
            if several || run.hole {
                self.hash.update(&[u8::from(run.hole)]);
                self.hash.update(&run.len.to_le_bytes());
            }
        }
        self.hash.digest128()
    }
}
