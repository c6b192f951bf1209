//! Serves any image as a mounted file system: through FUSE, as root or as an ordinary user, or
//! through the kernel's EROFS.
//!
//! Enters an `Arc<dyn Image>`, or for EROFS a `Backing` with an EROFS image, and a directory;
//! leaves a `Session` that lives until the file system is unmounted. **Invariant:** only `fuse`
//! uses the FUSE library, and `view` knows no kernel interface. Nothing is printed.

pub mod daemon;

mod attach;
mod backing;
mod backing_name;
mod covered;
mod detach;
mod detached;
mod device;
mod errno;
mod fuse;
mod fusermount;
mod idle;
mod image_path;
mod ino_map;
mod kernel;
mod layers;
mod list;
mod loop_device;
mod lower;
mod mountinfo;
mod namespace;
mod options;
mod overlay;
mod own_files;
mod session;
mod stacked;
mod start;
mod upper;
mod view;
mod wanted;

pub use backing_name::IMAGE_UUID;
pub use detach::umount;
pub use kernel::mount_kernel;
pub use layers::{LAYERS_MAX, check_layers, mount_layers};
pub use list::{MountedImage, mounted_images};
pub use lower::LowerLayer;
pub use options::{MountOptions, Trace};
pub use overlay::{OverlayLayers, mount_overlay};
pub use session::{Ended, Session, Unmounter, mount};
pub use sinterfs_model::Backing;
pub use upper::Upper;
pub use wanted::{WantedMount, wanted_mounts};
