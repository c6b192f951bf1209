//! Making images: requests, and their resolution for a format.

pub mod attributes;
pub(crate) mod base;
pub mod build;
#[cfg(feature = "composefs")]
mod build_composefs;
pub mod builder;
pub mod device;
pub(crate) mod device_names;
pub mod device_options;
pub mod filters;
pub mod format_options;
pub mod header;
pub(crate) mod history;
mod index;
pub mod input;
mod into_registry;
pub mod job;
pub(crate) mod level_of;
pub(crate) mod pack;
pub mod recompress;
pub mod recompress_request;
pub mod report;
pub mod request;
pub(crate) mod resolve;
pub(crate) mod times;
mod write_image;
