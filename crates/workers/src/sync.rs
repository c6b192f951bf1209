//! The primitives that permits use for waiting and counting, named in one place: `schedules/`
//! compiles `permits.rs` with others in their stead, whose order of steps a scheduler decides.

pub(crate) use std::sync::atomic::{AtomicIsize, Ordering};
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
