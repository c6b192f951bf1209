//! What threads of the cache wait for and count with, named in one place: `schedules/` compiles
//! the cache with others in their stead, whose order of steps a scheduler decides.

pub(crate) use std::sync::OnceLock;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
pub(crate) use std::thread;
pub(crate) use std::time::Instant;

pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
