//! Where trees come from: each module is one kind of source behind `model::Source`.

pub mod directory;
mod exclude;

pub use directory::Directory;
pub use exclude::Exclude;
