//! Watching an image while it is served: numbers for whoever tunes it, and the order in which files
//! are read.
//!
//! Enters an opened image; leaves one that counts, what it counted, and the lines of a list for
//! `sinter build --hot`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sinterfs_block::cache::{BlockCache, CacheStats};
use sinterfs_ops::{Activity, OnRead, Watched};

use crate::image::Image;

/// An image that is watched.
#[derive(Debug)]
pub(super) struct AccessRecorder {
    image: Arc<Watched>,
    cache: Arc<BlockCache>,
    since: Instant,
}

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AccessReport {
    /// Since when.
    pub(super) uptime: Duration,
    /// What was asked of the image.
    pub(super) activity: Activity,
    /// What the cache of decoded blocks did.
    pub(super) cache: CacheStats,
    /// The bytes that decoded blocks may take.
    pub(super) capacity: u64,
}

/// Takes lines of the list of files that are read.
pub(super) type OnLine = Box<dyn FnMut(&[u8]) + Send>;

impl AccessRecorder {
    /// Watches an opened image. `on_read` gets a line before the first read of each file returns:
    /// its path as `sinter build --hot` reads it; and an empty one after each other call.
    pub(super) fn new(image: &Image, on_read: Option<OnLine>) -> Self {
        let on_read = on_read.map(|mut on_read| -> OnRead {
            Box::new(move |path| on_read(&path.map(line).unwrap_or_default()))
        });
        Self {
            image: Arc::new(Watched::new(Arc::clone(image.raw()), on_read)),
            cache: Arc::clone(image.handle().cache()),
            since: Instant::now(),
        }
    }

    /// Returns the image to serve.
    pub(super) fn image(&self) -> Arc<dyn sinterfs_model::Image> {
        Arc::clone(&self.image) as Arc<dyn sinterfs_model::Image>
    }

    /// Returns what was counted until now.
    pub(super) fn report(&self) -> AccessReport {
        AccessReport {
            uptime: self.since.elapsed(),
            activity: self.image.activity(),
            cache: self.cache.stats(),
            capacity: self.cache.capacity(),
        }
    }
}

/// Returns the line of a path in a list of `sinter build --hot`.
fn line(path: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(path.len() + 1);
    for &byte in path {
        if byte.is_ascii_whitespace() || matches!(byte, b'\\' | b'#') {
            line.push(b'\\');
        }
        line.push(byte);
    }
    line.push(b'\n');
    line
}
