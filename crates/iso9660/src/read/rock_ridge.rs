//! The contents of the system use area of a record: attributes of Rock Ridge, zisofs and AAIP.
//!
//! In: a system use area, with its continuation areas. Out: `RockRidge`.
//!
//! **Invariant:** the continuation areas of a record have at most `CONTINUED_MAX` bytes, so that a
//! chain that leads back ends in an error. SUSP, section 5; RRIP, section 4.

use sinterfs_block::{ReadAt, Window};
use sinterfs_model::{Error, Rdev, Result};

use crate::layout::{
    ComponentFlags, LongDate, NAME_MAX, NameFlags, PosixFields, ShortDate, SystemUseEntries,
    SystemUseEntry, TARGET_MAX, TimeFlags, ZisofsHeader, le32, signature,
};

/// The most bytes of all continuation areas of a record.
const CONTINUED_MAX: u64 = 4 << 20;

/// Fixed cost charged per continuation area on top of its length.
const CONTINUED_COST: u64 = 64;

/// Reads system use areas.
#[derive(Debug, Clone)]
pub(super) struct SystemUseReader {
    pub(super) window: Window,
    /// Bytes of a logical block.
    pub(super) block: u64,
    /// Bytes at the start of each area that belong to something else.
    pub(super) skip: usize,
}

impl SystemUseReader {
    /// Visits all entries of an area and its continuations, whose bytes are taken from a budget.
    pub(super) fn for_each(
        &self,
        area: &[u8],
        budget: &mut u64,
        visit: &mut dyn FnMut(&SystemUseEntry<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut left = CONTINUED_MAX;
        let mut next = entries_of(area.get(self.skip..).unwrap_or_default(), visit)?;
        while let Some((block, offset, len)) = next {
            let cost = u64::from(len) + CONTINUED_COST;
            let remaining = (left.checked_sub(cost), budget.checked_sub(cost));
            let (Some(of_record), Some(of_all)) = remaining else {
                let what = "continuation areas that overlap or lead back to themselves";
                return Err(Error::corrupt(what));
            };
            (left, *budget) = (of_record, of_all);
            let at = u64::from(block) * self.block + u64::from(offset);
            let bytes = self.window.read(at, len.into());
            let bytes =
                bytes.map_err(|error| error.at("continuation area", self.window.start() + at))?;
            next = entries_of(&bytes, visit)?;
        }
        Ok(())
    }
}

/// Visits the entries of one area and returns where it is continued.
fn entries_of(
    area: &[u8],
    visit: &mut dyn FnMut(&SystemUseEntry<'_>) -> Result<()>,
) -> Result<Option<(u32, u32, u32)>> {
    let mut next = None;
    for entry in SystemUseEntries(area) {
        if entry.signature == signature::CE && entry.data.len() >= 24 {
            next = Some((
                le32(entry.data, 0),
                le32(entry.data, 8),
                le32(entry.data, 16),
            ));
        } else {
            visit(&entry)?;
        }
    }
    Ok(next)
}

/// The storage of the content of a file that is not stored as is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentEncoding {
    /// By zisofs.
    Zisofs(ZisofsHeader),
    /// By zisofs in a way that is not known.
    UnknownZisofs,
    /// As a sparse file.
    Sparse,
}

/// The contents of the entries of a record.
#[derive(Debug, Default)]
pub(super) struct RockRidge {
    pub(super) posix: Option<PosixFields>,
    pub(super) device: Option<(u32, u32)>,
    name: Option<Vec<u8>>,
    /// The name has flags that no file has.
    strange_name: bool,
    pub(super) target: Option<SymlinkTarget>,
    /// Times of modification, access and change in hundredths of seconds.
    pub(super) times: [Option<i64>; 3],
    /// Whether there is a time of creation.
    pub(super) has_birth: bool,
    /// Whether there are times that no inode has: of backup, of expiration, of effect.
    pub(super) has_more_times: bool,
    /// Whether times have hundredths.
    pub(super) long_times: bool,
    pub(super) child: Option<u32>,
    pub(super) moved: bool,
    pub(super) encoding: Option<ContentEncoding>,
    pub(super) has_attributes: bool,
}

impl RockRidge {
    /// Reads the entries of an area.
    pub(super) fn read(reader: &SystemUseReader, area: &[u8], budget: &mut u64) -> Result<Self> {
        let mut found = Self::default();
        reader.for_each(area, budget, &mut |entry| found.add(entry))?;
        Ok(found)
    }

    /// Returns the name, if there is one.
    pub(super) fn name(&self) -> Option<&[u8]> {
        let name = self.name.as_deref();
        name.filter(|_| !self.strange_name)
    }

    fn add(&mut self, entry: &SystemUseEntry<'_>) -> Result<()> {
        let data = entry.data;
        match entry.signature {
            signature::PX => self.posix = self.posix.or(PosixFields::decode(data)),
            signature::PN if data.len() >= 16 => self.device = Some((le32(data, 0), le32(data, 8))),
            signature::NM => self.add_name(data)?,
            signature::SL => {
                let target = self.target.get_or_insert_default();
                target.add(data.get(1..).unwrap_or_default())?;
            }
            signature::TF => self.add_times(data),
            signature::CL if data.len() >= 8 => self.child = Some(le32(data, 0)),
            signature::RE => self.moved = true,
            signature::SF => self.encoding = Some(ContentEncoding::Sparse),
            signature::ZF | signature::Z2 => {
                let header = ZisofsHeader::from_entry(entry.version, data);
                let known = header.map(ContentEncoding::Zisofs);
                self.encoding = Some(known.unwrap_or(ContentEncoding::UnknownZisofs));
            }
            signature::AL => self.has_attributes = true,
            _ => {}
        }
        Ok(())
    }

    fn add_name(&mut self, data: &[u8]) -> Result<()> {
        let Some((flags, part)) = data.split_first() else {
            return Ok(());
        };
        self.strange_name |= flags & !NameFlags::CONTINUE != 0;
        let name = self.name.get_or_insert_default();
        name.extend(part);
        if name.len() > NAME_MAX {
            return Err(Error::corrupt("a name of more than 255 bytes"));
        }
        Ok(())
    }

    fn add_times(&mut self, data: &[u8]) {
        let Some((flags, mut dates)) = data.split_first() else {
            return;
        };
        for bit in 0..7 {
            let flag = 1u8 << bit;
            if flags & flag == 0 {
                continue;
            }
            let time = if flags & TimeFlags::LONG != 0 {
                self.long_times = true;
                let Some((date, rest)) = dates.split_first_chunk::<17>() else {
                    return;
                };
                dates = rest;
                LongDate(*date).hundredths()
            } else {
                let Some((date, rest)) = dates.split_first_chunk::<7>() else {
                    return;
                };
                dates = rest;
                ShortDate(*date).hundredths()
            };
            let [modified, accessed, changed] = &mut self.times;
            match flag {
                TimeFlags::MODIFY => *modified = time,
                TimeFlags::ACCESS => *accessed = time,
                TimeFlags::ATTRIBUTES => *changed = time,
                TimeFlags::CREATION => self.has_birth |= time.is_some(),
                _ => self.has_more_times |= time.is_some(),
            }
        }
    }
}

/// The target of a symlink, from the components of SL entries.
#[derive(Debug, Default)]
pub(super) struct SymlinkTarget {
    pub(super) bytes: Vec<u8>,
    /// A slash is needed before the next component.
    is_open: bool,
}

impl SymlinkTarget {
    fn add(&mut self, mut components: &[u8]) -> Result<()> {
        while let Some((&[flags, len], rest)) = components.split_first_chunk::<2>() {
            let Some((part, rest)) = rest.split_at_checked(len.into()) else {
                return Err(Error::corrupt("a component past the end of its SL entry"));
            };
            components = rest;
            if std::mem::take(&mut self.is_open) {
                self.bytes.push(b'/');
            }
            match flags & !ComponentFlags::CONTINUE {
                0 => self.bytes.extend(part),
                ComponentFlags::CURRENT => self.bytes.extend(b"."),
                ComponentFlags::PARENT => self.bytes.extend(b".."),
                ComponentFlags::ROOT => {
                    self.bytes.push(b'/');
                    continue;
                }
                _ => {
                    let what = format!("a component of a symlink with flags {flags:#x}");
                    return Err(Error::corrupt(what));
                }
            }
            self.is_open = flags & ComponentFlags::CONTINUE == 0;
            if self.bytes.len() > TARGET_MAX {
                return Err(Error::corrupt(
                    "a symlink with a target of more than 64 KiB",
                ));
            }
        }
        Ok(())
    }
}

/// Decodes a device number: two words, or one of 16 bits as old systems had.
pub(super) fn device((high, low): (u32, u32)) -> Rdev {
    if high == 0 && low > 0xff {
        Rdev {
            major: low >> 8,
            minor: low & 0xff,
        }
    } else {
        Rdev {
            major: high,
            minor: low,
        }
    }
}
