//! Watching an image while it is served: numbers for whoever tunes it, and the order in which files
//! are read.
//!
//! Enters an opened image; leaves one that counts, what it counted, and a list for
//! `sinter build --hot`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sinterfs_block::cache::{BlockCache, CacheStats};
use sinterfs_model::Result;
use sinterfs_ops::{Activity, Watched};

use crate::image::Image;

/// An image that is watched.
#[derive(Debug)]
pub struct AccessRecorder {
    image: Arc<Watched>,
    cache: Arc<BlockCache>,
    since: Instant,
}

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessReport {
    /// Since when.
    pub uptime: Duration,
    /// What was asked of the image.
    pub activity: Activity,
    /// What the cache of decoded blocks did.
    pub cache: CacheStats,
    /// The bytes that decoded blocks may take.
    pub capacity: u64,
}

impl AccessRecorder {
    /// Watches an opened image, with the order in which files are read on demand.
    pub fn new(image: &Image, order: bool) -> Self {
        Self {
            image: Arc::new(Watched::new(Arc::clone(image.raw()), order)),
            cache: Arc::clone(image.handle().cache()),
            since: Instant::now(),
        }
    }

    /// Returns the image to serve.
    pub fn image(&self) -> Arc<dyn sinterfs_model::Image> {
        Arc::clone(&self.image) as Arc<dyn sinterfs_model::Image>
    }

    /// Returns what was counted until now.
    pub fn report(&self) -> AccessReport {
        AccessReport {
            uptime: self.since.elapsed(),
            activity: self.image.activity(),
            cache: self.cache.stats(),
            capacity: self.cache.capacity(),
        }
    }

    /// Lists the files that were read, first read first, a path a line: the words of
    /// `sinter build --hot`.
    pub fn order(&self) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        for path in self.image.paths()? {
            for byte in path {
                if byte.is_ascii_whitespace() || matches!(byte, b'\\' | b'#') {
                    text.push(b'\\');
                }
                text.push(byte);
            }
            text.push(b'\n');
        }
        Ok(text)
    }
}
