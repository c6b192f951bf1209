//! Files with counters of a mount and with the order of its reads.
//!
//! **Invariant:** counters are replaced atomically, so a reader never sees half of them. The list
//! of files has a file before its first read returns, and so is complete when the mount has ended.
//! A failure to write either affects neither the mount nor its end.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use sinterfs_block::cache::{BlockCache, CacheStats};
use sinterfs_model::{Error, Result};
use sinterfs_ops::{Activity, OnRead, Watched};

use crate::image::Image;
use crate::mount::ticker::Ticker;
use crate::place::transport::ReadNotes;

/// The interval at which changed counters are written.
const EVERY: Duration = Duration::from_secs(1);

/// The statistics of a mount.
#[derive(Debug)]
pub(super) struct Statistics {
    image: Arc<Watched>,
    record: Option<Arc<Mutex<RecordFile>>>,
    /// The thread that writes counters.
    counters: Option<Ticker>,
}

/// What counts.
struct Counting {
    image: Arc<Watched>,
    cache: Arc<BlockCache>,
    since: Instant,
}

/// What was counted.
struct Counted {
    seconds: f64,
    /// What was asked of the image.
    activity: Activity,
    cache: CacheStats,
    /// The bytes that decoded blocks may take.
    capacity: u64,
}

/// The list of files that were read, which grows with each one, and after it what was read of a
/// remote image.
struct RecordFile {
    path: PathBuf,
    file: File,
    /// The bytes of the list without the last line.
    len: u64,
    reads: Option<ReadNotes>,
    failed: Option<std::io::Error>,
}

impl std::fmt::Debug for RecordFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordFile")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Statistics {
    /// Starts to write counters to one file and the order of reads to another one. Fails if a file
    /// cannot be written; `warn` gets a later failure to write counters.
    pub(super) fn start(
        counters: Option<&Path>,
        record: Option<&Path>,
        reads: Option<ReadNotes>,
        image: &Image,
        warn: fn(&Error),
    ) -> Result<Self> {
        let record = record.map(|path| RecordFile::new(full(path)?, reads));
        let record = record.transpose()?.map(|file| Arc::new(Mutex::new(file)));
        let on_read = record.clone().map(|record| -> OnRead {
            Box::new(move |path| {
                let record = record.lock();
                let mut record = record.unwrap_or_else(PoisonError::into_inner);
                record.add(&path.map(line_of).unwrap_or_default());
            })
        });
        let watched = Arc::new(Watched::new(Arc::clone(image.raw()), on_read));
        let counting = Counting {
            image: Arc::clone(&watched),
            cache: Arc::clone(image.handle().cache()),
            since: Instant::now(),
        };
        let counters = counters.map(|path| {
            let path = full(path)?;
            replace(&path, &counting.now().as_json())?;
            write_each_second(counting, path, warn)
        });
        Ok(Self {
            image: watched,
            record,
            counters: counters.transpose()?,
        })
    }

    /// Returns the image to serve, which counts accesses.
    pub(super) fn image(&self) -> Arc<dyn sinterfs_model::Image> {
        Arc::clone(&self.image) as Arc<dyn sinterfs_model::Image>
    }

    /// Writes the final state of all files. Fails if the list of reads is not complete.
    pub(super) fn finish(&mut self) -> Result<()> {
        drop(self.counters.take());
        let Some(record) = &self.record else {
            return Ok(());
        };
        let mut record = record.lock().unwrap_or_else(PoisonError::into_inner);
        record.add(b"");
        match record.failed.take() {
            Some(error) => Err(Error::io("cannot write", error).path(&record.path)),
            None => Ok(()),
        }
    }
}

impl RecordFile {
    /// Makes an empty list; another mount may still write to one that it replaces.
    fn new(path: PathBuf, reads: Option<ReadNotes>) -> Result<Self> {
        replace(&path, b"")?;
        let file = File::options().write(true).open(&path);
        Ok(Self {
            file: file.map_err(|error| Error::io("cannot write", error).path(&path))?,
            path,
            len: 0,
            reads,
            failed: None,
        })
    }

    /// Adds a line, and what was read since the last call.
    fn add(&mut self, line: &[u8]) {
        let reads = self.reads.as_mut();
        let last = reads.and_then(|reads| reads(!line.is_empty()));
        if line.is_empty() && last.is_none() {
            return;
        }
        let bytes = [line, last.unwrap_or_default().as_bytes()].concat();
        match self.file.write_all_at(&bytes, self.len) {
            Ok(()) => self.len += line.len() as u64,
            Err(error) => self.failed = Some(error),
        }
    }
}

impl Counting {
    fn now(&self) -> Counted {
        Counted {
            seconds: self.since.elapsed().as_secs_f64(),
            activity: self.image.activity(),
            cache: self.cache.stats(),
            capacity: self.cache.capacity(),
        }
    }
}

/// Starts the thread that writes changed counters each second.
fn write_each_second(counting: Counting, path: PathBuf, warn: fn(&Error)) -> Result<Ticker> {
    let (mut written, mut warned) = (None, false);
    let tick = move |is_last: bool| {
        let counted = counting.now();
        let news = (counted.activity, counted.cache);
        if (is_last || written != Some(news))
            && let Err(error) = replace(&path, &counted.as_json())
            && !std::mem::replace(&mut warned, true)
        {
            warn(&error);
        }
        written = Some(news);
        EVERY
    };
    Ticker::start("stats", EVERY, tick)
}

/// Returns the line of a path in a list of `sinter build --hot`.
fn line_of(path: &[u8]) -> Vec<u8> {
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

/// Returns a path that does not depend on the working directory, which a daemon changes later.
fn full(path: &Path) -> Result<PathBuf> {
    let full = std::path::absolute(path);
    full.map_err(|error| Error::io("cannot resolve the path", error).path(path))
}

/// Replaces a file atomically.
fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}~", std::process::id()));
    let temporary = PathBuf::from(temporary);
    // what a killed run has left there, or a symlink
    let _ = std::fs::remove_file(&temporary);
    let written = File::create_new(&temporary)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| std::fs::rename(&temporary, path));
    written.map_err(|error| {
        // an incomplete temporary file is of no use
        let _ = std::fs::remove_file(&temporary);
        Error::io("cannot write", error).path(path)
    })
}

impl Counted {
    fn as_json(&self) -> Vec<u8> {
        let activity = &self.activity;
        let micros = |time: Duration| time.as_nanos() as f64 / 1000.0;
        let [median, p90, p99, longest] = activity.read_times.map(micros);
        let mean = micros(activity.reading) / activity.reads.max(1) as f64;
        let value = json!({
            "seconds": self.seconds,
            "reads": activity.reads,
            "read_bytes": activity.bytes,
            "failed_reads": activity.failed,
            "read_microseconds": {
                "mean": mean, "p50": median, "p90": p90, "p99": p99, "max": longest,
            },
            "lookups": activity.lookups,
            "attributes": activity.attributes,
            "listings": activity.listings,
            "links": activity.links,
            "xattrs": activity.xattrs,
            "cache": {
                "hits": self.cache.hits,
                "misses": self.cache.misses,
                "bytes": self.cache.bytes,
                "capacity": self.capacity,
            },
        });
        format!("{value:#}\n").into_bytes()
    }
}
