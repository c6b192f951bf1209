//! Threads and what they share: starting them, their panics as errors, the permits of idle ones,
//! and permits for large memory.
//!
//! **Invariant:** nothing of ours is imported, and no result depends on how many threads ran.

mod fallible;
mod permits;
mod sync;
mod threads;

pub use fallible::{FromPanic, catch_panic, lock, run_fallible};
pub use permits::{MemoryNeeds, MemoryPermit, WorkerPermit, WorkerPermits};
pub use threads::{join, run, spawn, thread_count};
