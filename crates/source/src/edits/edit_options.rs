//! How a source's tree is edited: plain data.

use std::num::NonZeroU64;
use std::sync::Arc;

use sinterfs_block::checksum::xxh3_64;
use sinterfs_model::{NodeId, Tree};

use super::actions::{self, Action, Actions};
use super::definition::{AddedXattr, Definition, DirectoryAttributes};
use super::file_contexts::FileContexts;
use super::xattrs::XattrFilter;
use crate::Exclude;
use crate::transform::Transform;

/// The block size of mksquashfs.
const BLOCK: NonZeroU64 = NonZeroU64::new(128 << 10).unwrap();

/// One of several parts of a tree: each entry but the directories, which all parts have, is in
/// exactly one of them. All names of a file are in one part. Which one depends only on the first
/// path of the file, so that it does not matter who builds the parts, or when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: u64,
    count: NonZeroU64,
}

impl Shard {
    /// Returns a part by its number. Numbers may begin at 0 or at 1: part 0 is part `count`.
    /// `None` for a number beyond that.
    pub fn new(number: u64, count: NonZeroU64) -> Option<Self> {
        (number <= count.get()).then_some(Self {
            number: number % count,
            count,
        })
    }

    /// Returns whether an entry of a tree is in it.
    pub(super) fn has(self, tree: &Tree, node: NodeId) -> bool {
        xxh3_64(&tree.path(node)) % self.count == self.number
    }
}

/// Edits of a source's tree.
#[derive(Debug, Clone, Default)]
pub struct Edits {
    /// What is excluded, where the source does not exclude it itself.
    pub exclude: Exclude,
    /// Which of the source's files are kept.
    pub shard: Option<Shard>,
    /// Which extended attributes of the source, or of added files, are kept.
    pub xattrs: XattrFilter,
    /// Whether each name of a file becomes a separate file.
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
    /// The block size of the image; `None` means the default of mksquashfs.
    pub block_size: Option<NonZeroU64>,
    /// Extended attributes that all files get; `user.` ones only regular files and directories get.
    pub add_xattrs: Vec<AddedXattr>,
    /// The SELinux label of each file, applied last.
    pub contexts: Option<Arc<FileContexts>>,
    /// The path that the root is mounted at, for these labels; empty for `/`.
    pub mount_point: Vec<u8>,
    /// What becomes of the marks of layers.
    pub marks: LayerMarks,
}

/// The treatment of the names and attributes by which a layer hides names of lower layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LayerMarks {
    /// Whether names that begin with `.wh.` become whiteouts of overlayfs.
    pub from_aufs: bool,
    /// Whether whiteouts and attributes of overlayfs are left out.
    pub stripped: bool,
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
            && self.shard.is_none()
            && self.pseudo.is_empty()
            && !self.separate_links
            && self.marks == LayerMarks::default()
            && actions::leave_the_tree(&self.actions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_count_from_0_or_from_1() {
        let count = NonZeroU64::new(4).unwrap();
        let part = |number| Shard::new(number, count);
        assert_eq!(part(0), part(4));
        assert!((0..4).all(|number| part(number) != part(number + 1)));
        assert_eq!(part(5), None);
    }
}
