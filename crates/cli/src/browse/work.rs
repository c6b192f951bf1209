//! Slow work (measuring, reading, extracting) in separate threads.
//!
//! In: jobs. Out: results, through one channel. **Invariant:** each kind of work has one thread, so
//! jobs of a kind are done in their order, and a long one delays no others; an extraction is never
//! cut off by the end of the program ([`Workers::end`] waits for it).

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use sinterfs::model::{Ino, Stage, Tally};
use sinterfs::ops::{DuOptions, ExtractOptions, ExtractReport, Unread, extract};
use sinterfs::{Error, Image, Observer, Result};

use super::entries::{KnownSizes, Sizes};
use super::state::BrowserJob;
use crate::{flags, text};

/// The most inodes of an image that is measured as a whole: a row takes some 150 bytes.
const AT_ONCE: u64 = 500_000;

/// The outcome of a job.
pub enum Done {
    Measured {
        sizes: KnownSizes,
        /// Whether these are the sizes of the whole image.
        all: bool,
    },
    Failed(String),
    Read {
        ino: Ino,
        offset: u64,
        bytes: std::result::Result<Vec<u8>, String>,
    },
    Extracted(String),
}

/// Stops an extraction on request.
#[derive(Clone, Default)]
struct StopRequest(Arc<AtomicBool>);

impl Observer for StopRequest {
    fn expect(&self, _: Stage, _: Tally) {}
    fn advance(&self, _: Stage, _: Tally) {}
    // what is left out is counted in the report
    fn warn(&self, _: &Error) {}
    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The threads, which end when this is dropped and their jobs are done.
pub struct Workers {
    measure: Sender<BrowserJob>,
    read: Sender<BrowserJob>,
    extract: Sender<BrowserJob>,
    extraction: JoinHandle<()>,
    stop: StopRequest,
}

/// The state of each thread.
#[derive(Clone)]
struct Worker {
    image: Image,
    done: Sender<Done>,
    stop: StopRequest,
}

impl Worker {
    fn start(&self, name: &str) -> Result<(Sender<BrowserJob>, JoinHandle<()>)> {
        let (jobs, received) = channel();
        let worker = self.clone();
        let work = move || {
            for job in received {
                let result = run(&worker.image, job, &worker.stop);
                // nobody waits for results any more
                if worker.done.send(result).is_err() || worker.stop.cancelled() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name(name.into()).spawn(work);
        let thread = thread.map_err(|error| Error::io("cannot start a thread", error))?;
        Ok((jobs, thread))
    }
}

impl Workers {
    /// Starts the threads.
    pub fn start(image: &Image) -> Result<(Self, Receiver<Done>)> {
        let (done, results) = channel();
        let worker = Worker {
            image: image.clone(),
            done,
            stop: StopRequest::default(),
        };
        let (measure, _) = worker.start("measure")?;
        let (read, _) = worker.start("read")?;
        let (extract, extraction) = worker.start("extract")?;
        let workers = Self {
            measure,
            read,
            extract,
            extraction,
            stop: worker.stop,
        };
        Ok((workers, results))
    }

    /// Stops what is being extracted, and waits until no half-written file is left of it.
    pub fn end(self) {
        self.stop.0.store(true, Ordering::Relaxed);
        drop(self.extract);
        // a panic of that thread was printed
        let _ = self.extraction.join();
    }

    /// Hands over a job; fails if its thread has ended.
    pub fn give(&self, job: BrowserJob) -> Result<()> {
        let to = match job {
            BrowserJob::Measure { .. } => &self.measure,
            BrowserJob::Read { .. } => &self.read,
            BrowserJob::Extract { .. } => &self.extract,
            BrowserJob::Suspend | BrowserJob::Quit => return Ok(()),
        };
        let given = to.send(job);
        given.map_err(|_| Error::new(sinterfs::Kind::Io, "a thread of the browser has failed"))
    }
}

fn run(image: &Image, job: BrowserJob, stop: &StopRequest) -> Done {
    match job {
        BrowserJob::Measure { path, ino } => measure(image, &path, ino),
        BrowserJob::Read { ino, offset, len } => Done::Read {
            ino,
            offset,
            bytes: read(image, ino, offset, len).map_err(|error| flags::message(&error)),
        },
        BrowserJob::Extract { paths, dir } => Done::Extracted(extraction(image, paths, &dir, stop)),
        BrowserJob::Suspend | BrowserJob::Quit => Done::Failed(String::new()),
    }
}

fn measure(image: &Image, path: &[u8], ino: Ino) -> Done {
    let all = image.raw().info().totals.inodes <= AT_ONCE;
    let options = DuOptions {
        starts: if all {
            HashSet::new()
        } else {
            HashSet::from([ino])
        },
        max_depth: (!all).then_some(1),
        files: true,
    };
    // the listing of a directory shows what of it cannot be read
    let mut sizes = HashMap::new();
    let measured = image.disk_usage(&options, &mut Unread::default(), &mut |row| {
        let of_row = Sizes {
            apparent: row.apparent,
            stored: row.stored,
        };
        sizes.insert(row.path, of_row);
        Ok(())
    });
    match measured {
        Ok(()) => Done::Measured { sizes, all },
        Err(error) => {
            let why = flags::message(&error);
            Done::Failed(format!("cannot measure /{}: {why}", text::name(path)))
        }
    }
}

fn read(image: &Image, ino: Ino, offset: u64, len: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match image.raw().read_at(ino, offset + filled as u64, rest)? {
            0 => break,
            count => filled += count,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

fn extraction(image: &Image, paths: Vec<Vec<u8>>, dir: &Path, stop: &StopRequest) -> String {
    let paths = paths.into_iter().map(OsString::from_vec).map(PathBuf::from);
    let options = ExtractOptions {
        paths: paths.collect(),
        ..ExtractOptions::default()
    };
    match extract(&**image.raw(), dir, &options, stop) {
        Ok(report) => summary(&report, dir),
        Err(error) => flags::message(&error),
    }
}

fn summary(report: &ExtractReport, dir: &Path) -> String {
    let counts = text::counts(&[
        (report.files, "file"),
        (report.directories, "directory"),
        (report.symlinks, "symlink"),
        (report.links, "hard link"),
        (report.specials, "special file"),
    ]);
    let mut summary = format!("{}: {counts}", dir.display());
    for (count, what) in [
        (report.failed, "not extracted"),
        (report.imperfect, "without some of their attributes"),
    ] {
        if count > 0 {
            summary += &format!("; {count} {what}");
        }
    }
    summary
}
