//! Reads a tar from front to back.
//!
//! Enters a stream, leaves one `Member` after the other; records between the headers (PAX, GNU's
//! long names) apply to the next member. Spec: POSIX.1-2024 pax; GNU tar's manual, "Tar Internals".
//! **Invariant:** a number that cannot be read, a checksum that is wrong, a map of holes that
//! contradicts itself and an end within a member are errors with the place; nothing is guessed over
//! them. Without the two blocks of zeros the archive ends with the stream, as in GNU tar; that is a
//! warning, and so is any data after them. A size does not say that content follows where the type
//! has none: what comes next is looked at.

mod acl;
mod fields;
mod pax;
mod sparse;
mod value;

use sinterfs_model::{Error, Result};
use zerocopy::{FromBytes, IntoBytes};

use super::layout::{self, BLOCK, UstarHeader, number, typeflag};
use crate::member::{Kind, Member, Notes};
use crate::stream::{CountedStream, MORE, NO_END, Stream, cut};
use pax::Records;

/// The most bytes of a name or of a target that GNU's long ones may have.
const LONGEST_NAME: usize = 64 << 10;
/// The most bytes of one member's PAX records: a map of holes may be among them.
const MOST_RECORDS: usize = 64 << 20;
/// The most bytes of PAX records for all members: each member has a copy while it is read.
const MOST_GLOBAL_RECORDS: usize = 64 << 10;

/// Returns whether bytes begin with a header of tar.
pub fn is_tar(start: &[u8]) -> bool {
    let header = start.get(..BLOCK).map(UstarHeader::read_from_bytes);
    matches!(header, Some(Ok(header)) if !is_zero(&header) && sum_is_right(&header))
}

/// Reads members.
#[derive(Debug)]
pub struct Reader<S> {
    input: CountedStream<S>,
    /// The unread bytes of the last member, with its padding.
    rest: u64,
    /// The number of padding bytes among them.
    padding: u64,
    /// A header that was looked at before its turn.
    ahead: Option<UstarHeader>,
    /// Records for all members from here on.
    globals: Records,
    notes: Notes,
    warnings: Notes,
    at_end: bool,
}

/// The properties of a member from the headers before its own.
#[derive(Debug, Default)]
struct PendingHeaders {
    records: Option<Records>,
    name: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
}

impl PendingHeaders {
    fn is_empty(&self) -> bool {
        self.records.is_none() && self.name.is_none() && self.target.is_none()
    }
}

impl<S: Stream> Reader<S> {
    /// Starts at the beginning of a stream.
    pub fn new(stream: S) -> Self {
        Self {
            input: CountedStream::new(stream),
            rest: 0,
            padding: 0,
            ahead: None,
            globals: Records::default(),
            notes: Notes::new(),
            warnings: Notes::new(),
            at_end: false,
        }
    }

    /// Returns what members have that is not in them, and how often, so far.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Returns what was passed over or may be missing, and how often, so far.
    pub fn warnings(&self) -> &Notes {
        &self.warnings
    }

    /// Reads the next member; `None` at the end. Its content is skipped with the next call.
    pub fn next_member(&mut self) -> Result<Option<Member>> {
        if self.at_end {
            return Ok(None);
        }
        let rest = std::mem::take(&mut self.rest);
        let padding = self.padding.min(rest);
        self.input
            .skip_padded(rest, padding, "content of a member")?;
        let mut pending = PendingHeaders::default();
        loop {
            let Some((header, at)) = self.header()? else {
                self.at_end = true;
                return if pending.is_empty() {
                    Ok(None)
                } else {
                    Err(cut("headers pending a member", self.input.position()))
                };
            };
            match header.typeflag {
                typeflag::PAX | typeflag::SOLARIS => {
                    let bytes = self.content(&header, at, MOST_RECORDS)?;
                    let records = &mut pending.records;
                    let records = records.get_or_insert_with(|| self.globals.clone());
                    let added = records.add(&bytes, MOST_RECORDS, &mut self.notes);
                    added.map_err(place(at))?;
                }
                typeflag::PAX_GLOBAL => {
                    let bytes = self.content(&header, at, MOST_GLOBAL_RECORDS)?;
                    let globals = &mut self.globals;
                    let added = globals.add(&bytes, MOST_GLOBAL_RECORDS, &mut self.notes);
                    added.map_err(place(at))?;
                }
                typeflag::GNU_LONG_NAME => pending.name = Some(self.name(&header, at)?),
                typeflag::GNU_LONG_LINK => pending.target = Some(self.name(&header, at)?),
                typeflag::GNU_VOLUME => {
                    match size(&header, at)? {
                        0 => *self.notes.entry("names of volumes").or_default() += 1,
                        _ => self.warn("content after the name of a volume, skipped"),
                    }
                    self.pass(&header, at)?;
                }
                typeflag::GNU_CONTINUED => {
                    self.warn("the rest of a file that begins on another volume, skipped");
                    self.pass(&header, at)?;
                    pending = PendingHeaders::default();
                }
                _ => return self.member(&header, pending, at).map(Some),
            }
        }
    }

    fn warn(&mut self, what: &'static str) {
        *self.warnings.entry(what).or_default() += 1;
    }

    /// Reads a header and returns it with its offset; `None` at the end of the archive.
    fn header(&mut self) -> Result<Option<(UstarHeader, u64)>> {
        let (header, at) = match self.ahead.take() {
            Some(header) => (header, self.input.position() - BLOCK as u64),
            None => {
                let at = self.input.position();
                match self.block(at)? {
                    Some(header) => (header, at),
                    None => {
                        self.warn(NO_END);
                        return Ok(None);
                    }
                }
            }
        };
        if is_zero(&header) {
            if self.input.more_than_zeros()? {
                self.warn(MORE);
            }
            return Ok(None);
        }
        if !sum_is_right(&header) {
            return Err(Error::corrupt("the checksum is wrong").at("tar header", at));
        }
        Ok(Some((header, at)))
    }

    /// Reads a block that may be a header; `None` at the end of the stream.
    fn block(&mut self, at: u64) -> Result<Option<UstarHeader>> {
        let mut block = [0; BLOCK];
        match self.input.fill(&mut block)? {
            0 => Ok(None),
            BLOCK => {
                let header = UstarHeader::read_from_bytes(&block);
                header.map(Some).map_err(|_| cut("tar header", at))
            }
            _ => Err(cut("tar header", at)),
        }
    }

    /// Reads the content of a header that is no member's.
    fn content(&mut self, header: &UstarHeader, at: u64, most: usize) -> Result<Vec<u8>> {
        let size = size(header, at)?;
        let len = usize::try_from(size).ok().filter(|&len| len <= most);
        let len = len.ok_or_else(|| {
            Error::limit(format!("{size} bytes of a name or of records")).at("tar header", at)
        })?;
        let bytes = self.input.bytes(len, "content of a tar header")?;
        self.input.skip(padding(size), "padding of a tar header")?;
        Ok(bytes)
    }

    /// Reads a name of GNU's.
    fn name(&mut self, header: &UstarHeader, at: u64) -> Result<Vec<u8>> {
        let mut name = self.content(header, at, LONGEST_NAME)?;
        name.truncate(fields::text(&name).len());
        Ok(name)
    }

    /// Goes past the content of a header.
    fn pass(&mut self, header: &UstarHeader, at: u64) -> Result<()> {
        let size = size(header, at)?;
        self.input.skip(size, "content of a member")?;
        self.input.skip(padding(size), "padding of a member")
    }

    /// Makes a member of its header and those before it.
    fn member(&mut self, header: &UstarHeader, pending: PendingHeaders, at: u64) -> Result<Member> {
        let records = pending.records.unwrap_or_else(|| self.globals.clone());
        let mut stored = match records.size {
            Some(size) => size,
            None => size(header, at)?,
        };
        let maker = fields::Maker {
            header,
            records: &records,
            name: pending.name,
            target: pending.target,
            at,
        };
        let mut member = maker.member()?;
        let start = self.input.position();
        let has_map = match member.kind {
            Kind::File => true,
            Kind::HardLink(_) => records.sparse.is_any(),
            _ => false,
        };
        let is_dump = header.typeflag == typeflag::GNU_DUMP_DIRECTORY;
        let mut taken = 0;
        if stored > 0 && !has_map && !is_dump {
            // the types from symlinks to pipes have no content, so zeros are the end
            let may_be_zeros = !matches!(header.typeflag, b'2'..=b'6');
            match self.content_ahead(stored, may_be_zeros)? {
                Some(len) => taken = len,
                None => stored = 0,
            }
        }
        // headers of the map of holes are part of the following data
        let padded = stored.saturating_add(padding(stored));
        let from = self.input.position();
        let holes = if has_map {
            sparse::map(&mut self.input, header, &records, stored, at)?
        } else {
            None
        };
        let used = self.input.position() - from;
        (member.size, member.map) = match holes {
            Some(holes) => (holes.size, Some(holes.runs)),
            // the names that a directory had when it was dumped are no content
            None if is_dump => (0, None),
            None => (stored, None),
        };
        member.content = start.saturating_add(used);
        self.padding = padding(stored);
        self.rest = match header.typeflag {
            // further headers of GNU's map are not counted by the size
            typeflag::GNU_SPARSE => padded,
            _ => padded.saturating_sub(used.saturating_add(taken)),
        };
        Ok(member)
    }

    /// Looks for content after a header whose size may be meaningless: for a hard link, some
    /// writers record the size of the file and store nothing, and other types have no content.
    /// Returns the bytes that were taken of it; `None` if there is none. If content `may_be_zeros`,
    /// zeros count as content if other bytes follow within it, or a header after it.
    fn content_ahead(&mut self, stored: u64, may_be_zeros: bool) -> Result<Option<u64>> {
        let padded = stored.saturating_add(padding(stored));
        let mut zeros = 0;
        loop {
            let mut block = [0; BLOCK];
            let len = self.input.fill(&mut block)?;
            let next = UstarHeader::read_from_bytes(&block);
            let (BLOCK, Ok(next)) = (len, next) else {
                self.at_end = len == 0 && zeros > 0;
                return Ok((len > 0).then(|| len as u64 + zeros));
            };
            match (is_zero(&next), sum_is_right(&next)) {
                (true, _) if may_be_zeros && zeros < padded => zeros += BLOCK as u64,
                (true, _) => {
                    self.ahead = Some(next);
                    return Ok(None);
                }
                (false, true) if zeros == 0 || zeros == padded => {
                    self.ahead = Some(next);
                    return Ok((zeros > 0).then_some(zeros));
                }
                (false, false) if zeros < padded => return Ok(Some(zeros + BLOCK as u64)),
                (false, _) => {
                    // the zeros were the end of the archive
                    self.at_end = true;
                    self.warn(MORE);
                    return Ok(None);
                }
            }
        }
    }
}

/// Adds the header to errors.
fn place(at: u64) -> impl Fn(Error) -> Error {
    move |error| error.at("PAX records", at)
}

/// Returns the number of content bytes after a header.
fn size(header: &UstarHeader, at: u64) -> Result<u64> {
    let size = number(&header.size).and_then(|size| u64::try_from(size).ok());
    size.ok_or_else(|| Error::corrupt("a size that is not a number").at("tar header", at))
}

/// Returns the bytes between the end of content and the next header.
fn padding(size: u64) -> u64 {
    size.wrapping_neg() % BLOCK as u64
}

fn is_zero(header: &UstarHeader) -> bool {
    header.as_bytes().iter().all(|&byte| byte == 0)
}

/// Compares the checksum; old tars on some machines summed signed bytes.
fn sum_is_right(header: &UstarHeader) -> bool {
    let Some(stored) = number(&header.checksum) else {
        return false;
    };
    let sum = i64::from(layout::checksum(header));
    let bytes = header.as_bytes();
    let high = |bytes: &[u8]| bytes.iter().map(|byte| i64::from(byte >> 7)).sum::<i64>();
    let signed = sum - 256 * (high(bytes) - high(&header.checksum));
    stored == sum || stored == signed
}

#[cfg(test)]
mod tests;
