//! Where trees come from: each module is one kind of source behind `model::Source`.

pub mod archive;
pub mod directory;
mod exclude;
pub mod image;
pub mod merge;

pub use archive::Archive;
pub use directory::Directory;
pub use exclude::Exclude;
pub use image::ImageSource;
pub use merge::Merge;
