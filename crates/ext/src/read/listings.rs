//! Listings of directories, and the cache of those that were read last.
//!
//! **Invariant:** the cache has at most `CACHED` listings of at most `CACHED_NAMES` names each.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Listings that are kept.
const CACHED: usize = 32;

/// A listing of more names is not kept.
const CACHED_NAMES: usize = 100_000;

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
}

/// The listings that were read last.
#[derive(Debug, Default)]
pub(super) struct ListingCache(Mutex<VecDeque<(u32, Arc<ExtListing>)>>);

impl ListingCache {
    /// Returns the listing of a directory, if it is kept.
    pub(super) fn get(&self, dir: u32) -> Option<Arc<ExtListing>> {
        let kept = self.0.lock().ok()?;
        let found = kept.iter().find(|(number, _)| *number == dir);
        found.map(|(_, listing)| Arc::clone(listing))
    }

    /// Keeps a listing, unless it is large.
    pub(super) fn insert(&self, dir: u32, listing: &Arc<ExtListing>) {
        if let Ok(mut kept) = self.0.lock()
            && listing.names.len() <= CACHED_NAMES
        {
            if kept.len() >= CACHED {
                kept.pop_front();
            }
            kept.push_back((dir, Arc::clone(listing)));
        }
    }
}
