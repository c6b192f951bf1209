//! Reads every file once, for images whose content is stored elsewhere.
//!
//! **Invariant:** every regular file is visited once, for any number of names. A file that cannot
//! be read is reported and counted, and the others are visited; the first other error ends the
//! work.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use sinterfs_model::{
    Category, Error, Extent, FileContent, FileLayout, Kind, NodeId, Observer, Result, Source,
    Stage, Tally, Time, Tree,
};
use sinterfs_workers::{lock, run_fallible};

use crate::grown::grown;
use crate::{dedupe, paths};

/// Files that gave problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadCounts {
    /// Files that could not be read to their end.
    pub unreadable: u64,
    /// Files that were empty when they were visited and have content now.
    pub grown: u64,
}

/// The work for each file. Called by many threads, each with its own state.
pub trait FileVisitor: Sync {
    /// The state of a thread.
    type State;
    /// Creates the state of a thread.
    fn start(&self) -> Self::State;
    /// Visits a file. An error of reading the content leaves the file without any; another error
    /// ends the work.
    fn read(&self, state: &mut Self::State, file: NodeId, content: &dyn FileContent) -> Result<()>;
    /// Consumes the state of a thread after its last file.
    fn end(&self, state: Self::State) -> Result<()>;
}

/// Visits each regular file of a tree, large ones first. 0 threads means one for each CPU.
pub fn for_each_file<E: FileVisitor>(
    source: &dyn Source,
    tree: &Tree,
    threads: usize,
    each: &E,
    observer: &dyn Observer,
) -> Result<ReadCounts> {
    let files = paths::files(tree);
    let wanted = dedupe::by_turn(source, tree, &files, (0..files.len() as u32).collect());
    observer.expect(
        Stage::Commit,
        Tally {
            items: files.len() as u64,
            bytes: tree.stats().bytes,
            stored: 0,
        },
    );
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (unreadable, empty) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let threads = sinterfs_workers::thread_count(threads);
    run_fallible("read", threads, || {
        let mut state = each.start();
        while let Some(&index) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
            if failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            let file = files[index as usize];
            let done = observer
                .check_cancelled()
                .map_err(|error| (error, false))
                .and_then(|()| visit(source, tree, file, each, &mut state));
            match done {
                Ok(true) => {}
                Ok(false) => lock(&empty).push(file),
                Err((error, true)) => {
                    unreadable.fetch_add(1, Ordering::Relaxed);
                    observer.warn(&located(error, tree, file));
                }
                Err((error, false)) => {
                    failed.store(true, Ordering::Relaxed);
                    return Err(located(error, tree, file));
                }
            }
            observer.advance(
                Stage::Commit,
                Tally {
                    items: 1,
                    bytes: paths::size(tree, file),
                    stored: 0,
                },
            );
        }
        each.end(state)
    })?;
    let empty = empty.into_inner().unwrap_or_default();
    Ok(ReadCounts {
        unreadable: unreadable.into_inner(),
        grown: grown(source, tree, &empty, threads, observer)?,
    })
}

/// Visits a file and returns whether it had content; an error comes with whether it is one of
/// reading the file.
fn visit<E: FileVisitor>(
    source: &dyn Source,
    tree: &Tree,
    file: NodeId,
    each: &E,
    state: &mut E::State,
) -> std::result::Result<bool, (Error, bool)> {
    let content = match source.open(tree, file) {
        Ok(content) => content,
        // it had nothing to lose
        Err(_) if paths::size(tree, file) == 0 => return Ok(false),
        Err(error) => return Err((error, true)),
    };
    let watched = WatchedContent {
        inner: content,
        failed: Cell::new(false),
        has_content: Cell::new(false),
    };
    match each.read(state, file, &watched) {
        Ok(()) => Ok(watched.has_content.get()),
        Err(error) => {
            let of_reading = watched.failed.get() && error.kind() != Kind::Cancelled;
            Err((error, of_reading))
        }
    }
}

/// A content, with whether reading it failed and whether it has bytes.
struct WatchedContent {
    inner: Box<dyn FileContent>,
    failed: Cell<bool>,
    has_content: Cell<bool>,
}

impl WatchedContent {
    fn watch<T>(&self, done: Result<T>) -> Result<T> {
        self.failed.set(self.failed.get() || done.is_err());
        done
    }
}

impl FileContent for WatchedContent {
    fn len(&self) -> Result<u64> {
        let len = self.watch(self.inner.len())?;
        self.has_content.set(self.has_content.get() || len > 0);
        Ok(len)
    }

    fn modified(&self) -> Result<Option<Time>> {
        self.watch(self.inner.modified())
    }

    fn extents(&self) -> Result<Vec<Extent>> {
        self.watch(self.inner.extents())
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let count = self.watch(self.inner.read_at(offset, buf))?;
        self.has_content.set(self.has_content.get() || count > 0);
        Ok(count)
    }

    fn category(&self) -> Option<Category> {
        self.inner.category()
    }

    fn layout(&self) -> FileLayout {
        self.inner.layout()
    }
}

fn located(error: Error, tree: &Tree, file: NodeId) -> Error {
    error.path(String::from_utf8_lossy(&tree.path(file)).into_owned())
}
