//! The lists of sections that an image has: the section index, and the table of its digests.
//!
//! In: a list. Out: the type and range of each section. **Invariant:** sections follow each other
//! without gaps from the first byte to the last one, and none is shorter than a header; a section
//! index that is not sound is as none. Spec: dwarfs-format(5), "SECTION INDEX";
//! `docs/formats/dwarfs-extensions.md`, "DIGEST".

use sinterfs_model::{Error, Kind, Limits, Result};
use zerocopy::FromBytes;
use zerocopy::little_endian::U64;

use super::locate::read;
use super::section::{SectionRange, SectionReader};
use crate::layout::{IndexEntry, MINOR_INDEX, SectionCompression, SectionHeaderV2, SectionType};

impl SectionReader {
    /// Returns the sections of a table.
    pub(super) fn tabled(
        &self,
        table: &[u64],
        limits: &Limits,
    ) -> Result<Vec<(SectionType, SectionRange)>> {
        if table.len() as u64 > limits.sections {
            let what = format!("more than {} sections", limits.sections);
            return Err(Error::limit(what));
        }
        let entries: Vec<_> = table.iter().map(|one| IndexEntry(U64::new(*one))).collect();
        self.ranges(&entries)
            .ok_or_else(|| Error::corrupt("the digests list sections that cannot be"))
    }

    /// Reads the section index; `None` if there is none or if it is invalid.
    pub(crate) fn index(
        &self,
        limits: &Limits,
    ) -> Result<Option<Vec<(SectionType, SectionRange)>>> {
        if self.minor < MINOR_INDEX {
            return Ok(None);
        }
        let Some(tail) = self.len().checked_sub(8) else {
            return Ok(None);
        };
        let Some(last) = read::<IndexEntry, 8>(&self.window, tail)? else {
            return Ok(None);
        };
        if last.kind() != SectionType::SECTION_INDEX || last.offset() >= self.len() {
            return Ok(None);
        }
        let Ok(header) = self.header(last.offset()) else {
            return Ok(None);
        };
        let end = last
            .offset()
            .checked_add(header.size())
            .and_then(|at| at.checked_add(header.len));
        let sound = header.kind == SectionType::SECTION_INDEX
            && header.compression == SectionCompression::NONE
            && end == Some(self.len())
            && header.len % 8 == 0
            && header.len / 8 <= limits.sections;
        if !sound {
            return Ok(None);
        }
        let range = SectionRange {
            offset: last.offset(),
            len: header.size().saturating_add(header.len),
        };
        match self.stored(range, &header) {
            Ok(content) => Ok(self.index_entries(&content, last)),
            Err(error) if error.kind() == Kind::Corrupt => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn index_entries(
        &self,
        content: &[u8],
        last: IndexEntry,
    ) -> Option<Vec<(SectionType, SectionRange)>> {
        let entries = <[IndexEntry]>::ref_from_bytes(content).ok()?;
        // at least schema, metadata and the index itself
        if entries.len() < 3 || *entries.last()? != last {
            return None;
        }
        self.ranges(entries)
    }

    /// Returns the ranges of sections that cover the whole image.
    fn ranges(&self, entries: &[IndexEntry]) -> Option<Vec<(SectionType, SectionRange)>> {
        if entries.first()?.offset() != 0 {
            return None;
        }
        let ends = entries
            .iter()
            .skip(1)
            .map(|entry| entry.offset())
            .chain([self.len()]);
        entries
            .iter()
            .zip(ends)
            .map(|(entry, end)| {
                let len = end.checked_sub(entry.offset())?;
                let range = SectionRange {
                    offset: entry.offset(),
                    len,
                };
                (len >= SectionHeaderV2::SIZE as u64).then_some((entry.kind(), range))
            })
            .collect()
    }
}
