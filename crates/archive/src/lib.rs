//! Archives: streams that hold one file after another (tar, cpio), and lists of files (mtree).
//!
//! **Invariant:** knows the bytes of archives and nothing else: no images, no file system, no
//! threads. `build` makes sources of what is read here; `ops` sends what is written here wherever
//! it is asked to. What is read is hostile: lengths are bounded before anything is allocated for
//! them.

pub mod cpio;
mod member;
pub mod mtree;
mod outgoing;
mod stream;
pub mod tar;

pub use member::{DataRun, Kind, Member, Notes};
pub use outgoing::{Follows, LinkTarget, Outgoing};
pub use stream::Stream;
