//! Serves any image as a mounted file system through FUSE, as root or as an ordinary user, or through the
//! kernel's EROFS.
//!
//! Enters an `Arc<dyn Image>`, or for EROFS a `Backing` that looks like one of its images, and a directory;
//! leaves a `Session` that lives until the file system is unmounted. **Invariant:** only `fuse` names the FUSE library; `view` is the file system
//! itself and knows no kernel interface. Nothing is printed.

pub mod daemon;

mod attach;
mod backing;
mod detach;
mod detached;
mod errno;
mod fuse;
mod ino_map;
mod kernel;
mod mountinfo;
mod options;
mod overlay;
mod session;
mod view;

pub use backing::Backing;
pub use detach::umount;
pub use kernel::mount_kernel;
pub use options::{MountOptions, Trace};
pub use overlay::{Layers, mount_layers};
pub use session::{Ended, Session, Unmounter, mount};
