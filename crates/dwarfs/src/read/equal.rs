//! Sections of an image that an older one has, too, perhaps under other numbers.
//!
//! In: the list of sections of both images, and the headers of the newer one. Out: where the older
//! one has the content of a section. **Invariant:** a section is taken for equal only if the
//! SHA-512/256 in its header matches the header's own fields and the older content, so neither
//! lengths nor the older image's checksums are trusted. Spec: dwarfs-format(5), "Section Header".

use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::Arc;

use sinterfs_block::checksum::{Xxh3, sha512_256_of};
use sinterfs_block::{ReadAt, SequentialReader, Window};
use sinterfs_model::{Error, Result};
use zerocopy::FromBytes;

use super::open::Dwarfs;
use super::section::{SectionRange, SectionReader};
use crate::layout::{MAGIC, MAJOR, SectionHeaderV2};
use sinterfs_format::ReadOptions;

/// The length of the header of a section.
pub const HEADER: u64 = SectionHeaderV2::SIZE as u64;

/// Older sections of the same length that are compared with one.
const MOST_CANDIDATES: usize = 64;

/// A section with its header, in bytes of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredSection {
    /// The position of its header.
    pub offset: u64,
    /// Its length with the header.
    pub len: u64,
}

/// Lists the sections of an image using only its index; `None` if it has no index.
///
/// # Errors
/// Those of reading; `Invalid` if it is no image.
pub fn sections(
    source: Arc<dyn ReadAt>,
    options: &ReadOptions,
) -> Result<Option<Vec<StoredSection>>> {
    let reader = Dwarfs::find(source, options)?;
    let Some(entries) = reader.index(&options.limits)? else {
        return Ok(None);
    };
    let all = entries.iter().map(|(_, range)| stored(&reader, *range));
    Ok(Some(all.collect()))
}

fn stored(reader: &SectionReader, range: SectionRange) -> StoredSection {
    StoredSection {
        offset: reader.file_offset(range.offset),
        len: range.len,
    }
}

/// The sections of an older image, by their length.
pub struct OlderSections {
    source: Arc<dyn ReadAt>,
    by_len: HashMap<u64, Vec<u64>>,
}

impl OlderSections {
    /// Lists the sections of an image. One of the first versions, whose headers have no checksums,
    /// has none that can be compared.
    ///
    /// # Errors
    /// `Invalid` if it is no image; `Corrupt` if its headers do not follow each other.
    pub fn of(source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Self> {
        let reader = Dwarfs::find(Arc::clone(&source), options)?;
        let mut by_len: HashMap<u64, Vec<u64>> = HashMap::new();
        for (number, found) in (0_u64..).zip(reader.walk().take_while(|_| reader.is_v2())) {
            if number >= options.limits.sections {
                let most = options.limits.sections;
                return Err(Error::limit(format!("more than {most} sections")));
            }
            let (_, range) = found?;
            let one = stored(&reader, range);
            by_len.entry(one.len).or_default().push(one.offset);
        }
        Ok(Self { source, by_len })
    }

    /// Returns whether there is a section of this length with its header.
    pub fn has(&self, len: u64) -> bool {
        self.by_len.contains_key(&len)
    }

    /// Returns where the content of a section begins in the older file: of one of this length that
    /// begins with this header; `None` if it is not there. Blocks that do not compress all have one
    /// length, so older sections are tried from `near` on, some of them only.
    ///
    /// # Errors
    /// Those of reading the older file.
    pub fn content(&self, header: &[u8], len: u64, near: u64) -> Result<Option<u64>> {
        let Some(parsed) = SectionHeaderV2::read_from_bytes(header).ok() else {
            return Ok(None);
        };
        let is_whole = parsed.length.get().checked_add(HEADER) == Some(len);
        if parsed.file.magic != MAGIC || parsed.file.major != MAJOR || !is_whole {
            return Ok(None);
        }
        let candidates = self.by_len.get(&len).map(Vec::as_slice).unwrap_or_default();
        let first = candidates.partition_point(|offset| *offset < near);
        let (before, from) = candidates.split_at(first);
        for offset in from.iter().chain(before).take(MOST_CANDIDATES) {
            let at = offset.saturating_add(HEADER);
            if self.is_content(at, &parsed, header)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Returns whether the bytes at an offset are what both checksums of a header are of.
    fn is_content(&self, at: u64, parsed: &SectionHeaderV2, header: &[u8]) -> Result<bool> {
        let content = Window::new(Arc::clone(&self.source), at, parsed.length.get())?;
        let content = Arc::new(content);
        let stream = |from: usize| {
            let fields = header.get(from..).unwrap_or_default();
            fields.chain(SequentialReader::new(Arc::clone(&content) as _))
        };
        let failed = |error| Error::io("cannot read the older image", error);
        // the fast one distinguishes most of them
        let mut xxh3 = HashedXxh3::default();
        std::io::copy(&mut stream(SectionHeaderV2::XXH3_START), &mut xxh3).map_err(failed)?;
        if xxh3.0.digest() != parsed.xxh3_64.get() {
            return Ok(false);
        }
        let hash = sha512_256_of(stream(SectionHeaderV2::SHA_START)).map_err(failed)?;
        Ok(hash == parsed.sha512_256)
    }
}

/// A stream whose bytes are hashed.
#[derive(Default)]
struct HashedXxh3(Xxh3);

impl Write for HashedXxh3 {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl std::fmt::Debug for OlderSections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OlderSections")
            .field("lengths", &self.by_len.len())
            .finish_non_exhaustive()
    }
}
