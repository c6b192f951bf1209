//! Work on all shards by several threads, and the memory that it takes.
//!
//! **Invariant:** memory is `WINDOW_BYTES` per thread, for any length of the file.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use sinterfs_model::{Error, Observer, Result};
use sinterfs_platform::FileAt;

use crate::layout::UNIT;

/// Bytes of all shards that a thread works on at once.
const WINDOW_BYTES: u64 = 64 << 20;

/// Returns how many bytes of each of `shards` shards a thread works on at once.
pub(crate) fn window(shard: u64, shards: usize) -> u64 {
    let bytes = WINDOW_BYTES / (shards as u64).max(1);
    (bytes / UNIT * UNIT).clamp(UNIT, shard)
}

/// Calls `work` for each number below `count`, on several threads; the first error ends it.
pub(crate) fn for_each(
    count: u64,
    threads: usize,
    observer: &dyn Observer,
    work: impl Fn(u64) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicU64::new(0);
    let failed: Mutex<Option<Error>> = Mutex::default();
    let lock = || failed.lock().unwrap_or_else(PoisonError::into_inner);
    let threads = sinterfs_workers::thread_count(threads);
    let threads = threads
        .min(usize::try_from(count).unwrap_or(threads))
        .max(1);
    sinterfs_workers::run(threads, "parity", || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count || lock().is_some() {
                return;
            }
            let done = observer.check_cancelled().and_then(|()| work(index));
            if let Err(error) = done {
                lock().get_or_insert(error);
                return;
            }
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.map_or(Ok(()), Err)
}

/// Reads from a scratch file.
pub(crate) fn load(scratch: &File, buf: &mut [u8], offset: u64) -> Result<()> {
    scratch
        .read_exact_at(buf, offset)
        .map_err(|error| Error::io("cannot read the scratch file", error))
}

/// Writes to a scratch file.
pub(crate) fn store(scratch: &File, bytes: &[u8], offset: u64) -> Result<()> {
    scratch
        .write_all_at(bytes, offset)
        .map_err(|error| Error::io("cannot write the scratch file", error))
}

/// Makes the error of the code's library, which is one of ours: numbers are checked before.
#[cold]
pub(crate) fn code_error(error: reed_solomon_simd::Error) -> Error {
    Error::unsupported("this number of shards").because(error)
}

/// Converts a number of bytes that fit into memory.
pub(crate) fn length(bytes: u64) -> Result<usize> {
    usize::try_from(bytes).map_err(|_| Error::limit("a shard does not fit into memory"))
}
