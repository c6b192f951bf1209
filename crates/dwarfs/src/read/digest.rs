//! The section of digests of all bytes before it.
//!
//! In: a source. Out: where the image starts, and the digests that its section holds.
//!
//! **Invariant:** nothing here is trusted, the way to the section as little as what it holds: who knows
//! the root of these can read what they cover and nothing else, and needs no section behind that.
//! Spec: `docs/formats/dwarfs-extensions.md`.

use std::sync::Arc;

use sinterfs_block::digest::{Digests, Root};
use sinterfs_block::{Bytes, ReadAt};
use sinterfs_model::{Error, Result};

use super::open::{Dwarfs, OpenOptions};
use super::section::{SectionRange, SectionReader};
use crate::layout::SectionType;

/// The digests that an image has of itself.
#[derive(Debug)]
pub struct DigestSection {
    /// Where in its file the image starts; the covered bytes begin there.
    pub start: u64,
    /// The digests of the bytes from there to the section.
    pub digests: Digests,
    /// A signature of the root, if there is one, or why it cannot be read.
    pub signature: Option<Result<Bytes>>,
}

/// The longest signature that makes sense, in bytes.
const SIGNATURE_LIMIT: u64 = 64 << 10;

/// Reads the section of digests; `None` if there is none.
///
/// `Corrupt` if it is damaged, or not of what is before it.
pub fn digest(source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Option<DigestSection>> {
    let reader = Dwarfs::find(source, options)?;
    let sections = reader.list(&options.limits)?;
    let Some(range) = sections.digest else {
        return Ok(None);
    };
    let load = |range| reader.load(range, SectionType::SIGNATURE, SIGNATURE_LIMIT);
    Ok(Some(DigestSection {
        start: reader.file_offset(0),
        digests: digests(&reader, range)?,
        signature: sections.signature.map(load),
    }))
}

impl Dwarfs {
    /// Returns the root of the digests that the image has of itself; nothing is compared with them.
    pub fn root_digest(&self) -> Result<Option<Root>> {
        let digests = self
            .sections
            .digest
            .map(|range| digests(&self.reader, range));
        Ok(digests.transpose()?.map(|digests| digests.root()))
    }
}

fn digests(reader: &SectionReader, range: SectionRange) -> Result<Digests> {
    let at = reader.file_offset(range.offset);
    let located = |error: Error| error.at(SectionType::DIGEST.to_string(), at);
    // it is stored as it is, and so no longer than the image
    let stored = reader.load(range, SectionType::DIGEST, range.len)?;
    let digests = Digests::open(stored).map_err(located)?;
    if digests.covered() != range.offset {
        let (covered, before) = (digests.covered(), range.offset);
        return Err(located(Error::corrupt(format!(
            "stale: the digests are of {covered} bytes, but {before} are before them: another tool \
             changed the image"
        ))));
    }
    Ok(digests)
}
