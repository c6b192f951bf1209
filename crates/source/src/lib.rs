//! Where trees come from, and what is changed of them before they are packed.
//!
//! Each module is one kind of source behind `sinterfs_model::Source`; [`Transform`] changes
//! metadata, [`HotList`] and [`Priorities`] say which files of a tree come first.
//! **Invariant:** no format and no stage of the pipeline is known here: an image is a source as any
//! `sinterfs_model::Image`.

pub mod archive;
pub mod directory;
pub mod edits;
mod exclude;
mod hot_list;
pub mod image;
mod link_of_path;
pub mod manifest;
pub mod merge;
mod sort_file;
mod transform;

pub use archive::Archive;
pub use directory::Directory;
pub use edits::{
    Action, AddedXattr, Definition, DirectoryAttributes, EditedSource, Edits, FileContexts,
    IdsByName, LayerMarks, Shard, XattrFilter,
};
pub use exclude::{Exclude, Rule, plain_path};
pub use hot_list::HotList;
pub use image::ImageSource;
pub use manifest::Manifest;
pub use merge::Merge;
pub use sort_file::Priorities;
pub use transform::{Chmod, IdMap, RootTransform, Transform};
