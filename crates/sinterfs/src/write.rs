//! Making images: requests, their resolution for a format, and the output file.

pub mod attributes;
pub(crate) mod base;
pub mod build;
pub mod builder;
pub(crate) mod by_format;
pub mod device;
pub(crate) mod device_names;
pub mod device_options;
pub mod filters;
pub mod header;
pub(crate) mod hidden_file;
pub(crate) mod history;
mod index;
pub mod input;
#[cfg(feature = "remote")]
mod into_registry;
pub mod job;
pub(crate) mod level_of;
pub(crate) mod naming;
pub mod new_file;
pub mod output;
pub(crate) mod pack;
pub mod recompress;
pub mod recompress_request;
mod replaced;
pub mod report;
pub mod request;
pub(crate) mod resolve;
pub(crate) mod upload;
