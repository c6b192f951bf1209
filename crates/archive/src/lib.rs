//! Archives: streams that hold one file after another (tar, cpio, packages of Debian and RPM),
//! files with a directory (zip), and lists of files (mtree).
//!
//! **Invariant:** knows the bytes of archives and nothing else: no images, no file system, no
//! threads. `pipeline` builds from archives that are read here; `ops` writes archives by the
//! writers here. Input is hostile: lengths are bounded before anything is allocated for them.

#![warn(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]
#![cfg_attr(
    test,
    allow(
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap,
        reason = "a test may panic"
    )
)]

pub mod ar;
pub mod cpio;
pub mod crc32;
mod member;
pub mod mtree;
mod outgoing;
pub mod packed;
pub mod rpm;
mod stream;
pub mod tar;
pub mod zip;

pub use member::{DataRun, Kind, Member, Notes};
pub use outgoing::{Follows, LinkTarget, Outgoing};
pub use stream::Stream;
