//! Making images: requests, their resolution for a format, and the output file.

pub mod attributes;
pub(crate) mod base;
pub mod build;
pub mod filters;
pub mod header;
pub mod input;
pub mod levels;
pub mod new_file;
pub(crate) mod output;
pub mod recompress;
pub(crate) mod resolve;
pub(crate) mod times;
