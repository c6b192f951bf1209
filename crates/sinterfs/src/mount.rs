//! Mounting images: through FUSE, or, for root, through the kernel's EROFS.
//!
//! In: images and a directory. Out: a [`Session`], which threads of this process serve until the
//! file system is unmounted. [`Mounter`] does all that `sinter mount` does; [`mount()`] serves
//! anything that has the trait [`crate::model::Image`].

mod allocator;
mod cache_trimmer;
mod damage_log;
mod kernel_backing;
mod list;
mod memory;
mod mounter;
mod opened;
mod serve;
mod session;
mod statistics;
mod ticker;

pub use crate::object_verification::ObjectVerification;
pub use allocator::return_freed_memory;
pub use cache_trimmer::CacheTrimmer;
pub use damage_log::DamageLog;
pub use list::{is_mounted, serve_all};
pub use mounter::Mounter;
pub use opened::option_of_one_image;
pub use serve::{MountMethod, Mounted, mount};
pub use session::Session;

pub use sinterfs_mount::{
    Ended, MountOptions, MountedImage, Unmounter, Upper, WantedMount, daemon, mounted_images,
    umount, wanted_mounts,
};
