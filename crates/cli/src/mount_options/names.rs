//! The options of `mount -o` where there are no mounts: they are separated, for the names of other
//! programs, and no more.
//!
//! In: the value of `-o`. Out: single options.

#[path = "split.rs"]
mod split;

pub use split::split_bytes;
