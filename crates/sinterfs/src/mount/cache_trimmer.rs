//! Giving the memory of decoded blocks back while nobody needs them.
//!
//! Enters the cache of an image that is served for a long time; leaves it empty when nothing was
//! read for a while, or when the system runs short of memory. **Invariant:** answers do not depend
//! on it: what was forgotten is decoded again.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sinterfs_block::cache::BlockCache;
use sinterfs_model::{Error, Result};

use crate::image::Image;
use crate::mount::allocator::trim;
use crate::mount::memory::is_short;
use crate::open_options::OpenOptions;

/// How often the cache and the system's memory are looked at, at most.
const EVERY: Duration = Duration::from_secs(5);

/// Looks after a cache until it is dropped.
#[derive(Debug)]
pub struct CacheTrimmer {
    work: Option<(Sender<()>, JoinHandle<()>)>,
}

impl CacheTrimmer {
    /// Looks after the cache of an image, which is emptied after so long without reads, and
    /// whenever less than a 32nd of the system's memory is available.
    pub fn start(image: &Image, idle: Duration) -> Result<Self> {
        Self::of(Arc::clone(image.handle().cache()), idle)
    }

    /// Does the same for the cache that images opened with these options share; `None` if they
    /// share none.
    pub fn of_shared(options: &OpenOptions, idle: Duration) -> Result<Option<Self>> {
        let cache = options.cache.clone();
        cache.map(|cache| Self::of(cache, idle)).transpose()
    }

    fn of(cache: Arc<BlockCache>, idle: Duration) -> Result<Self> {
        let (end, ended) = channel::<()>();
        let every = EVERY.min(idle.max(Duration::from_millis(100)));
        let work = move || {
            let mut idling = Idling::new(&cache);
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let is_time = idling.lasts(&cache) >= idle || is_short();
                if is_time && cache.stats().bytes > 0 {
                    cache.clear();
                    trim();
                }
            }
        };
        let thread = std::thread::Builder::new().name("idle".into()).spawn(work);
        let thread = thread.map_err(|error| Error::io("cannot start a thread", error))?;
        Ok(Self {
            work: Some((end, thread)),
        })
    }
}

impl Drop for CacheTrimmer {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.work.take() {
            drop(end);
            // a panic in there has been printed to standard error
            let _ = thread.join();
        }
    }
}

/// Since when nothing was read.
struct Idling {
    uses: u64,
    since: Instant,
}

impl Idling {
    fn new(cache: &BlockCache) -> Self {
        Self {
            uses: uses(cache),
            since: Instant::now(),
        }
    }

    fn lasts(&mut self, cache: &BlockCache) -> Duration {
        let uses = uses(cache);
        if uses != self.uses {
            *self = Self::new(cache);
        }
        self.since.elapsed()
    }
}

fn uses(cache: &BlockCache) -> u64 {
    let stats = cache.stats();
    stats.hits.wrapping_add(stats.misses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_begin_the_wait_anew() {
        let cache = BlockCache::new(1000, 10);
        let mut idling = Idling::new(&cache);
        std::thread::sleep(Duration::from_millis(20));
        assert!(idling.lasts(&cache) >= Duration::from_millis(20));
        let open = || Ok(sinterfs_block::cache::Opened::Decoded(vec![7; 10]));
        cache.read(1, 0, &mut [0; 3], open).unwrap();
        assert!(idling.lasts(&cache) < Duration::from_millis(20));
    }
}
