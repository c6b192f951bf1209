//! Leaves in memory: what was fetched last, up to a number of bytes.
//!
//! **Invariant:** what was fetched ahead is not pushed out by what was read often before it, as
//! long as it is less than seven eighths of the bytes.

use std::sync::Arc;

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use crate::plan::LEAF;

/// The part of the bytes that is for leaves which were read repeatedly. Most leaves are read to
/// their end and never again, and those that nobody has read yet are the ones to keep.
const REPEATED: f64 = 0.0625;

/// The bytes of a leaf; the last one of an object may be short.
pub(crate) type Leaf = Arc<[u8]>;

#[derive(Debug, Clone)]
struct Bytes;

impl Weighter<u64, Leaf> for Bytes {
    fn weight(&self, _: &u64, leaf: &Leaf) -> u64 {
        leaf.len() as u64
    }
}

/// A bounded number of leaves.
#[derive(Debug)]
pub(crate) struct Leaves(Cache<u64, Leaf, Bytes>);

impl Leaves {
    pub(crate) fn new(bytes: u64) -> Self {
        let count = usize::try_from(bytes / LEAF).unwrap_or(usize::MAX);
        let options = OptionsBuilder::new()
            .estimated_items_capacity(count)
            .weight_capacity(bytes)
            .hot_allocation(REPEATED)
            // several would fill unevenly
            .shards(1)
            .build();
        Self(match options {
            Ok(options) => Cache::with_options(
                options,
                Bytes,
                DefaultHashBuilder::default(),
                DefaultLifecycle::default(),
            ),
            Err(_) => Cache::with_weighter(count, bytes, Bytes),
        })
    }

    pub(crate) fn get(&self, leaf: u64) -> Option<Leaf> {
        self.0.get(&leaf)
    }

    pub(crate) fn has(&self, leaf: u64) -> bool {
        self.0.peek(&leaf).is_some()
    }

    pub(crate) fn forget(&self, leaf: u64) {
        self.0.remove(&leaf);
    }

    pub(crate) fn put(&self, leaf: u64, bytes: Leaf) {
        self.0.insert(leaf, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unread_leaves_stay() {
        let leaves = Leaves::new(1024 * LEAF);
        let leaf: Leaf = vec![0; crate::plan::LEAF_LEN].into();
        // 800 leaves ahead of a reader that looks at each one several times
        for ahead in 0..5000 {
            leaves.put(ahead, Arc::clone(&leaf));
            if let Some(at) = ahead.checked_sub(800) {
                for _ in 0..4 {
                    assert!(leaves.get(at).is_some(), "{at} of {ahead}");
                }
            }
        }
    }
}
