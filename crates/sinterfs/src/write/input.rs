//! What a build reads: a directory, an archive, an image, or several of these as one.
//!
//! Enters paths; leaves what each of them is (`Input`), and a source for the pipeline
//! (`OpenInput`). **Invariant:** what a path names is found by its content, never by its name.

mod detect;
mod docker_archive;
mod images;
pub mod kinds;
mod oci;
pub(crate) mod open;
pub(crate) mod opened;
pub(crate) mod request;
mod stack;
