//! Opening a remote object: which version it has, and its first and last bytes.
//!
//! In: an address. Out: the object, pinned to its version. **Invariant:** without a strong entity
//! tag nothing is opened, unless that is allowed.

use std::sync::Arc;

use sinterfs_model::{Error, Result};

use crate::address::{Address, Scheme};
use crate::cache::Known;
use crate::failure::{Cause, Failure};
use crate::fetch::{Fetcher, Urgency};
use crate::in_registry;
use crate::objects::{Fetched, Wanted};
use crate::options::RemoteOptions;
use crate::plan::{LEAF, TAIL};
use crate::remote::{CachePlace, Remote, open_cache};
use crate::runtime;
use crate::version::ObjectVersion;

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
        if address.scheme == Scheme::Registry {
            return in_registry::open(address, options);
        }
        let fetcher = Arc::new(Fetcher::new(address, options)?);
        let cache = open_cache(options);
        let offline = options.offline;
        let url = address.cache_name();
        let mut lock = None;
        let found = match &cache {
            Some((directory, _)) => match directory.known(&url, !offline) {
                Known::Version(version) if offline => Ok(Opening::nothing_but(version)),
                Known::Version(version) => ask_again(&fetcher, version),
                Known::Nothing(_) if offline => Err(in_registry::not_here()),
                Known::Nothing(first) => {
                    lock = first;
                    ask(&fetcher)
                }
            },
            None if offline => Err(in_registry::not_here()),
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
        let place = CachePlace {
            cache,
            parts,
            name: url.clone(),
            noted: (!offline).then_some(url),
        };
        let opened = Self::of(fetcher, address, &version, place, options);
        // processes that waited now find both in the cache
        drop(lock);
        Ok(opened)
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

/// Gets the first and the last bytes at once. The last ones are only a guess.
fn ask(fetcher: &Arc<Fetcher>) -> Result<Opening> {
    let get = |wanted: Wanted| {
        let fetcher = Arc::clone(fetcher);
        runtime::spawn(async move { fetcher.get(&wanted, Urgency::Now, None).await })
    };
    let first = Wanted::Range(0..LEAF);
    let head = get(first.clone())?;
    let tail = fetcher.serves_last().then(|| get(Wanted::Last(TAIL)));
    let head =
        runtime::wait(&head, fetcher.stop)?.map_err(|failure| fetcher.error(&failure, &first))?;
    let version = ObjectVersion {
        len: head.total,
        etag: head.etag.clone(),
    };
    let tail = match tail {
        Some(tail) => runtime::wait(&tail?, fetcher.stop)?.ok(),
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
    match runtime::wait(&answer, fetcher.stop)? {
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
