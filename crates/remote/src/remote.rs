//! A remote object as a source of bytes.
//!
//! In: an address. Out: bytes at offsets, fetched in requests of whole leaves.
//! **Invariant:** what is read is of the version that was found when the object was opened.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Result};

use crate::address::Address;
use crate::cache::{CacheDirectory, CacheOptions, Store};
use crate::fetch::Fetcher;
use crate::fill::{Filled, cache_of, fill_behind, fill_now};
use crate::leaves::Leaves;
use crate::objects::Fetched;
use crate::options::{FillOptions, RemoteOptions};
use crate::plan::{self, LEAF, MAX_REQUEST_LEAVES};
use crate::queue::Queue;
use crate::read_ahead::ReadAhead;
use crate::recorded_reads::{ReadRecorder, RecordedReads};
use crate::shared::Shared;
use crate::version::ObjectVersion;

/// Leaves that one step of a read waits for.
const LEAVES_PER_STEP: u64 = 4 * MAX_REQUEST_LEAVES;

/// A remote object.
pub struct Remote {
    address: Address,
    shared: Arc<Shared>,
    /// `None` if only what is announced is fetched ahead.
    read_ahead: Option<ReadAhead>,
    recorder: Option<Arc<ReadRecorder>>,
    start: StartLeaves,
    /// Whether all reads so far were of recorded leaves: then hints say nothing that the record
    /// does not know better.
    is_replaying: AtomicBool,
}

/// The message for a list whose reads are of other bytes.
const OTHER_VERSION: &str =
    "the list of recorded reads is of another version of the image: nothing is fetched ahead";

/// Leaves that were announced as needed at the start: ascending and disjoint.
#[derive(Debug, Default)]
struct StartLeaves(Mutex<Vec<Range<u64>>>);

impl StartLeaves {
    fn set(&self, leaves: &[Range<u64>]) {
        let mut sorted = leaves.to_vec();
        sorted.sort_unstable_by_key(|leaves| leaves.start);
        let mut joined: Vec<Range<u64>> = Vec::new();
        for one in sorted {
            match joined.last_mut().filter(|last| last.end >= one.start) {
                Some(last) => last.end = last.end.max(one.end),
                None => joined.push(one),
            }
        }
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = joined;
    }

    /// Returns whether all of these leaves are among them.
    fn have(&self, leaves: &Range<u64>) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.partition_point(|one| one.end < leaves.end);
        let found = all.get(at);
        found.is_some_and(|found| found.start <= leaves.start && leaves.end <= found.end)
    }
}

/// Has the rest of an object fetched as long as it is open.
fn start_fill(shared: &Arc<Shared>, fill: FillOptions, warn: fn(&Error)) {
    if let Err(error) = cache_of(shared) {
        warn(&error);
        return;
    }
    let work = fill_behind(Arc::downgrade(shared), fill, warn);
    match crate::runtime::handle() {
        Ok(runtime) => drop(runtime.spawn(work)),
        Err(error) => warn(&error),
    }
}

/// The place of an object's bytes in the cache, and the part that is already there.
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
            memory: options.memory,
            store,
            offline: options.offline,
            inflight: Mutex::new(HashMap::new()),
            queue: Queue::default(),
        });
        for part in &place.parts {
            shared.keep(part);
        }
        if let (Some((cache, _)), Some(url)) = (&cache, place.noted) {
            // a note that is missing costs a request
            let _ = cache.note(&url, version);
        }
        if let Some(recorder) = &options.recorder {
            recorder.begin(version);
        }
        let start = StartLeaves::default();
        let is_replaying = AtomicBool::new(false);
        match options.recorded.as_deref() {
            Some(recorded) if recorded.are_of(version) => {
                shared.ahead_as_recorded(recorded.leaves());
                start.set(recorded.leaves());
                is_replaying.store(true, Ordering::Relaxed);
            }
            Some(_) => (options.warn)(&Error::invalid(OTHER_VERSION)),
            None => {}
        }
        if let Some(fill) = options.fill.filter(|_| !options.offline) {
            start_fill(&shared, fill, options.warn);
        }
        Self {
            address: address.clone(),
            shared,
            read_ahead: Some(ReadAhead::default()),
            recorder: options.recorder.clone(),
            start,
            is_replaying,
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

    /// Fetches all that is not in the cache on disk yet, and waits for it.
    ///
    /// # Errors
    /// `Invalid` without such a cache; errors of reading.
    pub fn fill(&self, options: FillOptions) -> Result<Filled> {
        fill_now(&self.shared, options)
    }

    /// Fetches what was read before into the cache on disk; returns whether that has all of it.
    ///
    /// # Errors
    /// `Invalid` without such a cache or if that was another version; errors of reading.
    pub fn fill_recorded(&self, reads: &RecordedReads) -> Result<bool> {
        let store = cache_of(&self.shared)?;
        let version = self.shared.fetcher.version();
        if !version.is_some_and(|version| reads.are_of(version)) {
            return Err(Error::invalid(OTHER_VERSION));
        }
        self.start.set(reads.leaves());
        self.shared.ahead_as_recorded(reads.leaves());
        let mut is_whole = true;
        for leaf in reads.leaves().iter().cloned().flatten() {
            let range = plan::bytes(&(leaf..leaf.saturating_add(1)), self.len());
            self.read(range.start, range.end.saturating_sub(range.start))?;
            is_whole &= store.has(leaf);
        }
        Ok(is_whole)
    }

    /// Reads short ranges, several at once: nothing around them is fetched, and they are not kept.
    ///
    /// # Errors
    /// As of reading.
    pub fn peek(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        self.shared.peek(ranges)
    }

    /// Drops the bytes in the cache on disk: they do not belong to the object. The bytes in memory
    /// stay.
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
        if (self.shared.fetcher.stop)() {
            return Err(crate::runtime::stopped());
        }
        let leaves = plan::leaves(&(offset..end));
        let is_of_start = self.start.have(&leaves);
        if !is_of_start {
            self.is_replaying.store(false, Ordering::Relaxed);
        }
        let ahead = self.read_ahead.as_ref().filter(|_| !is_of_start);
        let mut ahead = ahead.map_or(0..0, |ahead| ahead.after(&(offset..end)));
        let step = usize::try_from(LEAVES_PER_STEP * LEAF).unwrap_or(usize::MAX);
        let mut at = offset;
        for part in buf.chunks_mut(step) {
            self.shared.fill(at, part, &ahead)?;
            ahead = 0..0;
            at = at.saturating_add(part.len() as u64);
        }
        if let Some(recorder) = &self.recorder {
            recorder.note(leaves);
        }
        Ok(())
    }

    fn will_start(&self, ranges: &[Range<u64>]) {
        let total = self.len();
        let leaves = |range: &Range<u64>| plan::leaves(&(range.start..range.end.min(total)));
        let leaves: Vec<_> = ranges.iter().map(leaves).collect();
        self.shared.ahead_as_recorded(&leaves);
        self.start.set(&leaves);
    }

    fn is_here(&self, range: &Range<u64>) -> bool {
        let range = range.start.min(self.len())..range.end.min(self.len());
        self.shared.are_cached(plan::leaves(&range))
    }

    fn will_need(&self, ranges: &[Range<u64>]) {
        if self.is_replaying.load(Ordering::Relaxed) {
            return;
        }
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
