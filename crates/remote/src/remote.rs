//! A remote object as a source of bytes.
//!
//! In: an address. Out: bytes at offsets, fetched in requests of whole leaves.
//! **Invariant:** what is read is of the version that was found when the object was opened.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Result};

use crate::address::Address;
use crate::cache::{CacheDirectory, CacheOptions, Store};
use crate::fetch::{Fetcher, ObjectVersion};
use crate::leaves::Leaves;
use crate::objects::Fetched;
use crate::options::RemoteOptions;
use crate::plan::{LEAF, MOST};
use crate::read_ahead::ReadAhead;
use crate::shared::Shared;

/// Leaves that one step of a read waits for.
const STEP: u64 = 4 * MOST;

/// A remote object.
pub struct Remote {
    address: Address,
    shared: Arc<Shared>,
    /// `None` if only what is announced is fetched ahead.
    read_ahead: Option<ReadAhead>,
}

/// Where the bytes of an object are in the cache, and what came of them already.
pub(crate) struct CachePlace<'a> {
    pub(crate) cache: Option<(CacheDirectory, &'a CacheOptions)>,
    pub(crate) parts: Vec<Fetched>,
    /// The name that they have there, with their version.
    pub(crate) name: String,
    /// The URL under which their version is noted.
    pub(crate) noted: Option<String>,
}

impl Remote {
    /// Reads a version, of which some parts are here.
    pub(crate) fn of(
        fetcher: Arc<Fetcher>,
        address: &Address,
        version: &ObjectVersion,
        place: CachePlace<'_>,
        options: &RemoteOptions,
    ) -> Self {
        fetcher.pin(version.clone());
        let cache = place.cache.filter(|_| version.is_strong());
        let store = cache
            .as_ref()
            .and_then(|(cache, options)| open_store(cache, &place.name, version, options));
        let shared = Arc::new(Shared {
            fetcher,
            len: version.len,
            leaves: Leaves::new(options.memory),
            store,
            offline: options.offline,
            flights: Mutex::new(HashMap::new()),
        });
        for part in &place.parts {
            shared.keep(part);
        }
        if let (Some((cache, _)), Some(url)) = (&cache, place.noted) {
            // a note that is missing costs a request
            let _ = cache.note(&url, version);
        }
        Self {
            address: address.clone(),
            shared,
            read_ahead: Some(ReadAhead::default()),
        }
    }

    /// Returns the address.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns the entity tag that the server sent.
    pub fn etag(&self) -> Option<&str> {
        self.shared.fetcher.version()?.etag.as_deref()
    }

    /// Fetches nothing from now on but what is read or announced.
    pub fn stop_read_ahead(&mut self) {
        self.read_ahead = None;
    }

    /// Returns the bytes of the object that have come from its server.
    pub fn fetched(&self) -> u64 {
        self.shared.fetcher.fetched()
    }

    /// Reads short ranges, several at once: nothing around them is fetched, and they are not kept.
    ///
    /// # Errors
    /// As of reading.
    pub fn peek(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        self.shared.peek(ranges)
    }

    /// Forgets the bytes in the cache on disk: they are not those of the object. What this value
    /// has in memory stays.
    ///
    /// # Errors
    /// `Io` if the cache cannot be written.
    pub fn forget_cached(&self) -> Result<()> {
        let Some(store) = &self.shared.store else {
            return Ok(());
        };
        store
            .forget()
            .map_err(|error| Error::io("cannot write to the cache", error))
    }
}

/// Opens the cache that options name. Without it images are read all the same, after a warning.
pub(crate) fn open_cache(options: &RemoteOptions) -> Option<(CacheDirectory, &CacheOptions)> {
    let options = options.cache.as_ref()?;
    let opened = CacheDirectory::open(&options.directory);
    let opened = opened.map_err(|error| (options.warn)(&error)).ok()?;
    Some((opened, options))
}

fn open_store(
    directory: &CacheDirectory,
    url: &str,
    version: &ObjectVersion,
    options: &CacheOptions,
) -> Option<Store> {
    let store = Store::open(directory, url, version, options);
    store.map_err(|error| (options.warn)(&error)).ok()
}

impl ReadAt for Remote {
    fn len(&self) -> u64 {
        self.shared.len
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let (total, len) = (self.shared.len, buf.len() as u64);
        let Some(end) = offset.checked_add(len).filter(|end| *end <= total) else {
            return Err(Error::corrupt(format!(
                "truncated: expected {len} bytes at {offset:#x}, but the end is at {total:#x}"
            )));
        };
        let ahead = self.read_ahead.as_ref();
        let mut ahead = ahead.map_or(0..0, |ahead| ahead.after(&(offset..end)));
        let step = usize::try_from(STEP * LEAF).unwrap_or(usize::MAX);
        let mut at = offset;
        for part in buf.chunks_mut(step) {
            self.shared.fill(at, part, &ahead)?;
            ahead = 0..0;
            at = at.saturating_add(part.len() as u64);
        }
        Ok(())
    }

    fn will_need(&self, ranges: &[Range<u64>]) {
        for range in ranges {
            self.shared.ahead(range);
        }
    }

    fn forget(&self, range: &Range<u64>) -> bool {
        self.shared.forget(range)
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("address", &self.address)
            .field("len", &self.shared.len)
            .finish_non_exhaustive()
    }
}
