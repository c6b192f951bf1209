//! `--stats` and `--record` of `sinter mount`: files with counters and with the order of reads.
//!
//! **Invariant:** counters are replaced atomically, so a reader never sees half of them. The list
//! of files has a file before its first read returns, and so is complete when the mount has ended.
//! A failure to write either affects neither the mount nor its end.

use std::fs::File;
use std::os::unix::fs::FileExt;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::json;
use sinterfs::mount::{AccessRecorder, AccessReport, OnLine};
use sinterfs::{Error, Image, Result};

use super::remote::ReadNotes;
use crate::text;

/// The interval at which changed counters are written.
const EVERY: Duration = Duration::from_secs(1);

/// The files to write.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Statistics")]
pub struct StatsArgs {
    /// Write counters to this file as JSON: reads and their times, lookups, cache hits and misses.
    /// The file is updated each second while anything happens, and at the end.
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,

    /// Write the paths of files in the order of their first read to this file: a list for
    /// `sinter build --hot`; of a remote image also which bytes were read, for --prefetch.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// The list of files that were read, which grows with each one, followed by the ranges that were
/// read of a remote image.
#[derive(Debug)]
struct RecordFile {
    path: PathBuf,
    file: File,
    /// The bytes of the list without the last line.
    len: u64,
    reads: Option<ReadNotes>,
    failed: Option<std::io::Error>,
}

/// The statistics of a mount.
#[derive(Debug)]
pub struct MountStats {
    watch: Arc<AccessRecorder>,
    record: Option<Arc<Mutex<RecordFile>>>,
    /// The thread that writes counters; it ends when the sender is dropped.
    stats: Option<(Sender<()>, JoinHandle<()>)>,
}

impl StatsArgs {
    /// Returns these files, with another one for the order of reads if there is one.
    pub fn recording(&self, record: Option<PathBuf>) -> Self {
        Self {
            stats: self.stats.clone(),
            record: record.or_else(|| self.record.clone()),
        }
    }

    /// Returns whether the order of reads is requested.
    pub fn records(&self) -> bool {
        self.record.is_some()
    }

    /// Returns whether any statistics are requested.
    pub fn is_asked(&self) -> bool {
        self.stats.is_some() || self.record.is_some()
    }

    /// Starts to collect statistics, if any are requested; fails if a file cannot be written.
    pub fn start(&self, opened: &Image, reads: Option<ReadNotes>) -> Result<Option<MountStats>> {
        if !self.is_asked() {
            return Ok(None);
        }
        // the background process changes its working directory later
        let full = |path: &PathBuf| {
            let full = std::path::absolute(path);
            full.map_err(|e| Error::io("cannot resolve the path", e).path(path))
        };
        let record = self.record.as_ref().map(full).transpose()?;
        let record = record.map(|path| RecordFile::new(path, reads));
        let record = record.transpose()?.map(|file| Arc::new(Mutex::new(file)));
        let on_read = record.clone().map(|record| -> OnLine {
            Box::new(move |line| {
                let record = record.lock();
                record.unwrap_or_else(PoisonError::into_inner).add(line);
            })
        });
        let watch = Arc::new(AccessRecorder::new(opened, on_read));
        let stats = self.stats.as_ref().map(full).transpose()?;
        let stats = stats.map(|path| {
            replace(&path, &as_json(&watch.report()))?;
            write_each_second(Arc::clone(&watch), path)
        });
        Ok(Some(MountStats {
            watch,
            record,
            stats: stats.transpose()?,
        }))
    }
}

impl MountStats {
    /// Returns the image to serve, which counts accesses.
    pub fn image(&self) -> Arc<dyn sinterfs::model::Image> {
        self.watch.image()
    }

    /// Writes the final state of all files.
    pub fn finish(self) -> Result<()> {
        if let Some((end, thread)) = self.stats {
            drop(end);
            // it has warned about failures itself
            let _ = thread.join();
        }
        let Some(record) = self.record else {
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

    /// Adds a line, and the ranges that were read since the last call.
    fn add(&mut self, line: &[u8]) {
        let mut last = None;
        if let Some(reads) = &self.reads
            && (reads.take_news() || !line.is_empty())
        {
            last = Some(reads.line().into_bytes());
        }
        if line.is_empty() && last.is_none() {
            return;
        }
        let bytes = [line, &last.unwrap_or_default()].concat();
        match self.file.write_all_at(&bytes, self.len) {
            Ok(()) => self.len += line.len() as u64,
            Err(error) => self.failed = Some(error),
        }
    }
}

/// Starts the thread that writes changed counters each second.
fn write_each_second(
    watch: Arc<AccessRecorder>,
    path: PathBuf,
) -> Result<(Sender<()>, JoinHandle<()>)> {
    let (end, ended) = channel::<()>();
    let work = move || {
        let mut written = None;
        let mut warned = false;
        loop {
            let last = ended.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout);
            let counted = watch.report();
            let news = (counted.activity, counted.cache);
            if (last || written != Some(news))
                && let Err(error) = replace(&path, &as_json(&counted))
                && !std::mem::replace(&mut warned, true)
            {
                text::warn(&crate::flags::message(&error));
            }
            written = Some(news);
            if last {
                return;
            }
        }
    };
    let thread = std::thread::Builder::new().name("stats".into()).spawn(work);
    let thread = thread.map_err(|error| Error::io("cannot start a thread", error))?;
    Ok((end, thread))
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

fn as_json(counted: &AccessReport) -> Vec<u8> {
    let activity = &counted.activity;
    let micros = |time: Duration| time.as_nanos() as f64 / 1000.0;
    let [median, p90, p99, longest] = activity.read_times.map(micros);
    let mean = micros(activity.reading) / activity.reads.max(1) as f64;
    let value = json!({
        "seconds": counted.uptime.as_secs_f64(),
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
            "hits": counted.cache.hits,
            "misses": counted.cache.misses,
            "bytes": counted.cache.bytes,
            "capacity": counted.capacity,
        },
    });
    format!("{value:#}\n").into_bytes()
}
