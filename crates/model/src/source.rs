//! Writing side, entrance: where a tree comes from (a directory, a tar, another image, ...).

use crate::{Extent, NodeId, Observer, Result, Time, Tree};

/// The content of one file of a source, open for reading. Reads may come in any order.
pub trait FileContent: Send {
    /// Returns the length in bytes now.
    fn len(&self) -> Result<u64>;

    /// Returns whether the file has no bytes now.
    fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Returns when the content was last modified, where the source knows; a time that is not the
    /// tree's means that the file changed after the scan.
    fn modified(&self) -> Result<Option<Time>> {
        Ok(None)
    }

    /// Returns data and holes in order, without gaps, ending at `len`; the block numbers of data
    /// mean nothing to the pipeline.
    fn extents(&self) -> Result<Vec<Extent>>;

    /// Reads bytes from `offset` on; fewer than asked only at the end of the file.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize>;
}

/// Hands out a tree and the content of its files. Many threads may open files at once.
pub trait Source: Send + Sync {
    /// Walks everything. What cannot be read is told to the observer, counted by it and left out.
    fn scan(&self, observer: &dyn Observer) -> Result<Tree>;

    /// Opens the content of a regular file of the tree that `scan` returned.
    fn open(&self, tree: &Tree, file: NodeId) -> Result<Box<dyn FileContent>>;

    /// Returns whether a directory is the source's own, and was not made up for what is below it.
    fn tells(&self, directory: NodeId) -> bool {
        let _ = directory;
        true
    }

    /// Returns where a file stands among all in the order in which they are read at the least cost
    /// when each is read once; files of one rank are best read by path.
    fn rank(&self, tree: &Tree, file: NodeId) -> u64 {
        let _ = (tree, file);
        0
    }
}

impl<S: Source + ?Sized> Source for std::sync::Arc<S> {
    fn scan(&self, observer: &dyn Observer) -> Result<Tree> {
        (**self).scan(observer)
    }

    fn open(&self, tree: &Tree, file: NodeId) -> Result<Box<dyn FileContent>> {
        (**self).open(tree, file)
    }

    fn tells(&self, directory: NodeId) -> bool {
        (**self).tells(directory)
    }

    fn rank(&self, tree: &Tree, file: NodeId) -> u64 {
        (**self).rank(tree, file)
    }
}
