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
use crate::cache::{CacheDirectory, CacheOptions, Known, Store};
use crate::failure::{Cause, Failure};
use crate::fetch::{Fetcher, ObjectVersion, Urgency};
use crate::leaves::Leaves;
use crate::objects::{Fetched, Wanted};
use crate::options::RemoteOptions;
use crate::plan::{LEAF, MOST};
use crate::read_ahead::ReadAhead;
use crate::runtime;
use crate::shared::Shared;

/// Bytes at the end that are fetched with the first ones: tables and indexes are there. One leaf
/// more than is kept, since the end of an object is rarely that of a leaf.
const TAIL: u64 = 5 * LEAF;

/// Leaves that one step of a read waits for.
const STEP: u64 = 4 * MOST;

/// A remote object.
pub struct Remote {
    address: Address,
    shared: Arc<Shared>,
    read_ahead: ReadAhead,
}

/// The version that an object has, and parts that came while that was found out.
struct Opening {
    version: ObjectVersion,
    parts: Vec<Fetched>,
}

impl Remote {
    /// Opens an object: pins its version, with its first and last bytes.
    ///
    /// # Errors
    /// `NotFound` if there is none; `Unsupported` if the server sends no ranges or no strong entity
    /// tag; `Io` if it cannot be reached, or refuses.
    pub fn open(address: &Address, options: &RemoteOptions) -> Result<Self> {
        let fetcher = Arc::new(Fetcher::new(address, options)?);
        let cache = options.cache.as_ref().and_then(|options| {
            let opened = CacheDirectory::open(&options.directory);
            let opened = opened.map_err(|error| (options.warn)(&error)).ok()?;
            Some((opened, options))
        });
        let offline = options.offline;
        let url = address.cache_name();
        let mut lock = None;
        let found = match &cache {
            Some((directory, _)) => match directory.known(&url, !offline) {
                Known::Version(version) if offline => Ok(Opening::nothing_but(version)),
                Known::Version(version) => ask_again(&fetcher, version),
                Known::Nothing(_) if offline => Err(not_here()),
                Known::Nothing(first) => {
                    lock = first;
                    ask(&fetcher)
                }
            },
            None if offline => Err(not_here()),
            None => ask(&fetcher),
        }?;
        let Opening { version, parts } = found;
        if !options.unpinned && !version.is_strong() {
            let host = address.host();
            return Err(Error::unsupported(format!(
                "{host} sends no strong ETag for it, so that a change of the image would go \
                 unnoticed: require its root digest, or allow unpinned images"
            )));
        }
        fetcher.pin(version.clone());
        let cache = cache.filter(|_| version.is_strong());
        let store = cache
            .as_ref()
            .and_then(|(directory, options)| open_store(directory, &url, &version, options));
        let shared = Arc::new(Shared {
            fetcher,
            len: version.len,
            leaves: Leaves::new(options.memory),
            store,
            offline,
            flights: Mutex::new(HashMap::new()),
        });
        for part in parts {
            shared.keep(&part);
        }
        if let (Some((directory, _)), false) = (&cache, offline) {
            // a note that is missing costs a request
            let _ = directory.note(&url, &version);
        }
        // processes that waited now find both in the cache
        drop(lock);
        Ok(Self {
            address: address.clone(),
            shared,
            read_ahead: ReadAhead::default(),
        })
    }

    /// Returns the address.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns the entity tag that the server sent.
    pub fn etag(&self) -> Option<&str> {
        self.shared.fetcher.version()?.etag.as_deref()
    }
}

impl Opening {
    fn nothing_but(version: ObjectVersion) -> Self {
        Self {
            version,
            parts: Vec::new(),
        }
    }
}

fn not_here() -> Error {
    Error::not_found("it is not in the cache, and the server may not be asked (offline)")
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

/// Gets the first and the last bytes at once. The last ones are only a guess.
fn ask(fetcher: &Arc<Fetcher>) -> Result<Opening> {
    let get = |wanted: Wanted| {
        let fetcher = Arc::clone(fetcher);
        runtime::spawn(async move { fetcher.get(&wanted, Urgency::Now, None).await })
    };
    let first = Wanted::Range(0..LEAF);
    let head = get(first.clone())?;
    let tail = fetcher.serves_last().then(|| get(Wanted::Last(TAIL)));
    let head = runtime::wait(&head)?.map_err(|failure| fetcher.error(&failure, &first))?;
    let version = ObjectVersion {
        len: head.total,
        etag: head.etag.clone(),
    };
    let tail = match tail {
        Some(tail) => runtime::wait(&tail?)?.ok(),
        None => None,
    };
    let is_same = |part: &Fetched| part.total == version.len && part.etag == version.etag;
    Ok(Opening {
        parts: [Some(head), tail.filter(is_same)]
            .into_iter()
            .flatten()
            .collect(),
        version,
    })
}

/// Asks whether the version is still the one of which bytes are in the cache.
fn ask_again(fetcher: &Arc<Fetcher>, version: ObjectVersion) -> Result<Opening> {
    let first = Wanted::Range(0..LEAF);
    let (asking, wanted) = (Arc::clone(fetcher), first.clone());
    let etag = version.etag.clone();
    let answer =
        runtime::spawn(async move { asking.get(&wanted, Urgency::Now, etag.as_deref()).await })?;
    match runtime::wait(&answer)? {
        Err(Failure {
            cause: Cause::Unchanged,
            ..
        }) => Ok(Opening::nothing_but(version)),
        Err(failure) => Err(fetcher.error(&failure, &first)),
        Ok(head) => Ok(Opening {
            version: ObjectVersion {
                len: head.total,
                etag: head.etag.clone(),
            },
            parts: vec![head],
        }),
    }
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
        let mut ahead = self.read_ahead.after(&(offset..end));
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
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("address", &self.address)
            .field("len", &self.shared.len)
            .finish_non_exhaustive()
    }
}
