//! The input of a build: a directory, an archive, an image, or several of these as one.
//!
//! Enters paths; leaves the kind of each (`Input`), and a source for the pipeline (`OpenInput`).
//! **Invariant:** the kind of a file is detected by its content, never by its name.

mod images;
pub mod kinds;
mod noticing;
pub(crate) mod open;
pub(crate) mod opened;
pub(crate) mod request;
mod stack;
