//! The input of a build: a directory, an archive, an image, or several of these as one.
//!
//! Enters paths; leaves the kind of each (`Input`), and a source for the pipeline (`OpenInput`).
//! **Invariant:** the kind of a file is detected by its content, never by its name.

pub(crate) mod detect;
mod docker_archive;
mod images;
pub mod kinds;
mod layer_digests;
mod named;
mod noticing;
mod oci;
pub(crate) mod open;
pub(crate) mod opened;
pub(crate) mod request;
mod stack;
