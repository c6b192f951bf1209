//! The list of an image's sections, and their verified and decoded contents.
//!
//! In: the source from the image's first byte on. Out: the range of every section; contents.
//!
//! **Invariant:** every listed section is wholly within the image; contents are returned only after
//! their XXH3 was verified (v2 headers; v1 have none); bytes that are read from the image again are
//! compared with checksums of their leaves, which were made together with the XXH3.
//! Spec: dwarfs-format(5), "FILE STRUCTURE".

use std::ops::Range;
use std::sync::Arc;

use sinterfs_block::cache::Opened;
use sinterfs_block::checksum::Xxh3;
use sinterfs_block::{Bytes, ChecksummedWindow, ReadAt, Window};
use sinterfs_codec::check_limit;
use sinterfs_model::{Error, Kind, Limits, Result};
use zerocopy::IntoBytes;

use super::locate::read;
use crate::framing;
use crate::layout::{
    FileHeader, MAGIC, MAJOR, MINOR_HEADER_V2, SectionCompression, SectionHeaderV1,
    SectionHeaderV2, SectionType,
};

/// The range of a section with its header, in bytes from the start of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SectionRange {
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

/// A section's header of either version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SectionHeader {
    pub(crate) kind: SectionType,
    pub(crate) compression: SectionCompression,
    /// The stored length without the header in bytes.
    pub(crate) len: u64,
    /// The header v2, if it is one.
    pub(crate) v2: Option<SectionHeaderV2>,
}

impl SectionHeader {
    /// Returns the length of the header itself in bytes.
    pub(crate) fn size(&self) -> u64 {
        if self.v2.is_some() { 64 } else { 8 }
    }
}

/// The ranges of all sections.
#[derive(Debug, Default)]
pub(crate) struct Sections {
    pub(crate) blocks: Vec<SectionRange>,
    pub(crate) schema: Option<SectionRange>,
    pub(crate) metadata: Option<SectionRange>,
    pub(crate) histories: Vec<SectionRange>,
    /// The first section of extended attributes.
    pub(crate) xattrs: Option<SectionRange>,
    /// The first section of digests.
    pub(crate) digest: Option<SectionRange>,
    /// The first section with a signature of the digests.
    pub(crate) signature: Option<SectionRange>,
    /// The first section with copies of metadata.
    pub(crate) copy: Option<SectionRange>,
    /// Sections that are not needed to read files, of known and unknown types.
    pub(crate) others: Vec<(SectionType, SectionRange)>,
    /// The reason why nothing is listed after the last of these.
    pub(crate) damaged_end: Option<Error>,
    /// Whether these are from the section index.
    pub(crate) from_index: bool,
}

impl Sections {
    fn has_metadata(&self) -> bool {
        self.schema.is_some() && self.metadata.is_some()
    }

    /// Returns all of them in the order of the image.
    pub(crate) fn all(&self) -> Vec<(SectionType, SectionRange)> {
        let single = [
            (SectionType::METADATA_V2_SCHEMA, self.schema),
            (SectionType::METADATA_V2, self.metadata),
            (SectionType::XATTRS, self.xattrs),
            (SectionType::DIGEST, self.digest),
            (SectionType::SIGNATURE, self.signature),
            (SectionType::METADATA_COPY, self.copy),
        ];
        let single = single
            .into_iter()
            .filter_map(|(kind, range)| Some((kind, range?)));
        let blocks = self.blocks.iter().map(|range| (SectionType::BLOCK, *range));
        let histories = self.histories.iter();
        let histories = histories.map(|range| (SectionType::HISTORY, *range));
        let others = self.others.iter().copied();
        let mut all: Vec<_> = blocks
            .chain(single)
            .chain(histories)
            .chain(others)
            .collect();
        all.sort_by_key(|(_, range)| range.offset);
        all
    }
}

/// Reads sections of one image.
pub(crate) struct SectionReader {
    pub(super) window: Window,
    pub(crate) minor: u8,
    /// The list of sections that is known to be right.
    pub(super) table: Option<Arc<[u64]>>,
}

impl SectionReader {
    pub(crate) fn new(window: Window, header: &FileHeader) -> Self {
        Self {
            window,
            minor: header.minor,
            table: None,
        }
    }

    /// Lists the sections from a table with entries like the index's.
    pub(crate) fn with_table(self, table: Option<Arc<[u64]>>) -> Self {
        Self { table, ..self }
    }

    /// Returns the length from the start of the image to the end of the source in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.window.len()
    }

    /// Converts an offset in the image to one in its file.
    pub(crate) fn file_offset(&self, offset: u64) -> u64 {
        self.window.start().saturating_add(offset)
    }

    pub(crate) fn is_v2(&self) -> bool {
        self.minor >= MINOR_HEADER_V2
    }

    /// Returns the offset of the first section.
    pub(crate) fn first(&self) -> u64 {
        if self.is_v2() {
            0
        } else {
            size_of::<FileHeader>() as u64
        }
    }

    /// Lists all sections: from the index if it is valid, else by following the headers. With
    /// `salvage`, a header that is damaged after the metadata ends the list.
    pub(crate) fn list(&self, limits: &Limits, salvage: bool) -> Result<Sections> {
        let indexed = match &self.table {
            Some(table) => Some(self.tabled(table, limits)?),
            None => self.index(limits)?,
        };
        if let Some(entries) = indexed {
            let mut sections = Sections {
                from_index: true,
                ..Sections::default()
            };
            for (kind, range) in entries {
                self.add(&mut sections, kind, range)?;
            }
            return Ok(sections);
        }
        let mut sections = Sections::default();
        let mut count = 0_u64;
        for found in self.walk() {
            let (header, range) = match found {
                Err(error) if salvage && sections.has_metadata() && error.kind() != Kind::Io => {
                    sections.damaged_end = Some(error);
                    break;
                }
                found => found?,
            };
            count = count.saturating_add(1);
            if count > limits.sections {
                return Err(Error::limit(format!(
                    "more than {} sections",
                    limits.sections
                )));
            }
            self.add(&mut sections, header.kind, range)?;
        }
        Ok(sections)
    }

    fn add(&self, sections: &mut Sections, kind: SectionType, range: SectionRange) -> Result<()> {
        let slot = match kind {
            SectionType::BLOCK => {
                sections.blocks.push(range);
                return Ok(());
            }
            SectionType::HISTORY => {
                sections.histories.push(range);
                return Ok(());
            }
            SectionType::XATTRS if sections.xattrs.is_none() => {
                sections.xattrs = Some(range);
                return Ok(());
            }
            SectionType::DIGEST if sections.digest.is_none() => {
                sections.digest = Some(range);
                return Ok(());
            }
            SectionType::SIGNATURE if sections.signature.is_none() => {
                sections.signature = Some(range);
                return Ok(());
            }
            SectionType::METADATA_COPY if sections.copy.is_none() => {
                sections.copy = Some(range);
                return Ok(());
            }
            SectionType::METADATA_V2_SCHEMA => &mut sections.schema,
            SectionType::METADATA_V2 => &mut sections.metadata,
            _ => {
                sections.others.push((kind, range));
                return Ok(());
            }
        };
        if slot.replace(range).is_some() {
            return Err(Error::corrupt(format!("a second {kind}"))
                .at("section", self.file_offset(range.offset)));
        }
        Ok(())
    }

    /// Follows the headers from section to section; ends after the first error.
    pub(crate) fn walk(&self) -> impl Iterator<Item = Result<(SectionHeader, SectionRange)>> + '_ {
        let mut at = Some(self.first());
        std::iter::from_fn(move || {
            let offset = at.take().filter(|offset| *offset < self.len())?;
            let found = self.header(offset).and_then(|header| {
                let len = header.size().checked_add(header.len);
                let end = len.and_then(|len| offset.checked_add(len));
                match len.zip(end).filter(|(_, end)| *end <= self.len()) {
                    Some((len, end)) => {
                        at = Some(end);
                        Ok((header, SectionRange { offset, len }))
                    }
                    None => Err(self
                        .cut_off(&header, end)
                        .at("section header", self.file_offset(offset))),
                }
            });
            Some(found)
        })
    }

    /// Makes the error of a section that ends at `end`, past the image.
    fn cut_off(&self, header: &SectionHeader, end: Option<u64>) -> Error {
        let (kind, len) = (header.kind, header.len);
        let here = self.file_offset(self.len());
        let expected = end.map_or("more".to_owned(), |end| self.file_offset(end).to_string());
        Error::corrupt(format!(
            "the file is cut off, or this is damaged: {here} bytes, at least {expected} expected \
             (the {kind} has {len})"
        ))
    }

    /// Returns the end of the section index if bytes follow it; `None` if the source ends with a
    /// valid index, or if no index is found.
    pub(crate) fn end_of_index(&self, limits: &Limits) -> Result<Option<u64>> {
        if self.index(limits)?.is_some() {
            return Ok(None);
        }
        for (_, section) in (0..=limits.sections).zip(self.walk()) {
            match section {
                Ok((header, range)) if header.kind == SectionType::SECTION_INDEX => {
                    return Ok(range.offset.checked_add(range.len));
                }
                Ok(_) => {}
                Err(error) if error.kind() == Kind::Io => return Err(error),
                Err(_) => break,
            }
        }
        Ok(None)
    }

    /// Reads the header of the section that starts at an offset.
    pub(crate) fn header(&self, offset: u64) -> Result<SectionHeader> {
        let cut = || {
            Error::corrupt("the image ends within a section header")
                .at("section header", self.file_offset(offset))
        };
        if !self.is_v2() {
            let header: SectionHeaderV1 = read::<_, 8>(&self.window, offset)?.ok_or_else(cut)?;
            return Ok(SectionHeader {
                kind: header.kind,
                compression: SectionCompression(u16::from(header.compression).into()),
                len: u64::from(header.length.get()),
                v2: None,
            });
        }
        let header: SectionHeaderV2 = read::<_, 64>(&self.window, offset)?.ok_or_else(cut)?;
        if header.file.magic != MAGIC || header.file.major != MAJOR {
            return Err(Error::corrupt("expected the magic of a section")
                .at("section header", self.file_offset(offset)));
        }
        Ok(SectionHeader {
            kind: header.kind,
            compression: header.compression,
            len: header.length.get(),
            v2: Some(header),
        })
    }

    /// Announces that these sections will be read whole, headers and contents.
    pub(crate) fn will_need(&self, sections: impl IntoIterator<Item = SectionRange>) {
        let bytes = |range: SectionRange| range.offset..range.offset.saturating_add(range.len);
        let ranges: Vec<_> = sections.into_iter().map(bytes).collect();
        self.window.will_need(&ranges);
    }

    /// Announces what a start reads, as ranges of the file that the image is in.
    pub(crate) fn will_start(&self, ranges: &[Range<u64>]) {
        let start = self.file_offset(0);
        let inside = |at: u64| at.saturating_sub(start);
        let ranges = ranges
            .iter()
            .map(|range| inside(range.start)..inside(range.end));
        self.window.will_start(&ranges.collect::<Vec<_>>());
    }

    /// Returns whether reading a section needs no request to a server.
    pub(crate) fn is_here(&self, range: SectionRange) -> bool {
        let end = range.offset.saturating_add(range.len);
        self.window.is_here(&(range.offset..end))
    }

    /// Reads the header of a listed section. `Corrupt` if it does not match the list.
    pub(crate) fn header_of(
        &self,
        range: SectionRange,
        kind: SectionType,
    ) -> Result<SectionHeader> {
        let header = self.header(range.offset)?;
        let fits = header.size().checked_add(header.len) == Some(range.len);
        if header.kind != kind || !fits {
            return Err(Error::corrupt(format!(
                "expected a {kind} of {} bytes with its header, found a {} of {} without",
                range.len, header.kind, header.len
            ))
            .at("section header", self.file_offset(range.offset)));
        }
        Ok(header)
    }

    /// Returns a copy of a section's stored bytes after verifying their XXH3. Its errors have no
    /// location, which the caller adds.
    pub(crate) fn stored(&self, range: SectionRange, header: &SectionHeader) -> Result<Bytes> {
        let Some(v2) = &header.v2 else {
            let at = range.offset.saturating_add(header.size());
            return self.window.read(at, header.len);
        };
        // the hash covers the end of the header and all that follows
        let skip = SectionHeaderV2::SIZE - SectionHeaderV2::XXH3_START;
        let at = range
            .offset
            .saturating_add(SectionHeaderV2::XXH3_START as u64);
        let bytes = self
            .window
            .read(at, header.len.saturating_add(skip as u64))?;
        let found = sinterfs_block::checksum::xxh3_64(&bytes);
        let expected = v2.xxh3_64.get();
        // the header was read separately from the bytes hashed here
        let same = v2.as_bytes().get(SectionHeaderV2::XXH3_START..) == bytes.get(..skip);
        if found != expected || !same {
            return Err(wrong_xxh3(found, expected));
        }
        Ok(bytes.skip(skip))
    }

    /// Returns a section's bytes with its header, as they are in the image.
    pub(crate) fn section_bytes(&self, range: SectionRange) -> Result<Bytes> {
        self.window.read(range.offset, range.len)
    }

    /// Opens a section of up to `limit` decoded bytes for reading after verifying its XXH3. One
    /// that is not encoded is not copied: its bytes are read from the image each time, and compared
    /// with checksums that are made here. Its errors have no location.
    pub(crate) fn open(
        &self,
        range: SectionRange,
        header: &SectionHeader,
        limit: u64,
    ) -> Result<Opened> {
        if header.compression != SectionCompression::NONE {
            let stored = self.stored(range, header)?;
            return framing::open(header.compression.0.get(), &stored, limit);
        }
        check_limit(header.len, limit)?;
        let at = range.offset.saturating_add(header.size());
        let window = self.window.part(at, header.len)?;
        let Some(v2) = &header.v2 else {
            return Ok(Opened::Checksummed(ChecksummedWindow::new(window, |_| {})?));
        };
        let mut xxh3 = Xxh3::default();
        let hashed = v2.as_bytes().get(SectionHeaderV2::XXH3_START..);
        xxh3.update(hashed.unwrap_or_default());
        let summed = ChecksummedWindow::new(window, |part| xxh3.update(part))?;
        if xxh3.digest() != v2.xxh3_64.get() {
            return Err(wrong_xxh3(xxh3.digest(), v2.xxh3_64.get()));
        }
        Ok(Opened::Checksummed(summed))
    }

    /// Returns a section's decoded bytes. `Limit` if there are more than `limit`.
    pub(crate) fn load(&self, range: SectionRange, kind: SectionType, limit: u64) -> Result<Bytes> {
        self.will_need([range]);
        let load = || {
            let header = self.header_of(range, kind)?;
            if header.compression != SectionCompression::NONE {
                return Ok(Bytes::from(self.decode(range, &header, limit)?));
            }
            if header.len > limit {
                return Err(Error::limit(format!(
                    "{} bytes; the limit is {limit}",
                    header.len
                )));
            }
            self.stored(range, &header)
        };
        self.anew(range, load)
            .map_err(|error| error.at(kind.to_string(), self.file_offset(range.offset)))
    }

    /// Decodes a section to a new buffer. Its errors have no location.
    pub(crate) fn decode(
        &self,
        range: SectionRange,
        header: &SectionHeader,
        limit: u64,
    ) -> Result<Vec<u8>> {
        let stored = self.stored(range, header)?;
        framing::decode(header.compression.0.get(), &stored, limit)
    }

    /// Returns whether the SHA-512/256 of a section matches; `None` if its header has none.
    pub(crate) fn sha512_256_matches(
        &self,
        range: SectionRange,
        header: &SectionHeader,
    ) -> Result<Option<bool>> {
        let Some(v2) = &header.v2 else {
            return Ok(None);
        };
        let start = SectionHeaderV2::SHA_START as u64;
        let at = range.offset.saturating_add(start);
        let bytes = self.window.read(at, range.len.saturating_sub(start))?;
        Ok(Some(
            sinterfs_block::checksum::sha512_256(&bytes) == v2.sha512_256,
        ))
    }
}

#[cold]
fn wrong_xxh3(found: u64, expected: u64) -> Error {
    Error::corrupt(format!("XXH3 is {found:016x}, expected {expected:016x}"))
}
