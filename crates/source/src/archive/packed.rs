//! Content of archives that compress their members one by one or in groups (zip, 7z).
//!
//! In: units and parts. Out: the content of members, by positioned reads. A unit is decoded as a
//! whole when the first of its members is read, into an unnamed scratch file, in which blocks of
//! zeros are holes; what is stored as it is is read in place. **Invariant:** no byte of a member is
//! returned before its checksum was compared, where the archive has one; damage of one member
//! leaves others readable.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use sinterfs_archive::crc32::Crc32;
use sinterfs_archive::packed::{DecodeStep, Unit, UnitRange};
use sinterfs_model::{Error, Extent, ExtentSource, FileContent, Kind, Result};
use sinterfs_platform::{FileAt, Scratch};
use sinterfs_workers::lock;

mod decode;

use decode::reader;

/// Bytes that are decoded at once, and the unit of holes.
const STEP: usize = 64 << 10;
const PAGE: u64 = 4096;

/// The content of an archive.
pub(super) struct PackedContent {
    file: Arc<File>,
    scratch: Scratch,
    /// The file with what was decoded, once something was.
    decoded: Mutex<Option<Arc<File>>>,
    /// Where the next unit goes in it.
    end: AtomicU64,
    units: Vec<(Unit, OnceLock<Box<Decoded>>)>,
    /// In the order of units, and in it of offsets.
    parts: Vec<UnitRange>,
}

/// What came of a unit.
struct Decoded {
    file: Arc<File>,
    /// Where its content begins in the file.
    start: u64,
    /// How much of it there is.
    len: u64,
    /// What ended it before its end.
    error: Option<(Kind, String)>,
    /// The offsets of members with other checksums than the archive has for them.
    wrong: Vec<u64>,
}

impl PackedContent {
    /// Holds the content of the members of a file; parts may come in any order.
    pub(super) fn new(
        file: Arc<File>,
        scratch: Scratch,
        units: Vec<Unit>,
        mut parts: Vec<UnitRange>,
    ) -> Self {
        parts.sort_by_key(|part| (part.unit, part.offset));
        let units = units.into_iter().map(|unit| (unit, OnceLock::new()));
        Self {
            file,
            scratch,
            decoded: Mutex::default(),
            end: AtomicU64::new(0),
            units: units.collect(),
            parts,
        }
    }

    /// Returns the methods of units, and how many have each.
    pub(super) fn methods(&self) -> BTreeMap<&'static str, u64> {
        let mut methods = BTreeMap::new();
        for (unit, _) in &self.units {
            unit.step.visit_methods(&mut |name| {
                *methods.entry(name).or_default() += 1;
            });
        }
        methods
    }

    /// Reads bytes of a member.
    pub(super) fn read_at(&self, part: &UnitRange, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let left = part.len.saturating_sub(offset);
        let len = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        let buf = buf.get_mut(..len).unwrap_or_default();
        if buf.is_empty() {
            return Ok(0);
        }
        let unit = self.units.get(part.unit as usize);
        let (unit, decoded) = unit.ok_or_else(|| Error::corrupt("no such unit"))?;
        let decoded = decoded.get_or_init(|| Box::new(self.decode(part.unit, unit)));
        if decoded.wrong.contains(&part.offset) {
            let what = "the content has another checksum than the archive has for it";
            return Err(Error::corrupt(what).at("member content", unit.at));
        }
        if part.offset.saturating_add(part.len) > decoded.len {
            let error = decoded.error.as_ref();
            let (kind, what) = error.map_or((Kind::Corrupt, "cut off"), |(kind, what)| {
                (*kind, what.as_str())
            });
            return Err(Error::new(kind, what.to_owned()).at("member content", unit.at));
        }
        let at = decoded.start + part.offset + offset;
        let read = decoded.file.read_exact_at(buf, at);
        read.map_err(|error| Error::io("cannot read the archive", error))?;
        Ok(len)
    }

    /// Decodes a unit.
    fn decode(&self, number: u32, unit: &Unit) -> Decoded {
        let first = self.parts.partition_point(|part| part.unit < number);
        let parts = self.parts.iter().skip(first);
        let parts = parts.take_while(|part| part.unit == number);
        let place = match &unit.step {
            DecodeStep::Stored { at, .. } => Ok((Arc::clone(&self.file), *at, false)),
            DecodeStep::Decoded { .. } => {
                self.room(unit.len).map(|(file, start)| (file, start, true))
            }
        };
        let (file, start, is_copied) = match place {
            Ok(place) => place,
            Err(error) => {
                return Decoded {
                    file: Arc::clone(&self.file),
                    start: 0,
                    len: 0,
                    error: Some(kept(&error)),
                    wrong: Vec::new(),
                };
            }
        };
        let mut decoded = Decoded {
            file,
            start,
            len: 0,
            error: None,
            wrong: Vec::new(),
        };
        let done = reader(&unit.step, &self.file)
            .and_then(|mut reader| self.copy(&mut decoded, &mut *reader, parts, is_copied));
        decoded.error = done.err().as_ref().map(kept);
        decoded
    }

    /// Returns a place for the content of a unit.
    fn room(&self, len: u64) -> Result<(Arc<File>, u64)> {
        let mut file = lock(&self.decoded);
        let file = match &*file {
            Some(file) => Arc::clone(file),
            None => Arc::clone(file.insert(Arc::new(self.scratch.file()?))),
        };
        let limit = || Error::limit("the archive has more content than a file can have");
        let len = len.checked_next_multiple_of(PAGE).ok_or_else(limit)?;
        let start = self.end.load(Ordering::Relaxed);
        let end = start.checked_add(len).filter(|end| *end <= 1 << 62);
        self.end.store(end.ok_or_else(limit)?, Ordering::Relaxed);
        Ok((file, start))
    }

    /// Reads the content of a unit, compares checksums, and keeps it if it is decoded.
    fn copy<'a>(
        &self,
        decoded: &mut Decoded,
        reader: &mut dyn Read,
        parts: impl Iterator<Item = &'a UnitRange>,
        is_copied: bool,
    ) -> Result<()> {
        let mut buffer = vec![0; STEP];
        for part in parts {
            let end = part.offset.saturating_add(part.len);
            let mut crc = Crc32::default();
            while decoded.len < end {
                let most = (end - decoded.len).min(STEP as u64) as usize;
                let room = buffer.get_mut(..most).unwrap_or_default();
                fill(reader, room)?;
                // what is between members is no part of either
                let skipped = part.offset.saturating_sub(decoded.len).min(most as u64);
                crc.update(room.get(skipped as usize..).unwrap_or_default());
                if is_copied {
                    let is_last = decoded.len + most as u64 == end;
                    self.keep(decoded, room, is_last)?;
                }
                decoded.len += most as u64;
            }
            if part.crc.is_some_and(|expected| expected != crc.finish()) {
                decoded.wrong.push(part.offset);
            }
        }
        Ok(())
    }

    /// Writes what was decoded, but for pieces of zeros; the last one gives the file its length.
    fn keep(&self, decoded: &Decoded, bytes: &[u8], is_last: bool) -> Result<()> {
        if !is_last && bytes.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
        let at = decoded.start + decoded.len;
        let written = decoded.file.write_all_at(bytes, at);
        written.map_err(|error| self.scratch.failed(error))
    }
}

/// Returns of an error what each read of the same content repeats.
fn kept(error: &Error) -> (Kind, String) {
    (error.kind(), error.what().to_owned())
}

/// Fills a buffer with decoded bytes.
fn fill(reader: &mut dyn Read, mut room: &mut [u8]) -> Result<()> {
    while !room.is_empty() {
        match reader.read(room) {
            Ok(0) => return Err(Error::corrupt("the compressed content ends too early")),
            Ok(count) => room = room.get_mut(count..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(super::unpack::not_decoded(error)),
        }
    }
    Ok(())
}

/// A regular file of such an archive.
pub(super) struct PackedFile {
    pub(super) content: Arc<PackedContent>,
    /// `None` for one without content.
    pub(super) part: Option<UnitRange>,
    /// For messages.
    pub(super) path: PathBuf,
}

impl FileContent for PackedFile {
    fn len(&self) -> Result<u64> {
        Ok(self.part.map_or(0, |part| part.len))
    }

    fn extents(&self) -> Result<Vec<Extent>> {
        let extent = |part: UnitRange| Extent {
            offset: 0,
            len: part.len,
            source: ExtentSource::Block {
                block: 0,
                offset: 0,
            },
        };
        Ok(self.part.map(extent).into_iter().collect())
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let Some(part) = &self.part else { return Ok(0) };
        let read = self.content.read_at(part, offset, buf);
        read.map_err(|error| error.path(&self.path))
    }
}
