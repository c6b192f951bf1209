//! The sources of the block cache and of the permits, with locks, atomics, threads and a clock that
//! shuttle schedules; a decoder whose steps a test decides.
//!
//! **Invariant:** all below `cache/`, and `permits.rs`, are the files that are shipped.

#![allow(
    dead_code,
    reason = "what these files have for other crates is not tested here"
)]

#[path = "../../crates/block/src/cache/mod.rs"]
pub mod cache;
pub mod codec;
pub mod locks;
#[path = "../../crates/workers/src/permits.rs"]
pub mod permits;

mod stored;

pub use stored::{ReadAt, StoredSource as ChecksummedWindow, StoredSource as Window};

/// What permits are made of: as in `std`, scheduled by shuttle.
mod sync {
    pub(crate) use shuttle::sync::atomic::{AtomicIsize, Ordering};
    pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};
    pub(crate) use std::sync::PoisonError;
}
