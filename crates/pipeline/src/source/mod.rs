//! Where trees come from: each module is one kind of source behind `sinterfs_model::Source`.

pub mod archive;
pub mod directory;
pub mod edits;
mod exclude;
pub mod image;
pub mod manifest;
pub mod merge;

pub use archive::Archive;
pub use directory::Directory;
pub use edits::{
    Action, AddedXattr, Definition, DirectoryAttributes, EditedSource, Edits, FileContexts,
    IdsByName, LayerMarks, Shard, XattrFilter,
};
pub use exclude::{Exclude, Rule, plain_path};
pub use image::ImageSource;
pub use manifest::Manifest;
pub use merge::Merge;
