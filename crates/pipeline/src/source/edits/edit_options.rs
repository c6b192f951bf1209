//! How a source's tree is edited: plain data.

use std::num::NonZeroU64;
use std::sync::Arc;

use super::actions::{self, Action, Actions};
use super::definition::{AddedXattr, Definition, DirectoryAttributes};
use super::file_contexts::FileContexts;
use super::xattrs::XattrFilter;
use crate::source::Exclude;
use crate::transform::Transform;

/// The block size of mksquashfs.
const BLOCK: NonZeroU64 = NonZeroU64::new(128 << 10).unwrap();

/// Edits of a source's tree.
#[derive(Debug, Clone, Default)]
pub struct Edits {
    /// What is excluded, where the source does not exclude it itself.
    pub exclude: Exclude,
    /// Which extended attributes of the source, or of added files, are kept.
    pub xattrs: XattrFilter,
    /// Whether each name of a file becomes a file of its own.
    pub separate_links: bool,
    /// Changes of owners before the definitions, whose own owners stay so.
    pub owners: Transform,
    /// Pseudo file definitions, applied to what remains.
    pub pseudo: Vec<Definition>,
    /// The attributes of directories that definitions lead through and that do not exist; `None`
    /// if those are an error.
    pub pseudo_dir: Option<DirectoryAttributes>,
    /// What happens to files for which an expression is true, after the definitions.
    pub actions: Vec<Action>,
    /// The block size of the image; `None` means that of mksquashfs.
    pub block_size: Option<NonZeroU64>,
    /// Extended attributes that all files get, those of users only regular files and directories.
    pub add_xattrs: Vec<AddedXattr>,
    /// The SELinux label of each file, applied last.
    pub contexts: Option<Arc<FileContexts>>,
}

impl Edits {
    /// Returns whether the tree is not changed at all.
    pub fn is_empty(&self) -> bool {
        self.names_stay()
            && self.xattrs.is_empty()
            && self.contexts.is_none()
            && self.add_xattrs.is_empty()
            && self.actions.is_empty()
            && self.owners == Transform::default()
    }

    pub(super) fn actions(&self) -> Actions<'_> {
        Actions {
            all: &self.actions,
            block: self.block_size.unwrap_or(BLOCK),
        }
    }

    /// Returns whether no name is excluded, added or changed.
    pub(super) fn names_stay(&self) -> bool {
        self.exclude.is_empty()
            && self.pseudo.is_empty()
            && !self.separate_links
            && actions::leave_the_tree(&self.actions)
    }
}
