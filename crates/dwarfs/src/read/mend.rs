//! Damaged sections of metadata, as they were.
//!
//! In: an image with copies of its metadata. Out: the bytes of the sections that are damaged.
//!
//! **Invariant:** what is returned has both hashes right, and the magic, version, type and length
//! of the section that it is for: with those it is what the image was written with.
//! Spec: `docs/formats/dwarfs-extensions.md`, "METADATA_COPY".

use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Kind, Result};

use super::metadata_copy::{both_damaged, read_copy};
use super::open::Dwarfs;
use super::section::{SectionRange, SectionReader};
use crate::layout::{FileHeader, SectionType};
use sinterfs_format::ReadOptions;

/// A section that is damaged, and was restored.
#[derive(Debug)]
pub struct MendedSection {
    /// The type.
    pub kind: SectionType,
    /// The offset of its header from the start of the file in bytes.
    pub offset: u64,
    /// Its bytes with the header, of the same length as the damaged bytes.
    pub bytes: Vec<u8>,
}

/// Returns the damaged sections of metadata, restored from their copies; none if they are sound,
/// and `None` for an image without copies.
///
/// `Corrupt` if a copy that is needed is damaged, too, or if the image's sections cannot be found.
pub fn mend(source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Option<Vec<MendedSection>>> {
    let reader = Dwarfs::find(source, options)?;
    let sections = reader.list(&options.limits, true)?;
    let Some(copy) = sections.copy else {
        return Ok(None);
    };
    let own = [
        (SectionType::METADATA_V2_SCHEMA, sections.schema),
        (SectionType::METADATA_V2, sections.metadata),
        (SectionType::XATTRS, sections.xattrs),
    ];
    let mut mended = Vec::new();
    for (kind, range) in own {
        let Some(range) = range else { continue };
        let Err(damage) = whole(&reader, range, kind, reader.minor) else {
            continue;
        };
        let offset = reader.file_offset(range.offset);
        let limit = options.limits.metadata;
        let bytes = read_copy(&reader, copy, range, limit, |copied, range| {
            whole(copied, range, kind, reader.minor)?;
            Ok(copied.section_bytes(range)?.to_vec())
        });
        let bytes = bytes.map_err(|of_copy| {
            both_damaged(Kind::Corrupt, &damage, of_copy).at(kind.to_string(), offset)
        })?;
        mended.push(MendedSection {
            kind,
            offset,
            bytes,
        });
    }
    Ok(Some(mended))
}

/// Fails unless a section is as it was written: with both hashes, and the fields that these do not
/// cover.
fn whole(reader: &SectionReader, range: SectionRange, kind: SectionType, minor: u8) -> Result<()> {
    let header = reader.header_of(range, kind)?;
    let file = FileHeader::of_minor(minor);
    if header.v2.is_some_and(|v2| v2.file != file) {
        return Err(Error::corrupt("another version in the header"));
    }
    reader.stored(range, &header)?;
    match reader.sha512_256_matches(range, &header)? {
        Some(true) => Ok(()),
        Some(false) => Err(Error::corrupt("SHA-512/256 does not match")),
        None => Err(Error::new(Kind::Unsupported, "a section without hashes")),
    }
}
