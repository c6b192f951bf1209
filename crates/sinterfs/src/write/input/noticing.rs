//! An archive whose files are packed as they are, with a notice if they are a container image.
//!
//! **Invariant:** the tree is that of the archive; an image that nobody unpacks is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sinterfs_model::{FileContent, LinkBelow, Loss, NodeId, Observer, Result, Source, Tree};
use sinterfs_source::Archive;

use crate::containers::docker_archive::holds_image;

/// The notice of an image: the layers make the tree that its containers see.
const PACKED: &str = "container images, whose files are packed instead of the tree of their layers \
                      (unpacking layers was not asked for)";

/// An archive, and whether it was found to be an image.
#[derive(Clone)]
pub(super) struct NoticingArchive {
    archive: Arc<Archive>,
    is_image: Arc<AtomicBool>,
}

impl NoticingArchive {
    pub(super) fn new(archive: Arc<Archive>) -> Self {
        Self {
            archive,
            is_image: Arc::default(),
        }
    }

    /// Returns what the archive holds and a tree cannot, and whether it is an image. Empty before
    /// the scan.
    pub(super) fn losses(&self) -> Vec<Loss> {
        let mut losses = self.archive.losses();
        if self.is_image.load(Ordering::Relaxed) {
            losses.push(Loss::new(PACKED, 1));
        }
        losses
    }
}

impl Source for NoticingArchive {
    fn scan(&self, observer: &dyn Observer) -> Result<Tree> {
        let tree = self.archive.scan(observer)?;
        self.is_image.store(holds_image(&tree), Ordering::Relaxed);
        Ok(tree)
    }

    fn scan_layer(&self, observer: &dyn Observer) -> Result<(Tree, Vec<LinkBelow>)> {
        let (tree, links) = self.archive.scan_layer(observer)?;
        self.is_image.store(holds_image(&tree), Ordering::Relaxed);
        Ok((tree, links))
    }

    fn open(&self, tree: &Tree, file: NodeId) -> Result<Box<dyn FileContent>> {
        self.archive.open(tree, file)
    }

    fn has_entry(&self, directory: NodeId) -> bool {
        self.archive.has_entry(directory)
    }

    fn may_change(&self, file: NodeId) -> bool {
        self.archive.may_change(file)
    }

    fn rank(&self, tree: &Tree, file: NodeId) -> u64 {
        self.archive.rank(tree, file)
    }
}
