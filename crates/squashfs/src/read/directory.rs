//! Directory listings: entries in order from any cursor on, and lookup by name.
//!
//! In: the position of a listing. Out: names with the references of their inodes.
//!
//! A cursor consists of the offset of the entry's header in the listing (high bits) and the number
//! of the entry after it (low 9 bits), so that reading resumes without the entries before.
//! **Invariant:** names that are shown are 1 to 255 bytes without `/` and NUL, never `.` or `..`,
//! and ascending; others are left out and kept with their location in `Squashfs::left_out`. A
//! listing has exactly its stored length. Format: `docs/formats/squashfs.md`, "Directories".

use std::cmp::Ordering;
use std::sync::Arc;

use sinterfs_model::{Cursor, Error, FileType, Ino, Result};

use super::directory_index::{EntryIndex, HeaderPosition};
use super::dirent::{EntryGroup, EntryHeader};
use super::legacy;
use super::metadata::{MetaPosition, MetadataReader};
use super::open::Squashfs;
use super::record::{DirectoryLocation, file_type};
use crate::layout::{
    DIRENTS_PER_HEADER, DirectoryEntry, DirectoryHeader, DirectoryIndex, METADATA_SIZE, MetaRef,
    NAME_MAX,
};

/// The lengths of a header and of an entry without its name in version 4, in bytes.
const CURRENT_SIZES: (u32, u32) = (12, 8);

const _: () = assert!(size_of::<DirectoryHeader>() == 12 && size_of::<DirectoryEntry>() == 8);

/// The decoded size of a metadata block in bytes.
const BLOCK_LEN: u32 = 8192;

const _: () = assert!(BLOCK_LEN as usize == METADATA_SIZE);

/// The bits of a cursor that count entries after a header: 0 to 256.
const NUMBER_BITS: u32 = 9;

/// An entry with its inode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResolvedEntry {
    pub(crate) ino: Ino,
    pub(crate) kind: FileType,
    /// The inode's number; 0 before version 3.
    pub(crate) number: u32,
    pub(crate) next: Cursor,
}

/// The entries of one directory.
pub(crate) struct Entries<'a> {
    image: &'a Squashfs,
    dir: Ino,
    reader: Option<MetadataReader<'a>>,
    len: u32,
    /// The offset in the listing up to which it has been read.
    at: u32,
    group: EntryGroup,
    group_at: u32,
    number: u16,
    /// The last name and room for the next one, in turn.
    names: [[u8; NAME_MAX]; 2],
    is_second: bool,
    name_len: usize,
}

impl<'a> Entries<'a> {
    /// Starts at a header of a listing.
    fn start(
        image: &'a Squashfs,
        dir: Ino,
        listing: &DirectoryLocation,
        from: HeaderPosition,
    ) -> Result<Self> {
        let reader = if from.at < listing.len {
            let table = image.directories();
            Some(image.metadata.read_at(table, from.reference)?)
        } else {
            None
        };
        Ok(Self {
            image,
            dir,
            reader,
            len: listing.len,
            at: from.at,
            group: EntryGroup {
                left: 0,
                block: 0,
                number: 0,
            },
            group_at: from.at,
            number: 0,
            names: [[0; NAME_MAX]; 2],
            is_second: false,
            name_len: 0,
        })
    }

    /// Returns the offset of the last entry's header if the entry is the first one after it.
    pub(crate) fn header(&self) -> Option<u32> {
        (self.number == 1).then_some(self.group_at)
    }

    /// Returns the name of the last entry.
    pub(crate) fn name(&self) -> &[u8] {
        let [first, second] = &self.names;
        let last = if self.is_second { second } else { first };
        last.get(..self.name_len).unwrap_or_default()
    }

    /// Reads the next entry that can be shown; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<ResolvedEntry>> {
        let Some(mut reader) = self.reader.take() else {
            return Ok(None);
        };
        loop {
            let read = self.read(&mut reader);
            match read.map_err(|error| reader.locate(error))? {
                None => return Ok(None),
                Some(Ok(found)) => {
                    self.reader = Some(reader);
                    return Ok(Some(found));
                }
                Some(Err(error)) => {
                    let error = reader.locate(error);
                    self.image.left_out.note(self.dir, self.position(), error)?;
                }
            }
        }
    }

    /// Returns the cursor after the last entry that was read.
    fn position(&self) -> u64 {
        (u64::from(self.group_at) << NUMBER_BITS) | u64::from(self.number)
    }

    /// Continues after the entry before a cursor. The entries on the way count by their number, as
    /// some may not be shown.
    fn skip_to(&mut self, cursor: Cursor) -> Result<()> {
        while self.position() < cursor.0 {
            let Some(mut reader) = self.reader.take() else {
                return Ok(());
            };
            let read = self.read(&mut reader);
            match read.map_err(|error| reader.locate(error))? {
                Some(_) => self.reader = Some(reader),
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// Reads an entry, or an error if only this entry cannot be shown; `None` at the end.
    fn read(&mut self, reader: &mut MetadataReader<'_>) -> Result<Option<Result<ResolvedEntry>>> {
        let major = self.image.superblock.major;
        let (group_len, entry_len) = match major {
            4 => CURRENT_SIZES,
            _ => legacy::sizes(major),
        };
        if self.group.left == 0 {
            if self.at >= self.len {
                return Ok(None);
            }
            self.group_at = self.at;
            self.number = 0;
            self.advance(group_len)?;
            self.group = match major {
                4 => group(reader)?,
                _ => legacy::group(reader, major)?,
            };
            if self.group.left as usize > DIRENTS_PER_HEADER {
                return Err(Error::corrupt(format!(
                    "{} entries after one header",
                    self.group.left
                )));
            }
        }
        self.group.left -= 1;
        self.number += 1;
        self.advance(entry_len)?;
        let entry = match major {
            4 => entry(reader)?,
            _ => legacy::entry(reader, major)?,
        };
        self.advance(u32::from(entry.name_len))?;
        let name = self.read_name(reader, entry.name_len)?;
        Ok(Some(name.and_then(|()| self.found(entry))))
    }

    /// Advances in the listing.
    fn advance(&mut self, count: u32) -> Result<()> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.len);
        self.at = end.ok_or_else(|| Error::corrupt("an entry past the end of its directory"))?;
        Ok(())
    }

    /// Reads a name; returns an error in the result if it is one that no file can have.
    fn read_name(&mut self, reader: &mut MetadataReader<'_>, len: u16) -> Result<Result<()>> {
        let [first, second] = &mut self.names;
        let (last, next) = if self.is_second {
            (second, first)
        } else {
            (first, second)
        };
        let target = next.get_mut(..usize::from(len));
        let target =
            target.ok_or_else(|| Error::corrupt(format!("a name of {len} bytes is too long")))?;
        reader.fill(target)?;
        let bad = |byte: &u8| matches!(byte, b'/' | 0);
        if matches!(&*target, b"." | b"..") || target.iter().any(bad) {
            let text = String::from_utf8_lossy(target).into_owned();
            let what = format!("{text:?} is not a valid file name");
            return Ok(Err(Error::corrupt(what)));
        }
        let last = last.get(..self.name_len).unwrap_or_default();
        if self.name_len > 0 && last >= &*target {
            let text = String::from_utf8_lossy(target);
            let what = format!("the name {text:?} is not sorted or not unique");
            return Ok(Err(Error::corrupt(what)));
        }
        self.is_second = !self.is_second;
        self.name_len = usize::from(len);
        Ok(Ok(()))
    }

    fn found(&self, entry: EntryHeader) -> Result<ResolvedEntry> {
        let reference = MetaRef::new(self.group.block, entry.offset);
        let ino = Ino(reference.0.get());
        let kind = match entry.kind {
            // version 1 does not distinguish pipes and sockets here
            0 if self.image.superblock.major == 1 => {
                let record = self.image.record(ino);
                record.map_or(FileType::File, |record| record.kind)
            }
            kind => file_type(kind)?,
        };
        let number = self.group.number.wrapping_add_signed(entry.delta.into());
        Ok(ResolvedEntry {
            ino,
            kind,
            number,
            next: Cursor(self.position()),
        })
    }
}

fn group(reader: &mut MetadataReader<'_>) -> Result<EntryGroup> {
    let header: DirectoryHeader = reader.read()?;
    Ok(EntryGroup {
        left: header.count.get().saturating_add(1),
        block: u64::from(header.inode_block.get()),
        number: header.inode_number.get(),
    })
}

fn entry(reader: &mut MetadataReader<'_>) -> Result<EntryHeader> {
    let entry: DirectoryEntry = reader.read()?;
    Ok(EntryHeader {
        offset: entry.inode_offset.get(),
        kind: entry.kind.0.get(),
        name_len: entry.name_len.get().saturating_add(1),
        delta: entry.inode_delta.get(),
    })
}

impl Squashfs {
    /// Returns the entries of a directory from a cursor on.
    pub(crate) fn entries(
        &self,
        ino: Ino,
        listing: &DirectoryLocation,
        from: Cursor,
    ) -> Result<Entries<'_>> {
        let at = u32::try_from(from.0 >> NUMBER_BITS);
        let at = at.map_err(|_| Error::invalid("a cursor beyond all directories"))?;
        let mut entries = self.entries_at(ino, listing, at)?;
        let skip = from.0 & ((1 << NUMBER_BITS) - 1);
        if skip > 0 {
            entries.skip_to(from)?;
        }
        Ok(entries)
    }

    /// Starts at the header at an offset of a listing.
    fn entries_at(&self, ino: Ino, listing: &DirectoryLocation, at: u32) -> Result<Entries<'_>> {
        let first = self.first(listing);
        if at == 0 {
            return Entries::start(self, ino, listing, first);
        }
        let mut near = first;
        if let Some(index) = self.index(ino, listing)? {
            let before = |index: &EntryIndex, number: usize| {
                index.positions.get(number).is_some_and(|(j, _)| j.at <= at)
            };
            near = index.last(before).unwrap_or(first);
        }
        let mut entries = Entries::start(self, ino, listing, near)?;
        if let Some(reader) = entries.reader.as_mut()
            && at > near.at
        {
            reader.skip(u64::from(at - near.at))?;
            entries.at = at;
        }
        Ok(entries)
    }

    fn first(&self, listing: &DirectoryLocation) -> HeaderPosition {
        HeaderPosition {
            at: 0,
            reference: MetaRef::new(listing.block, listing.offset),
        }
    }

    /// Finds a name in a directory.
    pub(crate) fn find(
        &self,
        ino: Ino,
        listing: &DirectoryLocation,
        name: &[u8],
    ) -> Result<Option<ResolvedEntry>> {
        let mut start = self.first(listing);
        if let Some(index) = self.index(ino, listing)? {
            start = index
                .last(|index, number| index.name(number) <= name)
                .unwrap_or(start);
        }
        let mut entries = Entries::start(self, ino, listing, start)?;
        while let Some(found) = entries.next()? {
            match entries.name().cmp(name) {
                Ordering::Less => {}
                Ordering::Equal => return Ok(Some(found)),
                Ordering::Greater => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Returns the index of a directory; `None` if it has none.
    fn index(&self, ino: Ino, listing: &DirectoryLocation) -> Result<Option<Arc<EntryIndex>>> {
        let (count, place) = listing.index;
        if count == 0 {
            return Ok(None);
        }
        if let Some(index) = self.indexes.get(&ino.0) {
            return Ok(Some(index));
        }
        let index = Arc::new(self.read_index(listing, count, place)?);
        self.indexes.insert(ino.0, Arc::clone(&index));
        Ok(Some(index))
    }

    /// Returns the offsets of headers in the index of a directory.
    pub(crate) fn indexed(&self, ino: Ino, listing: &DirectoryLocation) -> Result<Vec<u32>> {
        let index = self.index(ino, listing)?;
        let positions = index.iter().flat_map(|index| &index.positions);
        Ok(positions.map(|(position, _)| position.at).collect())
    }

    fn read_index(
        &self,
        listing: &DirectoryLocation,
        count: u16,
        place: MetaPosition,
    ) -> Result<EntryIndex> {
        let mut reader = self.metadata.read_from(self.inodes(), place)?;
        let mut index = EntryIndex {
            positions: Vec::with_capacity(usize::from(count)),
            names: Vec::new(),
        };
        for number in 0..usize::from(count) {
            let entry = self.index_entry(&mut reader, &mut index.names);
            let (at, block) = entry.map_err(|error| reader.locate(error))?;
            let last = index.positions.last();
            let ascends = last.is_none_or(|(position, _)| position.at < at);
            let offset = (u32::from(listing.offset) + at % BLOCK_LEN) % BLOCK_LEN;
            let position = HeaderPosition {
                at,
                reference: MetaRef::new(block, u16::try_from(offset).unwrap_or(0)),
            };
            index.positions.push((position, index.names.len()));
            let before = number
                .checked_sub(1)
                .map_or(&[][..], |before| index.name(before));
            if !ascends || at >= listing.len || before >= index.name(number) {
                let error = Error::corrupt("the index of a directory is not sorted");
                return Err(reader.locate(error));
            }
        }
        Ok(index)
    }

    /// Reads an entry of an index: returns offset in the listing and block, appends the name to
    /// `names`.
    fn index_entry(
        &self,
        reader: &mut MetadataReader<'_>,
        names: &mut Vec<u8>,
    ) -> Result<(u32, u64)> {
        let major = self.superblock.major;
        let (at, block, name_len) = match major {
            4 => {
                let entry: DirectoryIndex = reader.read()?;
                let name_len = entry.name_len.get().saturating_add(1);
                (entry.offset.get(), u64::from(entry.block.get()), name_len)
            }
            _ => legacy::index_entry(reader, major)?,
        };
        if name_len as usize > NAME_MAX {
            return Err(Error::corrupt(format!(
                "a name of {name_len} bytes is too long"
            )));
        }
        let start = names.len();
        names.resize(start + name_len as usize, 0);
        reader.fill(names.get_mut(start..).unwrap_or_default())?;
        Ok((at, block))
    }
}
