//! Chunks, clusters and ends of files that were stored before: each is stored once.
//!
//! In: digests of what is stored as a whole, which worker threads computed, in the order of the image. Out: where an
//! equal one is. **Invariant:** what is found depends on the order alone; memory is bounded.

use std::collections::HashMap;

/// The most chunks that are remembered, as many as a table of 170 MB has room for; later ones are looked up and
/// not remembered.
const MOST: usize = 7 << 19;

/// What a cryptographic hash makes of a chunk.
type Digest = [u8; 32];

/// The chunks so far.
#[derive(Debug)]
pub(super) struct Repeats {
    places: HashMap<Digest, u64>,
    most: usize,
}

impl Default for Repeats {
    fn default() -> Self {
        Self::of_at_most(MOST)
    }
}

impl Repeats {
    /// Starts with none, and remembers so many.
    pub(super) fn of_at_most(most: usize) -> Self {
        Self {
            places: HashMap::new(),
            most,
        }
    }

    /// Returns whether an equal chunk is known.
    pub(super) fn has(&self, digest: &Digest) -> bool {
        self.places.contains_key(digest)
    }

    /// Returns where an equal chunk is; if there is none, this one is remembered to be at `here`.
    pub(super) fn find(&mut self, digest: Digest, here: u64) -> Option<u64> {
        let known = self.places.get(&digest).copied();
        if known.is_none() && self.places.len() < self.most {
            self.places.insert(digest, here);
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ones_are_remembered() {
        let mut repeats = Repeats::of_at_most(2);
        let mut find = |byte: u8, here: u64| repeats.find([byte; 32], here);
        assert_eq!([find(1, 10), find(2, 20), find(3, 30)], [None; 3]);
        assert_eq!([find(1, 40), find(2, 50)], [Some(10), Some(20)]);
        assert_eq!(find(3, 60), None);
    }
}
