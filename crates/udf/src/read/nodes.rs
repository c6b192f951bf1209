//! All files and directories, in memory.
//!
//! **Invariant:** index 0 is the root. The names of a directory are adjacent and sorted, and no two
//! are equal.
//!
//! Memory: about 250 bytes per name, 24 per extent.

use std::ops::Range;

use sinterfs_model::{FileType, ListingErrors, Meta, Rdev};

use super::damage::UdfDamage;
use super::extents::ByteRun;

/// The location of content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UdfContent {
    /// In the block of the entry: the position in the window.
    Inline(u64),
    /// In runs, by their indexes.
    Runs(Range<u32>),
}

/// A file or directory.
#[derive(Debug)]
pub(crate) struct UdfNode {
    pub(crate) kind: FileType,
    pub(crate) meta: Meta,
    pub(crate) rdev: Rdev,
    pub(crate) size: u64,
    /// The number of its names.
    pub(crate) links: u32,
    /// The index of the directory that a directory is in; the root has its own index.
    pub(crate) parent: u32,
    /// The indexes of the names in a directory.
    pub(crate) names: Range<u32>,
    pub(crate) content: UdfContent,
    /// The target of a symlink.
    pub(crate) target: Vec<u8>,
    /// The indexes of its named streams.
    pub(crate) streams: Range<u32>,
    /// Its error.
    pub(crate) damage: Option<Box<UdfDamage>>,
    /// Whether its entry could be read.
    pub(crate) has_entry: bool,
}

/// A name in a directory, and the index of its file or directory.
#[derive(Debug)]
pub(crate) struct UdfName {
    pub(crate) name: Vec<u8>,
    pub(crate) node: u32,
}

/// A named stream, which is shown as an attribute.
#[derive(Debug)]
pub(crate) struct UdfStream {
    pub(crate) name: Vec<u8>,
    pub(crate) size: u64,
    pub(crate) content: UdfContent,
}

/// The number of files and directories with metadata that is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UdfLosses {
    /// The attributes hidden or system.
    pub attributes: u64,
    /// Times of creation.
    pub births: u64,
    /// Extended attributes of UDF.
    pub extended: u64,
    /// Named streams that are too large for an attribute.
    pub streams: u64,
}

/// All files and directories.
#[derive(Debug, Default)]
pub(crate) struct UdfNodes {
    pub(crate) nodes: Vec<UdfNode>,
    pub(crate) names: Vec<UdfName>,
    pub(crate) runs: Vec<ByteRun>,
    pub(crate) streams: Vec<UdfStream>,
    /// Entries that are not shown, by directory.
    pub(crate) left_out: ListingErrors,
    /// The streams of files that are not shown, and why.
    pub(crate) lost_streams: Vec<String>,
    /// The number of further messages about streams.
    pub(crate) omitted: u64,
    pub(crate) losses: UdfLosses,
}

impl UdfNodes {
    /// Returns the names of a directory.
    pub(crate) fn names(&self, node: &UdfNode) -> &[UdfName] {
        let range = node.names.start as usize..node.names.end as usize;
        self.names.get(range).unwrap_or_default()
    }

    /// Returns the named streams of a file.
    pub(crate) fn streams(&self, node: &UdfNode) -> &[UdfStream] {
        let range = node.streams.start as usize..node.streams.end as usize;
        self.streams.get(range).unwrap_or_default()
    }

    /// Returns runs.
    pub(crate) fn runs(&self, indexes: &Range<u32>) -> &[ByteRun] {
        let range = indexes.start as usize..indexes.end as usize;
        self.runs.get(range).unwrap_or_default()
    }

    /// Returns the path of a directory, with a slash at the end.
    pub(crate) fn path(&self, mut dir: u32) -> String {
        let mut parts = Vec::new();
        while dir != 0 {
            let Some(node) = self.nodes.get(dir as usize) else {
                break;
            };
            let above = self.nodes.get(node.parent as usize);
            let names = above.map(|above| self.names(above)).unwrap_or_default();
            let name = names.iter().find(|name| name.node == dir);
            parts.push(name.map_or_else(
                || "?".to_owned(),
                |name| String::from_utf8_lossy(&name.name).into_owned(),
            ));
            dir = node.parent;
        }
        parts.reverse();
        parts.iter().map(|part| format!("{part}/")).collect()
    }
}
