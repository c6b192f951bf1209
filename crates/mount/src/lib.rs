//! Serves any image as a mounted file system through FUSE, as root or as an ordinary user.
//!
//! Enters an `Arc<dyn Image>` and a directory, leaves a `Session` that lives until the file system
//! is unmounted. **Invariant:** only `fuse` names the FUSE library; `view` is the file system
//! itself and knows no kernel interface. Nothing is printed.

pub mod daemon;

mod attach;
mod detach;
mod errno;
mod fuse;
mod mountinfo;
mod numbers;
mod options;
mod session;
mod view;

pub use detach::umount;
pub use options::{MountOptions, Trace};
pub use session::{Ended, Session, Unmounter, mount};
