//! Read-only file system images of several formats behind one interface.
#![doc = include_str!("../README.md")]

#[cfg(feature = "write")]
mod about;
#[cfg(feature = "composefs")]
mod composefs;
#[cfg(feature = "write")]
mod containers;
mod formats;
mod identify;
#[cfg(feature = "write")]
mod kept_warnings;
#[cfg(all(feature = "mount", target_os = "linux"))]
mod object_verification;
mod open;
mod open_options;
#[cfg(feature = "write")]
mod output;
mod place;
#[cfg(all(test, feature = "write"))]
mod tests;
mod trust;
#[cfg(feature = "write")]
mod write;

#[cfg(feature = "write")]
pub mod build;
#[cfg(unix)]
pub mod errno;
pub mod image;
#[cfg(all(feature = "mount", target_os = "linux"))]
pub mod mount;
pub mod ops;
pub mod self_mount;
#[cfg(feature = "write")]
pub mod transfer;
pub mod verify;

pub use formats::formats_read;
pub use image::Image;
#[cfg(feature = "write")]
pub use open::open_tree;
pub use open::shared_options::keep_applicable;
pub use open::{open, open_source, open_with, partitions, survey};
pub use open_options::OpenOptions;
#[cfg(feature = "remote")]
pub use place::remote::{
    FillOptions, Filled, ReadRecorder, RecordedReads, RemoteOptions, cache, warm, warm_start,
};
pub use place::{is_url, shown};
pub use sinterfs_model as model;
pub use sinterfs_model::{Error, FileType, Kind, Observer, Quiet, Result, Setting};
pub use sinterfs_platform as platform;
#[cfg(feature = "write")]
pub use write::builder::Builder;
