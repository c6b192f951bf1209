//! Listings of directories, and the cache of those that were read last.
//!
//! **Invariant:** the cache has at most `CACHED` listings, and these have at most `CACHED_BYTES`
//! bytes, or it has only one: a directory that is listed in steps is read once, however large.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Listings that are kept.
const CACHED: usize = 32;

/// The bytes of listings that are kept.
const CACHED_BYTES: u64 = 64 << 20;

/// A name in a directory.
#[derive(Debug)]
pub(crate) struct ExtName {
    pub(crate) name: Box<[u8]>,
    /// The number of the inode.
    pub(crate) number: u32,
}

/// The names of a directory, sorted.
#[derive(Debug)]
pub(crate) struct ExtListing {
    pub(crate) names: Vec<ExtName>,
    /// The number of the directory that it is in.
    pub(crate) parent: u32,
    /// The bytes of memory of all names.
    pub(super) memory: u64,
}

/// The listings that were read last, the oldest first, with the numbers of their directories.
#[derive(Debug, Default)]
pub(super) struct ListingCache(Mutex<VecDeque<(u32, Arc<ExtListing>)>>);

impl ListingCache {
    /// Returns the listing of a directory, if it is kept.
    pub(super) fn get(&self, dir: u32) -> Option<Arc<ExtListing>> {
        let kept = self.0.lock().ok()?;
        let found = kept.iter().find(|(number, _)| *number == dir);
        found.map(|(_, listing)| Arc::clone(listing))
    }

    /// Keeps a listing in place of older ones.
    pub(super) fn insert(&self, dir: u32, listing: &Arc<ExtListing>) {
        let Ok(mut kept) = self.0.lock() else { return };
        kept.retain(|(number, _)| *number != dir);
        kept.push_back((dir, Arc::clone(listing)));
        let mut bytes = kept.iter().fold(0_u64, |sum, (_, listing)| {
            sum.saturating_add(listing.memory)
        });
        while kept.len() > 1
            && (kept.len() > CACHED || bytes > CACHED_BYTES)
            && let Some((_, oldest)) = kept.pop_front()
        {
            bytes = bytes.saturating_sub(oldest.memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(memory: u64) -> Arc<ExtListing> {
        Arc::new(ExtListing {
            names: Vec::new(),
            parent: 2,
            memory,
        })
    }

    #[test]
    fn the_latest_listing_is_kept_however_large() {
        let cache = ListingCache::default();
        for dir in 0..5 {
            cache.insert(dir, &listing(CACHED_BYTES / 4));
        }
        assert!(cache.get(0).is_none());
        assert!((1..5).all(|dir| cache.get(dir).is_some()));
        cache.insert(9, &listing(CACHED_BYTES * 10));
        assert!((0..5).all(|dir| cache.get(dir).is_none()));
        assert!(cache.get(9).is_some());
        for dir in 10..50 {
            cache.insert(dir, &listing(1));
        }
        assert!(cache.get(9).is_none() && cache.get(17).is_none());
        assert!((18..50).all(|dir| cache.get(dir).is_some()));
    }
}
