//! Fetching the rest of an image into the cache, at a rate.
//!
//! In: an object that is open. Out: all its leaves in the cache on disk, as far as that takes them.
//! **Invariant:** reads go first: two of the requests that an image may have on their way are
//! theirs. Who fills does not keep the object open.

use std::ops::Range;
use std::sync::{Arc, Weak};
use std::time::Duration;

use sinterfs_model::{Error, Result};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until};

use crate::cache::Store;
use crate::failure::{Cause, Failure};
use crate::fetch::Urgency;
use crate::options::FillOptions;
use crate::plan::{self, LEAF};
use crate::retry;
use crate::shared::Shared;

/// Leaves of one request: caches between here and the server keep pieces of that size.
const PIECE: u64 = (4 << 20) / LEAF;

/// Requests at once, without a rate.
const AT_ONCE: usize = 4;

/// The maximum delay before a fill begins: many machines may start at once.
const LATEST_BEGIN: Duration = Duration::from_secs(2);

/// The delay after a temporary failure.
const AFTER_FAILURE: Duration = Duration::from_secs(60);

/// The progress of a fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Filled {
    /// Bytes that were fetched.
    pub fetched: u64,
    /// Whether all of the image is in the cache now.
    pub is_whole: bool,
}

type Requests = JoinSet<std::result::Result<(), Failure>>;

/// Why a fill ended early.
pub(crate) enum FillEnd {
    /// The object was closed.
    Closed,
    Failed(Failure),
}

/// Fetches what is missing once; `Ok` also when the cache takes nothing more.
pub(crate) async fn fill(
    shared: Weak<Shared>,
    options: FillOptions,
) -> std::result::Result<Filled, FillEnd> {
    let mut running = JoinSet::new();
    let fetched = fetch_all(&shared, options, &mut running).await;
    // somebody may wait for what is on its way
    running.detach_all();
    let fetched = fetched?;
    let open = shared.upgrade().ok_or(FillEnd::Closed)?;
    let all = plan::leaves(&(0..open.len));
    let has_all = |store: &Store| all.clone().all(|leaf| store.has(leaf));
    let is_whole = open.store.as_ref().is_some_and(has_all);
    Ok(Filled { fetched, is_whole })
}

async fn fetch_all(
    shared: &Weak<Shared>,
    options: FillOptions,
    running: &mut Requests,
) -> std::result::Result<u64, FillEnd> {
    let (begin, at_once) = match options.rate {
        Some(_) => (Instant::now(), 1),
        None => (Instant::now(), AT_ONCE),
    };
    let (mut fetched, mut next) = (0_u64, 0);
    loop {
        while running.len() >= at_once
            && let Some(done) = running.join_next().await
        {
            outcome(done)?;
        }
        if let Some(rate) = options.rate {
            let seconds = fetched as f64 / rate.max(1) as f64;
            sleep_until(begin + Duration::from_secs_f64(seconds)).await;
        }
        let open = shared.upgrade().ok_or(FillEnd::Closed)?;
        let Some(piece) = missing_piece(&open, &mut next) else {
            break;
        };
        let bytes = plan::bytes(&piece, open.len);
        fetched = fetched.saturating_add(bytes.end.saturating_sub(bytes.start));
        running.spawn(open.fetch_leaves(piece, Urgency::Ahead));
    }
    while let Some(done) = running.join_next().await {
        outcome(done)?;
    }
    Ok(fetched)
}

/// Returns the next leaves that are missing, at most a piece; `None` at the end, or where the cache
/// takes nothing more.
fn missing_piece(shared: &Shared, next: &mut u64) -> Option<Range<u64>> {
    let store = shared.store.as_ref()?;
    let end = plan::leaves(&(0..shared.len)).end;
    if !store.writes() {
        return None;
    }
    while *next < end {
        let border = (*next / PIECE).saturating_add(1).saturating_mul(PIECE);
        let border = border.min(end);
        let is_missing = |leaf: &u64| !store.has(*leaf);
        let Some(first) = (*next..border).find(is_missing) else {
            *next = border;
            continue;
        };
        let last = (first..border).find(|leaf| store.has(*leaf));
        *next = last.unwrap_or(border);
        return Some(first..*next);
    }
    None
}

fn outcome(
    done: std::result::Result<std::result::Result<(), Failure>, JoinError>,
) -> std::result::Result<(), FillEnd> {
    let lost = |_| FillEnd::Failed(Failure::temporary("a request ended without an answer"));
    done.map_err(lost)?.map_err(FillEnd::Failed)
}

/// Fetches what is missing while the object is open. Failures that may pass are waited for; of
/// others `warn` hears.
pub(crate) async fn fill_behind(shared: Weak<Shared>, options: FillOptions, warn: fn(&Error)) {
    sleep(retry::jittered(LATEST_BEGIN)).await;
    loop {
        let failure = match fill(Weak::clone(&shared), options).await {
            Ok(filled) => {
                if !filled.is_whole {
                    warn(&full());
                }
                return;
            }
            Err(FillEnd::Closed) => return,
            Err(FillEnd::Failed(failure)) => failure,
        };
        let is_lasting = matches!(
            failure.cause,
            Cause::Changed | Cause::Missing | Cause::Denied | Cause::NoRanges
        );
        if is_lasting {
            warn(&failure.error(format_args!("the rest of the image is not fetched")));
            return;
        }
        sleep(retry::jittered(AFTER_FAILURE)).await;
    }
}

/// Returns the error of an image that does not fit in the cache.
pub(crate) fn full() -> Error {
    Error::limit("the cache takes no more of the image")
}

/// Returns the leaves on disk; `Invalid` if there are none.
pub(crate) fn cache_of(shared: &Shared) -> Result<&Store> {
    let none = || Error::invalid("no cache to fetch the image into");
    shared.store.as_ref().ok_or_else(none)
}

/// Waits until what is missing is there.
pub(crate) fn fill_now(shared: &Arc<Shared>, options: FillOptions) -> Result<Filled> {
    cache_of(shared)?;
    let work = fill(Arc::downgrade(shared), options);
    let done = crate::runtime::wait(&crate::runtime::spawn(work)?, shared.fetcher.stop)?;
    done.map_err(|end| match end {
        FillEnd::Closed => Error::invalid("the image was closed"),
        FillEnd::Failed(failure) => failure.error(format_args!("cannot fetch all of the image")),
    })
}
