//! Reads every file once, for images whose content is stored elsewhere.
//!
//! **Invariant:** every regular file is visited once, whatever the number of its names; the first
//! error ends the work.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use sinterfs_model::{Error, FileContent, NodeId, Observer, Result, Source, Stage, Tally, Tree};

use crate::{dedupe, paths, threads};

/// What to do with each file. Called by many threads, each with a state of its own.
pub trait FileVisitor: Sync {
    /// The state of a thread.
    type State;
    /// Creates the state of a thread.
    fn start(&self) -> Self::State;
    /// Visits a file.
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
) -> Result<()> {
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
    threads::run("read", sinterfs_workers::thread_count(threads), || {
        let mut state = each.start();
        while let Some(&index) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
            if failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            let file = files[index as usize];
            let done = observer.check_cancelled().and_then(|()| {
                let content = source.open(tree, file)?;
                each.read(&mut state, file, &*content)
            });
            if let Err(error) = done {
                failed.store(true, Ordering::Relaxed);
                return Err(located(error, tree, file));
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
    })
}

fn located(error: Error, tree: &Tree, file: NodeId) -> Error {
    error.path(String::from_utf8_lossy(&tree.path(file)).into_owned())
}
