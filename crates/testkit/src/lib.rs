//! An `Image` in memory for tests: what enters is a tree built by hand, what leaves is an image
//! that answers as a format's reader would, with blocks that can be damaged on purpose.
//!
//! **Invariant:** nothing here is shipped; names are not checked, so that hostile images can be
//! made too.

#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod image;
mod sample;

pub use image::{Builder, Id, MemImage, Piece};
pub use sample::{meta, noise, sample};

/// Tells why a test can't run here: prints `SKIPPED`, or panics where CI promises everything.
#[allow(
    clippy::print_stderr,
    reason = "tests tell their reader what did not run"
)]
pub fn skip(why: &str) {
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "a test may not be skipped in CI: {why}"
    );
    eprintln!("SKIPPED: {why}");
}
