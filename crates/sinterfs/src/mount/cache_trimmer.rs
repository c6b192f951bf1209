//! Giving the memory of decoded blocks back while nobody needs them.
//!
//! Enters the cache of an image that is served for a long time; leaves it empty when nothing was
//! read for a while, or when the system runs short of memory. **Invariant:** answers do not depend
//! on it: what was forgotten is decoded again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sinterfs_block::cache::BlockCache;
use sinterfs_model::Result;

use crate::image::Image;
use crate::mount::allocator::trim;
use crate::mount::memory::is_short;
use crate::mount::ticker::Ticker;
use crate::open_options::OpenOptions;

/// How often the cache and the system's memory are looked at, at most.
const EVERY: Duration = Duration::from_secs(5);

/// Looks after a cache until it is dropped.
#[derive(Debug)]
pub struct CacheTrimmer {
    _ticker: Ticker,
}

impl CacheTrimmer {
    /// Looks after the cache of an image, which is emptied after so long without reads, and
    /// whenever less than a 32nd of the system's memory is available.
    pub(super) fn start(image: &Image, idle: Duration) -> Result<Self> {
        Self::of(Arc::clone(image.handle().cache()), idle)
    }

    /// Does the same for the cache that images opened with these options share; `None` if they
    /// share none.
    pub fn of_shared(options: &OpenOptions, idle: Duration) -> Result<Option<Self>> {
        let cache = options.cache.clone();
        cache.map(|cache| Self::of(cache, idle)).transpose()
    }

    fn of(cache: Arc<BlockCache>, idle: Duration) -> Result<Self> {
        let every = EVERY.min(idle.max(Duration::from_millis(100)));
        let mut idling = Idling::new(&cache);
        let tick = move |is_last: bool| {
            let is_time = !is_last && (idling.lasts(&cache) >= idle || is_short());
            if is_time && cache.stats().bytes > 0 {
                cache.clear();
                trim();
            }
            every
        };
        Ok(Self {
            _ticker: Ticker::start("idle", every, tick)?,
        })
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
