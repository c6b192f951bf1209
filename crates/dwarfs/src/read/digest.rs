//! The section of digests of all bytes before it.
//!
//! In: a source. Out: where the image starts, and the tree of digests that its section holds.
//!
//! **Invariant:** nothing here is trusted, the way to the section as little as what it holds: who knows
//! the tree's root can read what it covers and nothing else, and needs no section behind that.
//! Spec: `docs/formats/dwarfs-extensions.md`.

use std::sync::Arc;

use block::ReadAt;
use block::digest::{Root, Tree};
use model::{Error, Result};

use super::section::{Extent, SectionReader};
use super::{Dwarfs, OpenOptions};
use crate::layout::SectionType;

/// The digests that an image has of itself.
#[derive(Debug, Clone)]
pub struct DigestSection {
    /// Where in its file the image starts; the covered bytes begin there.
    pub start: u64,
    /// The digests of the bytes from there to the section.
    pub tree: Tree,
}

/// Reads the section of digests; `None` if there is none.
///
/// `Corrupt` if it is damaged, or not of what is before it.
pub fn digest(source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Option<DigestSection>> {
    let reader = Dwarfs::find(source, options)?;
    let Some(extent) = reader.list(&options.limits)?.digest else {
        return Ok(None);
    };
    Ok(Some(DigestSection {
        start: reader.file_offset(0),
        tree: tree(&reader, extent)?,
    }))
}

impl Dwarfs {
    /// Tells the root of the digests that the image has of itself; nothing is compared with them.
    pub fn root_digest(&self) -> Result<Option<Root>> {
        let tree = self
            .sections
            .digest
            .map(|extent| tree(&self.reader, extent));
        Ok(tree.transpose()?.map(|tree| tree.root()))
    }
}

fn tree(reader: &SectionReader, extent: Extent) -> Result<Tree> {
    let at = reader.file_offset(extent.offset);
    let located = |error: Error| error.at(SectionType::DIGEST.to_string(), at);
    // it is stored as it is, and so no longer than the image
    let stored = reader.load(extent, SectionType::DIGEST, extent.len)?;
    let tree = Tree::open(stored).map_err(located)?;
    if tree.covered() != extent.offset {
        let (covered, before) = (tree.covered(), extent.offset);
        return Err(located(Error::corrupt(format!(
            "stale: the digests are of {covered} bytes, but {before} are before them: another tool \
             changed the image"
        ))));
    }
    Ok(tree)
}
