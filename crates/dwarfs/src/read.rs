//! Reads DwarFS images of every version: opens, validates once, implements `model::Image`.
//!
//! In: a source of bytes. Out: `Dwarfs`.
//!
//! **Invariant:** reading never modifies an image and never trusts it: see `open` and `validate`.

mod again;
pub(crate) mod chunk;
mod content;
pub(crate) mod digest;
mod equal;
mod fsst;
mod history;
mod image;
mod info;
pub(crate) mod inode_table;
mod locate;
mod mend;
pub(crate) mod metadata;
pub(crate) mod metadata_copy;
mod open;
mod options;
pub(crate) mod section;
mod section_index;
pub(crate) mod strings;
mod survey;
mod table;
mod validate;
mod xattrs;

pub use digest::{DigestSection, digest};
pub use equal::{HEADER, OlderSections, StoredSection, sections};
pub use history::{HistoryEntry, MetadataVersion, Version};
pub use info::{Category, ListedSection, SectionInfo, Sizes};
pub use locate::locate;
pub use mend::{MendedSection, mend};
pub use open::Dwarfs;
pub use options::StorageOptions;
pub use sinterfs_format::ReadOptions;
pub use survey::{Survey, survey};
