//! Sections of metadata, from their copies if they are damaged.
//!
//! In: the range of a section, and the range of the image's copies. Out: the section's decoded
//! bytes.
//!
//! **Invariant:** a copy is used only if the section itself cannot be read, if it is of a section
//! of this offset and length, and after its own checksums were compared.
//! Spec: `docs/formats/dwarfs-extensions.md`, "METADATA_COPY".

use std::sync::Arc;

use sinterfs_block::{Bytes, MemorySource, Window};
use sinterfs_model::{Error, Kind, Result};
use zerocopy::FromBytes;

use super::section::{SectionRange, SectionReader, Sections};
use crate::layout::metadata_copy::{MAGIC, MetadataCopyHeader, MetadataCopyRow, VERSION};
use crate::layout::{FileHeader, SectionHeaderV2, SectionType};

/// Loads the sections of an image's metadata.
pub(crate) struct MetadataLoader<'a> {
    pub(crate) reader: &'a SectionReader,
    /// The section with the copies.
    pub(crate) copy: Option<SectionRange>,
    /// The errors of the sections whose copies were used.
    pub(crate) damage: Vec<Error>,
}

impl MetadataLoader<'_> {
    /// Returns a section's decoded bytes, of the section itself or of its copy. Fails as the
    /// section itself does if there is no sound copy; the error then says what is wrong with both.
    pub(crate) fn load(
        &mut self,
        range: SectionRange,
        kind: SectionType,
        limit: u64,
    ) -> Result<Bytes> {
        let damage = match self.reader.load(range, kind, limit) {
            Err(error) if matches!(error.kind(), Kind::Corrupt | Kind::Io) => error,
            loaded => return loaded,
        };
        let Some(copy) = self.copy else {
            return Err(damage);
        };
        let from_copy = read_copy(self.reader, copy, range, limit, |reader, range| {
            reader.load(range, kind, limit)
        });
        match from_copy {
            Ok(bytes) => {
                self.damage.push(damage);
                Ok(bytes)
            }
            Err(of_copy) => {
                let at = self.reader.file_offset(range.offset);
                Err(both_damaged(damage.kind(), &damage, of_copy).at(kind.to_string(), at))
            }
        }
    }
}

/// Returns the error of a section that is damaged, and whose copy is, too.
pub(crate) fn both_damaged(kind: Kind, damage: &Error, of_copy: Error) -> Error {
    let system = damage.io_source().map(|error| format!(": {error}"));
    let what = format!(
        "{}{}; its copy cannot be used, either",
        damage.what(),
        system.unwrap_or_default()
    );
    Error::new(kind, what).because(of_copy)
}

/// Reads the copy of a section as if it were an image with only this section; `read` gets the
/// reader of it, and its range there. An error has the place of the section with the copies.
pub(crate) fn read_copy<T>(
    reader: &SectionReader,
    copy: SectionRange,
    range: SectionRange,
    limit: u64,
    read: impl FnOnce(&SectionReader, SectionRange) -> Result<T>,
) -> Result<T> {
    let content = reader.load(copy, SectionType::METADATA_COPY, limit)?;
    let in_copy = |error: Error| {
        let at = reader.file_offset(copy.offset);
        Error::corrupt(error.what().to_owned()).at(SectionType::METADATA_COPY.to_string(), at)
    };
    let section = copied(&content, range).map_err(in_copy)?;
    let header = FileHeader::of_minor(reader.minor);
    let window = Window::from(Arc::new(MemorySource(section.to_vec())), 0)?;
    let alone = SectionRange {
        offset: 0,
        len: range.len,
    };
    // the places of its errors are relative to the copied section
    read(&SectionReader::new(window, &header), alone).map_err(in_copy)
}

/// Returns an error if the image's copies are intact, but do not belong to its metadata.
pub(crate) fn stale(reader: &SectionReader, sections: &Sections, limit: u64) -> Option<Error> {
    let copy = sections.copy?;
    // a damaged section is reported by whoever checks all sections
    let content = reader.load(copy, SectionType::METADATA_COPY, limit).ok()?;
    let own = [sections.schema, sections.metadata, sections.xattrs];
    // the first bytes of a header, up to its SHA-512/256, are compared when hashes are checked
    let same = |one: &[u8], other: &[u8]| {
        let start = SectionHeaderV2::SHA_START;
        one.get(start..) == other.get(start..)
    };
    let is_stale = |range: SectionRange| match copied(&content, range) {
        Ok(copied) => {
            // of a damaged section, a comparison says nothing
            let header = reader.header(range.offset);
            let is_sound = header.is_ok_and(|header| reader.stored(range, &header).is_ok());
            let original = reader.section_bytes(range);
            is_sound && original.is_ok_and(|bytes| !same(&bytes, copied))
        }
        Err(_) => true,
    };
    let what = "the copy of the metadata is not of this image: another tool changed it";
    own.into_iter().flatten().any(is_stale).then(|| {
        let at = reader.file_offset(copy.offset);
        Error::corrupt(what).at(SectionType::METADATA_COPY.to_string(), at)
    })
}

/// Finds the copy of a section in the content of `METADATA_COPY`. `Corrupt` if there is none.
fn copied(content: &[u8], range: SectionRange) -> Result<&[u8]> {
    let no_copy = || Error::corrupt("no copy of this section");
    let (header, rest) = MetadataCopyHeader::ref_from_prefix(content).map_err(|_| no_copy())?;
    if header.magic != MAGIC || header.version.get() != VERSION {
        return Err(no_copy());
    }
    let count = usize::try_from(header.sections.get()).map_err(|_| no_copy())?;
    let (rows, mut sections) =
        <[MetadataCopyRow]>::ref_from_prefix_with_elems(rest, count).map_err(|_| no_copy())?;
    for row in rows {
        let len = usize::try_from(row.len.get()).map_err(|_| no_copy())?;
        let (section, behind) = sections.split_at_checked(len).ok_or_else(no_copy)?;
        if row.offset.get() == range.offset && row.len.get() == range.len {
            return Ok(section);
        }
        sections = behind;
    }
    Err(no_copy())
}
