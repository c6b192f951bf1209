//! Files that were empty when scanned and have content at the end of a build.
//!
//! In: the empty files of a tree. Out: the number of those that grew; each is reported.
//! **Invariant:** only files that may change are opened; one that cannot be opened any more had
//! nothing to lose.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use sinterfs_model::{Error, NodeId, Observer, Result, Source, Tree};
use sinterfs_platform::names;
use sinterfs_workers::run_fallible;

/// Reports and counts the files that have content now.
pub(crate) fn grown(
    source: &dyn Source,
    tree: &Tree,
    empty: &[NodeId],
    threads: usize,
    observer: &dyn Observer,
) -> Result<u64> {
    let (next, count) = (AtomicUsize::new(0), AtomicU64::new(0));
    run_fallible("read", threads, || {
        while let Some(&file) = empty.get(next.fetch_add(1, Ordering::Relaxed)) {
            observer.check_cancelled()?;
            if !source.may_change(file) {
                continue;
            }
            let len = source.open(tree, file).and_then(|content| content.len());
            if len.is_ok_and(|len| len > 0) {
                let what = "was empty when it was scanned and has content now, stored empty";
                observer.warn(&Error::invalid(what).path(names::path_buf(tree.path(file))));
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    })?;
    Ok(count.into_inner())
}
