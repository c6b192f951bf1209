//! Reads a cpio archive from front to back: `newc`, the same with checksums, and `odc`.
//!
//! Enters a stream, leaves one `Member` after the other. Spec: cpio(5) of libarchive, "New ASCII
//! Format" and "Portable ASCII Format"; initramfs: Linux'
//! Documentation/driver-api/early-userspace/buffer-format.rst. **Invariant:** further names of an
//! inode come as hard links to the first, whichever of them has the content. Sums of content, where
//! an archive has them, are compared. An archive ends at its trailer; an end before it is an error,
//! and a warning between two members. Zeros and another archive may follow, as in an initramfs,
//! with separate inode numbers; anything else after it is a warning.

use std::collections::HashMap;

use sinterfs_model::{Error, FileType, Meta, Rdev, Result, Time, Times, Xattrs};

use crate::member::{Kind, Member, Notes};
use crate::stream::{BEHIND, CountedStream, MORE, NO_END, Stream, cut};

/// The kind of the first bytes.
const NEWC: &[u8; 6] = b"070701";
const NEWC_WITH_SUMS: &[u8; 6] = b"070702";
const ODC: &[u8; 6] = b"070707";

/// The name of the trailer.
const TRAILER: &[u8] = b"TRAILER!!!";

/// The most bytes of a name or a target.
const MAX_NAME_LEN: u64 = 64 << 10;

/// Returns whether bytes begin a cpio archive.
pub fn is_cpio(start: &[u8]) -> bool {
    [NEWC, NEWC_WITH_SUMS, ODC]
        .iter()
        .any(|magic| start.starts_with(*magic))
}

/// Reads members.
#[derive(Debug)]
pub struct Reader<S> {
    input: CountedStream<S>,
    /// The unread bytes of the last member, with its padding.
    rest: u64,
    /// The number of padding bytes among them.
    padding: u64,
    /// The sum of its bytes, if the archive has it.
    sum: Option<Sum>,
    /// The first name of each inode that has several.
    linked: HashMap<Inode, Vec<u8>>,
    /// The inode of such a name: a later member may reuse the name.
    named: HashMap<Vec<u8>, Inode>,
    warnings: Notes,
    /// The magic of the next header, which was read already.
    magic: Option<[u8; 6]>,
    /// The position of the archive, relative to which names and content are aligned.
    start: u64,
    /// The position of other data after the archive.
    behind: Option<u64>,
    at_end: bool,
}

/// The expected sum of the bytes of a member.
#[derive(Debug, Clone, Copy)]
struct Sum {
    expected: u32,
    size: u64,
    /// The position of the header.
    at: u64,
}

/// The number of bytes summed at a time.
const READ_LEN: usize = 64 << 10;

/// A device and the number of an inode there.
type Inode = (u64, u64);

/// The numbers of a header, in either form.
struct NewcHeader {
    device: u64,
    inode: u64,
    mode: u32,
    uid: u32,
    gid: u32,
    links: u64,
    modified: i64,
    rdev: Rdev,
    size: u64,
    name: u64,
    /// The sum of the content's bytes.
    sum: Option<u32>,
    /// The alignment of names and content.
    unit: u64,
}

impl<S: Stream> Reader<S> {
    /// Starts at the beginning of a stream.
    pub fn new(stream: S) -> Self {
        Self {
            input: CountedStream::new(stream),
            rest: 0,
            padding: 0,
            sum: None,
            linked: HashMap::new(),
            named: HashMap::new(),
            warnings: Notes::new(),
            magic: None,
            start: 0,
            behind: None,
            at_end: false,
        }
    }

    /// Returns what was passed over or may be missing, and how often, so far.
    pub fn warnings(&self) -> &Notes {
        &self.warnings
    }

    /// Returns the position of data after the archive that is not an archive, once the end was
    /// reached.
    pub fn behind(&self) -> Option<u64> {
        self.behind
    }

    /// Reads the next member; `None` at the end. Its content is skipped with the next call.
    pub fn next_member(&mut self) -> Result<Option<Member>> {
        if self.at_end {
            return Ok(None);
        }
        let mut rest = std::mem::take(&mut self.rest);
        if let Some(sum) = self.sum.take() {
            self.compare(sum)?;
            rest = rest.saturating_sub(sum.size);
        }
        let padding = self.padding.min(rest);
        self.input
            .skip_padded(rest, padding, "content of a member")?;
        loop {
            let read = self.magic.map_or(0, |magic| magic.len() as u64);
            let at = self.input.position().saturating_sub(read);
            let Some(header) = self.header(at)? else {
                *self.warnings.entry(NO_END).or_default() += 1;
                self.at_end = true;
                return Ok(None);
            };
            let mut path = self.text(header.name, at)?;
            self.fill_up(header.unit)?;
            if path.pop() != Some(0) {
                return Err(bad(at, "a name without a NUL at its end"));
            }
            if path != TRAILER {
                return self.member(&header, path, at).map(Some);
            }
            self.linked.clear();
            self.named.clear();
            if !self.further_archive()? {
                self.at_end = true;
                return Ok(None);
            }
        }
    }

    /// Skips zeros after a trailer; returns whether another archive follows.
    fn further_archive(&mut self) -> Result<bool> {
        let mut magic = [0; 6];
        for _ in 0..BEHIND {
            let at = self.input.position();
            let (first, others) = magic.split_at_mut(1);
            if self.input.fill(first)? == 0 {
                return Ok(false);
            }
            if first == [0] {
                continue;
            }
            self.input.fill(others)?;
            if is_cpio(&magic) {
                self.magic = Some(magic);
                self.start = at;
                return Ok(true);
            }
            self.behind = Some(at);
            *self.warnings.entry(MORE).or_default() += 1;
            return Ok(false);
        }
        Ok(false)
    }

    /// Reads the content of a member, and compares what its bytes sum up to.
    fn compare(&mut self, sum: Sum) -> Result<()> {
        let (mut left, mut found) = (sum.size, 0_u32);
        while left > 0 {
            let len = usize::try_from(left).map_or(READ_LEN, |left| left.min(READ_LEN));
            let piece = self.input.bytes(len, "content of a member")?;
            let bytes = piece.iter().map(|&byte| u32::from(byte));
            found = bytes.fold(found, u32::wrapping_add);
            left -= len as u64;
        }
        if found == sum.expected {
            Ok(())
        } else {
            let what = format!(
                "the content sums up to {found:#010x}, its header says {:#010x}",
                sum.expected
            );
            Err(Error::corrupt(what).at("cpio header", sum.at))
        }
    }

    /// Skips to a multiple of a unit.
    fn fill_up(&mut self, unit: u64) -> Result<()> {
        let padding = self.padding_at(self.input.position(), unit);
        self.input.skip(padding, "padding of a member")
    }

    /// Returns what is left from a position to a multiple of a unit.
    fn padding_at(&self, position: u64, unit: u64) -> u64 {
        position.wrapping_sub(self.start).wrapping_neg() % unit
    }

    fn text(&mut self, len: u64, at: u64) -> Result<Vec<u8>> {
        let bounded = usize::try_from(len).ok().filter(|_| len <= MAX_NAME_LEN);
        let Some(bounded) = bounded else {
            let what = format!("{len} bytes of a name or a target");
            return Err(Error::limit(what).at("cpio header", at));
        };
        self.input.bytes(bounded, "name or target of a member")
    }

    fn member(&mut self, header: &NewcHeader, path: Vec<u8>, at: u64) -> Result<Member> {
        let file_type = FileType::from_mode(header.mode).ok_or_else(|| bad(at, "no known type"))?;
        let mut size = header.size;
        let mut kind = match file_type {
            FileType::Directory => Kind::Directory,
            FileType::File => Kind::File,
            FileType::Symlink => {
                size = 0;
                let target = self.text(header.size, at)?;
                self.fill_up(header.unit)?;
                Kind::Symlink(target)
            }
            FileType::CharDevice => Kind::CharDevice(header.rdev),
            FileType::BlockDevice => Kind::BlockDevice(header.rdev),
            FileType::Fifo => Kind::Fifo,
            FileType::Socket => Kind::Socket,
        };
        if let Some(inode) = self.named.remove(&path) {
            // the next member of this name is another file, or the same one again
            self.linked.remove(&inode);
        }
        if header.links > 1 && kind != Kind::Directory {
            let inode = (header.device, header.inode);
            match self.linked.get(&inode) {
                Some(first) => kind = Kind::HardLink(first.clone()),
                None => {
                    self.linked.insert(inode, path.clone());
                    self.named.insert(path.clone(), inode);
                }
            }
        }
        let content = self.input.position();
        let is_file = file_type == FileType::File && size > 0;
        let mut remark = None;
        let mut taken = 0;
        if !is_file && size > 0 {
            taken = self.content_ahead()?;
            if taken == 0 {
                remark = Some(format!("a size of {size} bytes, without content").into());
                size = 0;
            }
        }
        let end = content.saturating_add(size);
        self.padding = self.padding_at(end, header.unit);
        self.rest = size.saturating_add(self.padding).saturating_sub(taken);
        self.sum = header
            .sum
            .filter(|_| is_file)
            .map(|expected| Sum { expected, size, at });
        let modified = Time {
            secs: header.modified,
            nanos: 0,
        };
        Ok(Member {
            path,
            meta: Meta {
                mode: u16::try_from(header.mode & 0o7777).unwrap_or_default(),
                uid: header.uid,
                gid: header.gid,
                times: Times::all(modified),
            },
            kind,
            xattrs: Xattrs::new(),
            size,
            map: None,
            content,
            at,
            remark,
        })
    }

    /// Looks for content after a header of a type without content, and returns how many bytes of it
    /// were read: 0 if a header is there.
    fn content_ahead(&mut self) -> Result<u64> {
        let mut magic = [0; 6];
        let len = self.input.fill(&mut magic)?;
        if is_cpio(&magic) {
            self.magic = Some(magic);
            return Ok(0);
        }
        Ok(len as u64)
    }

    /// Reads a header; `None` if the archive ends after a member.
    fn header(&mut self, at: u64) -> Result<Option<NewcHeader>> {
        let mut magic = self.magic.take().unwrap_or_default();
        if magic == [0; 6] {
            match self.input.fill(&mut magic)? {
                0 if at > 0 => return Ok(None),
                len if len < magic.len() => return Err(cut("trailer of the archive", at)),
                _ => {}
            }
        }
        if magic == *ODC {
            return self.octal(at).map(Some);
        }
        if magic != *NEWC && magic != *NEWC_WITH_SUMS {
            return Err(bad(at, "an unknown magic number"));
        }
        let bytes = self.input.bytes(104, "cpio header")?;
        let mut fields = HexFields {
            bytes: &bytes,
            radix: 16,
            at,
        };
        let inode = fields.next(8)?.into();
        let mode = fields.next(8)?;
        let (uid, gid) = (fields.next(8)?, fields.next(8)?);
        let links = fields.next(8)?.into();
        let modified = fields.next(8)?.into();
        let size = fields.next(8)?.into();
        let device = u64::from(fields.next(8)?) << 32 | u64::from(fields.next(8)?);
        let rdev = Rdev {
            major: fields.next(8)?,
            minor: fields.next(8)?,
        };
        let name = fields.next(8)?.into();
        let sum = fields.next(8)?;
        Ok(Some(NewcHeader {
            device,
            inode,
            mode,
            uid,
            gid,
            links,
            modified,
            rdev,
            size,
            name,
            sum: (magic == *NEWC_WITH_SUMS).then_some(sum),
            unit: 4,
        }))
    }

    /// Reads the older header, whose numbers are octal.
    fn octal(&mut self, at: u64) -> Result<NewcHeader> {
        let bytes = self.input.bytes(70, "cpio header")?;
        let mut fields = HexFields {
            bytes: &bytes,
            radix: 8,
            at,
        };
        let device = fields.next(6)?.into();
        let inode = fields.next(6)?.into();
        let mode = fields.next(6)?;
        let (uid, gid) = (fields.next(6)?, fields.next(6)?);
        let links = fields.next(6)?.into();
        let rdev = fields.next(6)?;
        let modified = fields.long(11)?;
        let name = fields.next(6)?.into();
        let size = fields.long(11)?;
        Ok(NewcHeader {
            device,
            inode,
            mode,
            uid,
            gid,
            links,
            modified: i64::try_from(modified).map_err(|_| bad(at, "a time out of range"))?,
            rdev: Rdev {
                major: rdev >> 8,
                minor: rdev & 0xff,
            },
            size,
            name,
            sum: None,
            unit: 1,
        })
    }
}

/// Reads numbers with this number of digits each.
struct HexFields<'a> {
    bytes: &'a [u8],
    radix: u32,
    at: u64,
}

impl HexFields<'_> {
    fn long(&mut self, digits: usize) -> Result<u64> {
        let (field, rest) = self.bytes.split_at_checked(digits).unwrap_or_default();
        self.bytes = rest;
        let number = std::str::from_utf8(field).ok();
        // a sign would be a number to Rust
        let number = number.filter(|text| text.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        let number = number.and_then(|text| u64::from_str_radix(text, self.radix).ok());
        number.ok_or_else(|| bad(self.at, "an invalid digit"))
    }

    fn next(&mut self, digits: usize) -> Result<u32> {
        let number = self.long(digits)?;
        u32::try_from(number).map_err(|_| bad(self.at, "a number beyond 32 bits"))
    }
}

#[cold]
fn bad(at: u64, what: &'static str) -> Error {
    Error::corrupt(what).at("cpio header", at)
}

#[cfg(test)]
mod tests;
