//! Mounting images: through FUSE, or, for root, through the kernel's EROFS.
//!
//! Enters an image and a directory; leaves a [`Session`], which threads of this process serve until
//! the file system is unmounted.

mod access;
mod allocator;
mod cache_trimmer;
mod kernel_backing;
mod memory;
pub(crate) mod object_verification;
mod overlay;
mod serve;

pub use access::{AccessRecorder, AccessReport, OnLine};
pub use allocator::return_freed_memory;
pub use cache_trimmer::CacheTrimmer;
pub use memory::default_cache_bytes;
pub use object_verification::ObjectVerification;
pub use overlay::mount_overlay;
pub use serve::{MountMethod, Mounted, mount, mount_layers};

pub use sinterfs_mount::{
    Ended, MountOptions, MountedImage, Session, Upper, WantedMount, check_layers, daemon,
    mounted_images, umount, wanted_mounts,
};
