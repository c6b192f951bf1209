//! The state that the threads that read an object share: its leaves, and the requests in flight.
//!
//! **Invariant:** a leaf has at most one request at a time, for all threads and, with a cache on
//! disk, all processes of a machine; memory holds the kept leaves and the requests in flight, never
//! the image.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use sinterfs_model::{Error, Result};
use tokio::time::{Instant, sleep};

use crate::cache::{LeafLock, PATIENCE, Store};
use crate::failure::{Cause, Failure};
use crate::fetch::{AHEAD_AT_ONCE, Fetcher, Urgency};
use crate::inflight::{CompleteOnDrop, Inflight};
use crate::leaves::{Leaf, Leaves};
use crate::objects::{Fetched, Wanted};
use crate::plan::{self, LEAF};
use crate::queue::Queue;
use crate::runtime;

/// Leaves that hints may have on their way.
const MOST_AHEAD: usize = 512;

/// The first and the longest time between two looks at what another process fetches.
const FIRST_LOOK: Duration = Duration::from_millis(2);
const LAST_LOOK: Duration = Duration::from_millis(50);

/// The message for bytes that are not in the cache.
const OFFLINE: &str = "it is not in the cache, and requests are not allowed (offline)";

type InflightRequests = HashMap<u64, Arc<Inflight>>;

/// An object that is read.
pub(crate) struct Shared {
    pub(crate) fetcher: Arc<Fetcher>,
    pub(crate) len: u64,
    pub(crate) leaves: Leaves,
    /// The bytes that they may take.
    pub(crate) memory: u64,
    pub(crate) store: Option<Store>,
    /// Whether to send no requests.
    pub(crate) offline: bool,
    /// The request that each leaf comes with.
    pub(crate) inflight: Mutex<InflightRequests>,
    /// Recorded leaves to ask for, which is done while `inflight` is locked.
    pub(crate) queue: Queue,
}

/// The source of a leaf.
enum Origin {
    Here(Leaf),
    Inflight(Arc<Inflight>),
}

impl Shared {
    /// Keeps the whole leaves of a part, and returns them with the number of the first.
    pub(crate) fn keep(&self, part: &Fetched) -> (u64, Vec<Leaf>) {
        let first = part.start.div_ceil(LEAF);
        let skip = first.saturating_mul(LEAF).saturating_sub(part.start);
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let bytes = part.bytes.get(skip..).unwrap_or_default();
        let mut kept = Vec::new();
        for (number, bytes) in (first..).zip(bytes.chunks(plan::LEAF_LEN)) {
            let range = plan::bytes(&(number..number.saturating_add(1)), self.len);
            if bytes.len() as u64 == range.end.saturating_sub(range.start) {
                let leaf = Leaf::from(bytes);
                self.leaves.put(number, Arc::clone(&leaf));
                kept.push(leaf);
            }
        }
        if let Some(store) = &self.store {
            store.put(first, &kept);
        }
        (first, kept)
    }

    /// Fills a buffer from `offset` on, and has further bytes fetched meanwhile.
    pub(crate) fn fill(
        self: &Arc<Self>,
        offset: u64,
        buf: &mut [u8],
        ahead: &Range<u64>,
    ) -> Result<()> {
        let end = offset.saturating_add(buf.len() as u64);
        let wanted = plan::leaves(&(offset..end));
        let found = self.find(wanted.clone())?;
        if !ahead.is_empty() {
            self.ahead(ahead);
        }
        let mut rest = buf;
        for (number, origin) in wanted.zip(found) {
            let leaf = match origin {
                Origin::Here(leaf) => leaf,
                Origin::Inflight(request) => {
                    request.wait(number, self.fetcher.stop).map_err(|failure| {
                        let range = plan::bytes(&request.leaves, self.len);
                        self.fetcher.error(&failure, &Wanted::Range(range))
                    })?
                }
            };
            let skip = offset.saturating_sub(number.saturating_mul(LEAF));
            let bytes = usize::try_from(skip).ok().and_then(|skip| leaf.get(skip..));
            let bytes = bytes.unwrap_or_default();
            let count = bytes.len().min(rest.len());
            let (now, later) = rest.split_at_mut(count);
            now.copy_from_slice(bytes.split_at(count).0);
            rest = later;
        }
        if rest.is_empty() {
            return Ok(());
        }
        Err(Error::invalid("a request ended without all of its bytes"))
    }

    /// Reads short ranges as they are: from leaves that are here, else by a request each.
    pub(crate) fn peek(self: &Arc<Self>, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        enum Peeked {
            Here(Vec<u8>),
            Asked(Wanted, Receiver<std::result::Result<Fetched, Failure>>),
        }
        let mut asked = Vec::with_capacity(ranges.len());
        for range in ranges {
            if let Some(bytes) = self.here_whole(range) {
                asked.push(Peeked::Here(bytes));
                continue;
            }
            if self.offline {
                return Err(Error::not_found(OFFLINE));
            }
            let wanted = Wanted::Range(range.clone());
            let (this, part) = (Arc::clone(self), wanted.clone());
            let get = async move { this.fetcher.get(&part, Urgency::Now, None).await };
            asked.push(Peeked::Asked(wanted, runtime::spawn(get)?));
        }
        let bytes = asked.into_iter().map(|one| match one {
            Peeked::Here(bytes) => Ok(bytes),
            Peeked::Asked(wanted, answer) => match runtime::wait(&answer, self.fetcher.stop)? {
                Ok(part) => Ok(part.bytes),
                Err(failure) => Err(self.fetcher.error(&failure, &wanted)),
            },
        });
        bytes.collect()
    }

    /// Returns the bytes of a range within one leaf that is here.
    fn here_whole(&self, range: &Range<u64>) -> Option<Vec<u8>> {
        let leaves = plan::leaves(range);
        if leaves.end.saturating_sub(leaves.start) != 1 {
            return None;
        }
        let leaf = self.cached(leaves.start)?;
        let begin = leaves.start.saturating_mul(LEAF);
        let at = |offset: u64| usize::try_from(offset.saturating_sub(begin)).ok();
        leaf.get(at(range.start)?..at(range.end)?)
            .map(<[u8]>::to_vec)
    }

    /// Fetches bytes that are likely to be read, as far as there is room.
    pub(crate) fn ahead(self: &Arc<Self>, range: &Range<u64>) {
        if self.offline {
            return;
        }
        let range = range.start.min(self.len)..range.end.min(self.len);
        let mut inflight = self.inflight();
        let room = MOST_AHEAD.saturating_sub(inflight.len());
        let missing = plan::leaves(&range).take(room);
        let missing: Vec<u64> = missing
            .filter(|&leaf| self.is_absent(&inflight, leaf))
            .collect();
        // a hint: whoever reads the bytes asks again, and gets the error
        let _ = self.spawn_requests(&mut inflight, &missing, Urgency::Ahead);
    }

    /// Requests bytes again; returns whether that is possible.
    ///
    /// Leaves are read as soon as they are kept, which is before their request has ended. It is
    /// awaited, or the next read would get the same bytes from it, and they might be stored again.
    pub(crate) fn forget(&self, range: &Range<u64>) -> bool {
        let inflight = self.inflight();
        let on_their_way = plan::leaves(range).filter_map(|leaf| inflight.get(&leaf).cloned());
        let on_their_way: Vec<_> = on_their_way.collect();
        drop(inflight);
        for request in on_their_way {
            // its failure becomes the failure of its readers
            let _ = request.wait(request.leaves.start, self.fetcher.stop);
        }
        for leaf in plan::leaves(range) {
            self.leaves.forget(leaf);
            if let Some(store) = &self.store {
                store.forget_leaf(leaf);
            }
        }
        !self.offline
    }

    /// Fetches recorded leaves, as far as there is room for them, while the object is open.
    pub(crate) fn ahead_as_recorded(self: &Arc<Self>, recorded: &[Range<u64>]) {
        if self.offline {
            return;
        }
        // without a cache on disk, more would push out what is not read yet
        let mut room = match self.store {
            Some(_) => u64::MAX,
            None => self.memory / 2 / LEAF,
        };
        // those on their way are left out when it is their turn
        let is_missing = |leaf: u64| !self.are_cached(leaf..leaf.saturating_add(1));
        let mut requests = plan::recorded(recorded, is_missing);
        requests.retain(|leaves| {
            let left = room.checked_sub(leaves.end.saturating_sub(leaves.start));
            room = left.unwrap_or(0);
            left.is_some()
        });
        // without threads for requests, the first read is the error
        let Ok(runtime) = runtime::handle() else {
            return;
        };
        let at_once = requests.len().min(AHEAD_AT_ONCE);
        self.queue.extend(requests);
        for _ in 0..at_once {
            runtime.spawn(Self::fetch_queued(Arc::downgrade(self)));
        }
    }

    /// Does the queued requests one after another. Waiting requests do not keep the object open.
    async fn fetch_queued(shared: Weak<Self>) {
        while let Some(open) = shared.upgrade()
            && let Some(requests) = open.take_queued()
        {
            for request in requests {
                // a hint, as all that is fetched ahead
                Arc::clone(&open).run_request(request, Urgency::Ahead).await;
            }
        }
    }

    /// Makes requests for what is missing of the leaves that are next in the queue.
    fn take_queued(&self) -> Option<Vec<Arc<Inflight>>> {
        let mut inflight = self.inflight();
        let leaves = self.queue.next()?;
        Some(self.enqueue_locked(&mut inflight, leaves))
    }

    /// Fetches leaves, unless they are on their way. Once begun, it has to be run to its end.
    pub(crate) async fn fetch_leaves(
        self: Arc<Self>,
        leaves: Range<u64>,
        urgency: Urgency,
    ) -> std::result::Result<(), Failure> {
        let mut result = Ok(());
        for request in self.enqueue(leaves) {
            Arc::clone(&self)
                .run_request(Arc::clone(&request), urgency)
                .await;
            result = result.and(request.result());
        }
        result
    }

    /// Makes requests for what is missing of some leaves.
    fn enqueue(&self, leaves: Range<u64>) -> Vec<Arc<Inflight>> {
        self.enqueue_locked(&mut self.inflight(), leaves)
    }

    fn enqueue_locked(
        &self,
        inflight: &mut InflightRequests,
        leaves: Range<u64>,
    ) -> Vec<Arc<Inflight>> {
        let missing = leaves.filter(|&leaf| self.is_absent(inflight, leaf));
        let requests = plan::requests(missing.collect::<Vec<_>>(), |_| false);
        let mut all = Vec::with_capacity(requests.len());
        for leaves in requests {
            let request = Arc::new(Inflight::new(leaves.clone()));
            inflight.extend(leaves.map(|leaf| (leaf, Arc::clone(&request))));
            all.push(request);
        }
        all
    }

    /// Returns whether leaves are in memory or on disk.
    pub(crate) fn are_cached(&self, mut leaves: Range<u64>) -> bool {
        leaves.all(|leaf| {
            self.leaves.has(leaf) || self.store.as_ref().is_some_and(|store| store.has(leaf))
        })
    }

    fn inflight(&self) -> MutexGuard<'_, InflightRequests> {
        self.inflight.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a leaf that is in memory or on disk.
    fn cached(&self, leaf: u64) -> Option<Leaf> {
        if let Some(bytes) = self.leaves.get(leaf) {
            return Some(bytes);
        }
        let bytes = self.store.as_ref()?.get(leaf)?;
        self.leaves.put(leaf, Arc::clone(&bytes));
        Some(bytes)
    }

    /// Returns whether a leaf is neither here nor on its way.
    fn is_absent(&self, inflight: &InflightRequests, leaf: u64) -> bool {
        !inflight.contains_key(&leaf)
            && !self.leaves.has(leaf)
            && !self.store.as_ref().is_some_and(|store| store.has(leaf))
    }

    /// Finds each leaf, asking for those that are neither here nor on their way.
    fn find(self: &Arc<Self>, wanted: Range<u64>) -> Result<Vec<Origin>> {
        let mut found: HashMap<u64, Origin> = HashMap::new();
        for leaf in wanted.clone() {
            if let Some(bytes) = self.cached(leaf) {
                found.insert(leaf, Origin::Here(bytes));
            }
        }
        let mut inflight = self.inflight();
        let mut missing = Vec::new();
        for leaf in wanted
            .clone()
            .filter(|leaf| !found.contains_key(leaf))
            .collect::<Vec<_>>()
        {
            if let Some(request) = inflight.get(&leaf) {
                found.insert(leaf, Origin::Inflight(Arc::clone(request)));
            } else if let Some(bytes) = self.leaves.get(leaf) {
                found.insert(leaf, Origin::Here(bytes));
            } else {
                missing.push(leaf);
            }
        }
        self.add_queued(&inflight, &mut missing);
        for request in self.spawn_requests(&mut inflight, &missing, Urgency::Now)? {
            for leaf in request.leaves.clone() {
                let origin = || Origin::Inflight(Arc::clone(&request));
                found.entry(leaf).or_insert_with(origin);
            }
        }
        drop(inflight);
        Ok(wanted.filter_map(|leaf| found.remove(&leaf)).collect())
    }

    /// Adds the leaves of queued requests that have some of the missing ones: a reader does not
    /// wait for their turn.
    fn add_queued(&self, inflight: &InflightRequests, missing: &mut Vec<u64>) {
        let queued = self.queue.take_with(missing);
        let leaves = queued.into_iter().flatten();
        missing.extend(leaves.filter(|&leaf| self.is_absent(inflight, leaf)));
        missing.sort_unstable();
        missing.dedup();
    }

    /// Sends requests for missing leaves.
    fn spawn_requests(
        self: &Arc<Self>,
        inflight: &mut InflightRequests,
        missing: &[u64],
        urgency: Urgency,
    ) -> Result<Vec<Arc<Inflight>>> {
        let is_absent = |leaf| self.is_absent(inflight, leaf);
        let requests = plan::requests(missing.iter().copied(), is_absent);
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let runtime = runtime::handle()?;
        let mut spawned = Vec::with_capacity(requests.len());
        for leaves in requests {
            let request = Arc::new(Inflight::new(leaves.clone()));
            for leaf in leaves {
                inflight.insert(leaf, Arc::clone(&request));
            }
            runtime.spawn(Arc::clone(self).run_request(Arc::clone(&request), urgency));
            spawned.push(request);
        }
        Ok(spawned)
    }

    /// Does one request.
    async fn run_request(self: Arc<Self>, request: Arc<Inflight>, urgency: Urgency) {
        let guard = CompleteOnDrop(Arc::clone(&request));
        let result = self.obtain(&request.leaves, urgency).await;
        let mut inflight = self.inflight();
        for leaf in request.leaves.clone() {
            inflight.remove(&leaf);
        }
        drop(inflight);
        request.complete(result.map(Arc::from));
        drop(guard);
    }

    /// Gets leaves from the server, or waits until another process has stored them.
    async fn obtain(
        &self,
        leaves: &Range<u64>,
        urgency: Urgency,
    ) -> std::result::Result<Vec<Leaf>, Failure> {
        if self.offline {
            return Err(Failure::new(Cause::Final, OFFLINE));
        }
        let Some(store) = &self.store else {
            return self.fetch(leaves, urgency).await;
        };
        let (begin, mut pause) = (Instant::now(), FIRST_LOOK);
        let _lock = loop {
            match store.try_lock(leaves) {
                LeafLock::Busy if begin.elapsed() < PATIENCE => {
                    sleep(pause).await;
                    pause = (pause * 2).min(LAST_LOOK);
                }
                lock => break lock,
            }
        };
        // another process may have stored them meanwhile
        let stored: Vec<Option<Leaf>> = leaves.clone().map(|leaf| self.cached(leaf)).collect();
        let is_missing = |leaf: &Option<Leaf>| leaf.is_none();
        let (Some(first), Some(last)) = (
            stored.iter().position(is_missing),
            stored.iter().rposition(is_missing),
        ) else {
            return Ok(stored.into_iter().flatten().collect());
        };
        let at = |index: usize| leaves.start.saturating_add(index as u64);
        let fetched = self
            .fetch(&(at(first)..at(last).saturating_add(1)), urgency)
            .await?;
        let (before, after) = (stored.get(..first), stored.get(last.saturating_add(1)..));
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
        let mut all: Vec<Leaf> = before.iter().flatten().cloned().collect();
        all.extend(fetched);
        all.extend(after.iter().flatten().cloned());
        Ok(all)
    }

    /// Gets leaves from the server.
    async fn fetch(
        &self,
        leaves: &Range<u64>,
        urgency: Urgency,
    ) -> std::result::Result<Vec<Leaf>, Failure> {
        let wanted = Wanted::Range(plan::bytes(leaves, self.len));
        let part = self.fetcher.get(&wanted, urgency, None).await?;
        Ok(self.keep(&part).1)
    }
}
