//! Writing side, input: the source of a tree (a directory, a tar archive, another image, ...).
//!
//! **Invariant:** after `scan`, contents may be opened in any order and by many threads at once.

use crate::{Category, Error, Extent, FileLayout, NodeId, Observer, Result, Time, Tree};

/// Bytes of a file that the file which the source reads has as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredRange {
    /// The offset in the file.
    pub offset: u64,
    /// The length in bytes, above zero.
    pub len: u64,
    /// The offset in what the source reads: of an archive, after decompression.
    pub at: u64,
}

/// The content of one file of a source, open for reading. Reads may come in any order.
pub trait FileContent: Send {
    /// Returns the current length in bytes.
    fn len(&self) -> Result<u64>;

    /// Returns whether the file is currently empty.
    fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Returns when the content was last modified, if the source knows; if it is not the time in
    /// the tree, the file changed after the scan.
    fn modified(&self) -> Result<Option<Time>> {
        Ok(None)
    }

    /// Returns data and holes in order, without gaps, ending at `len`; the pipeline ignores the
    /// block numbers of data.
    fn extents(&self) -> Result<Vec<Extent>>;

    /// Reads bytes from `offset` on; fewer than requested only at the end of the file.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize>;

    /// Returns the category of all content, if it is to be used without looking at the content.
    fn category(&self) -> Option<Category> {
        None
    }

    /// Returns where the source has the bytes, in order and without overlaps; what is in no range
    /// is a hole. `None` if it does not have them as they are.
    fn stored(&self) -> Option<Vec<StoredRange>> {
        None
    }

    /// Returns what the file wants of its layout.
    fn layout(&self) -> FileLayout {
        FileLayout::default()
    }
}

/// A hard link of a layer to a file that the layer does not have.
#[derive(Debug)]
pub struct LinkBelow {
    /// The node that represents it in the layer's tree.
    pub node: NodeId,
    /// The path of the file.
    pub target: Vec<u8>,
    /// The message if no lower layer has the file.
    pub missing: Error,
}

/// Provides a tree and the content of its files; many threads may open files at once.
pub trait Source: Send + Sync {
    /// Scans the whole source. Unreadable entries are reported to the observer and left out.
    fn scan(&self, observer: &dyn Observer) -> Result<Tree>;

    /// Scans a source that is a layer: hard links to files that it does not have are files without
    /// content in the tree, and are listed; lower layers may have what they are links to.
    fn scan_layer(&self, observer: &dyn Observer) -> Result<(Tree, Vec<LinkBelow>)> {
        Ok((self.scan(observer)?, Vec::new()))
    }

    /// Opens the content of a regular file of the tree that `scan` returned.
    fn open(&self, tree: &Tree, file: NodeId) -> Result<Box<dyn FileContent>>;

    /// Returns whether the source has an entry for a directory; if not, the directory was added as
    /// the parent of other entries.
    fn has_entry(&self, directory: NodeId) -> bool {
        let _ = directory;
        true
    }

    /// Returns whether a file is one of the running system, which may change after the scan.
    fn may_change(&self, file: NodeId) -> bool {
        let _ = file;
        false
    }

    /// Returns the position of a file in the order that makes reading all files once cheapest;
    /// files of equal rank are best read by path.
    fn rank(&self, tree: &Tree, file: NodeId) -> u64 {
        let _ = (tree, file);
        0
    }
}

impl<S: Source + ?Sized> Source for std::sync::Arc<S> {
    fn scan(&self, observer: &dyn Observer) -> Result<Tree> {
        (**self).scan(observer)
    }

    fn scan_layer(&self, observer: &dyn Observer) -> Result<(Tree, Vec<LinkBelow>)> {
        (**self).scan_layer(observer)
    }

    fn open(&self, tree: &Tree, file: NodeId) -> Result<Box<dyn FileContent>> {
        (**self).open(tree, file)
    }

    fn has_entry(&self, directory: NodeId) -> bool {
        (**self).has_entry(directory)
    }

    fn may_change(&self, file: NodeId) -> bool {
        (**self).may_change(file)
    }

    fn rank(&self, tree: &Tree, file: NodeId) -> u64 {
        (**self).rank(tree, file)
    }
}
