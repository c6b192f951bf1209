//! What tests of several crates share: an `Image` in memory, the shared vectors, numbers without a
//! pattern.
//!
//! What enters the image is a tree built by hand, what leaves is an image that answers as a
//! format's reader would, with blocks that can be damaged on purpose. **Invariant:** nothing here
//! is shipped; names are not checked, so that hostile images can be made too.

#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod faults;
pub mod http_server;
mod image;
#[cfg(target_os = "linux")]
pub mod mounted;
mod random;
#[cfg(target_os = "linux")]
mod rights;
mod sample;
mod shared;

pub use faults::{Fault, at_every_call};
pub use image::{Builder, CacheModel, Id, MemImage, Piece};
pub use random::Random;
#[cfg(target_os = "linux")]
pub use rights::as_ordinary_user;
pub use sample::{meta, noise, sample};
pub use shared::{read_file, shared};

/// Returns why a test can't run here: prints `SKIPPED`, or panics where CI promises everything.
/// It does so on Unix alone: the tools, kernels and mounts that tests need cannot be installed on
/// Windows.
#[allow(
    clippy::print_stderr,
    reason = "tests tell their reader what did not run"
)]
pub fn skip(why: &str) {
    assert!(
        cfg!(windows) || std::env::var_os("CI").is_none(),
        "a test may not be skipped in CI: {why}"
    );
    eprintln!("SKIPPED: {why}");
}
