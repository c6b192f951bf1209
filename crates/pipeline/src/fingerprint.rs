//! What equal contents have in common: a hash of the data and of the layout of holes.
//!
//! **Invariant:** depends on data and runs alone, not on the pieces in which they come.

use xxhash_rust::xxh3::Xxh3;

/// A range of data or of zeros that are not stored; neighbours are of different kinds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub hole: bool,
    pub len: u64,
}

/// Hashes a content.
#[derive(Default)]
pub(crate) struct Hasher {
    hash: Xxh3,
}

impl Hasher {
    /// Takes the next data.
    pub fn update(&mut self, data: &[u8]) {
        self.hash.update(data);
    }

    /// Ends with all runs of the content; one of data alone says nothing that its data does not.
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
