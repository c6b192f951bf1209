//! Chunks, pclusters and shared tails by their digests, so that equal ones are stored once.
//!
//! In: digests in the order of the image. Out: where an equal one is. **Invariant:** results depend
//! only on that order; memory is bounded.

use std::collections::HashMap;

/// The most digests that are kept by default, as many as a table of 170 MB has room for; later ones
/// are looked up but not kept.
const MAX_DIGESTS: usize = 7 << 19;

/// A cryptographic digest of stored content.
pub(super) type Digest = [u8; 32];

/// The offsets of stored content.
#[derive(Debug)]
pub(super) struct DigestIndex {
    offsets: HashMap<Digest, u64>,
    most: usize,
}

impl Default for DigestIndex {
    fn default() -> Self {
        Self::with_limit(MAX_DIGESTS)
    }
}

impl DigestIndex {
    /// Creates an empty index that keeps at most the given number of digests.
    pub(super) fn with_limit(most: usize) -> Self {
        Self {
            offsets: HashMap::new(),
            most,
        }
    }

    /// Returns whether something with this digest has been stored.
    pub(super) fn contains(&self, digest: &Digest) -> bool {
        self.offsets.contains_key(digest)
    }

    /// Returns where something with this digest is; if there is nothing, records it to be at
    /// `here`.
    pub(super) fn find_or_insert(&mut self, digest: Digest, here: u64) -> Option<u64> {
        let found = self.offsets.get(&digest).copied();
        if found.is_none() && self.offsets.len() < self.most {
            self.offsets.insert(digest, here);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_digests_are_kept() {
        let mut index = DigestIndex::with_limit(2);
        let mut find = |byte: u8, here: u64| index.find_or_insert([byte; 32], here);
        assert_eq!([find(1, 10), find(2, 20), find(3, 30)], [None; 3]);
        assert_eq!([find(1, 40), find(2, 50)], [Some(10), Some(20)]);
        assert_eq!(find(3, 60), None);
    }
}
