//! The section with digests of all bytes before it.
//!
//! In: a source. Out: the start of the image, and the digests in its section.
//!
//! **Invariant:** neither the section nor the path to it is trusted: the caller compares the root
//! of the digests with a known one, and reads only bytes that they cover. Spec:
//! `docs/formats/dwarfs-extensions.md`.

use std::sync::Arc;

use sinterfs_block::digest::{Digests, Root};
use sinterfs_block::{Bytes, ReadAt};
use sinterfs_model::{Error, Result};

use super::open::Dwarfs;
use super::section::{SectionRange, SectionReader};
use crate::layout::SectionType;
use sinterfs_format::ReadOptions;

/// The digests stored in an image.
#[derive(Debug)]
pub struct DigestSection {
    /// The offset of the image in its file; the covered bytes begin there.
    pub start: u64,
    /// The digests of the bytes from `start` to the section.
    pub digests: Digests,
    /// The signature of the root, if there is one, or the error of reading it.
    pub signature: Option<Result<Bytes>>,
}

/// The longest accepted signature in bytes.
const SIGNATURE_LIMIT: u64 = 64 << 10;

/// Reads the section of digests; `None` if there is none.
///
/// `Corrupt` if it is damaged, or does not cover exactly what precedes it.
pub fn digest(source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Option<DigestSection>> {
    let reader = Dwarfs::find(source, options)?;
    let sections = reader.list(&options.limits, options.salvage)?;
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
    /// Returns the root of the digests in the image, without verifying anything.
    pub fn root_digest(&self) -> Result<Option<Root>> {
        let digests = self
            .sections
            .digest
            .map(|range| digests(&self.reader, range));
        Ok(digests.transpose()?.map(|digests| digests.root()))
    }
}

/// Reads the digests in a section.
pub(crate) fn digests(reader: &SectionReader, range: SectionRange) -> Result<Digests> {
    let at = reader.file_offset(range.offset);
    let located = |error: Error| error.at(SectionType::DIGEST.to_string(), at);
    // not encoded, and so not longer than the image
    let stored = reader.load(range, SectionType::DIGEST, range.len)?;
    let digests = Digests::open(stored).map_err(located)?;
    if digests.covered() != range.offset {
        let (covered, before) = (digests.covered(), range.offset);
        return Err(located(Error::corrupt(format!(
            "stale: the digests cover {covered} bytes, but {before} precede them: another tool \
             changed the image"
        ))));
    }
    Ok(digests)
}
