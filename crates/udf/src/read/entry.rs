//! File entries and extended file entries.
//!
//! In: a partition and a block. Out: `FileEntry`.
//!
//! **Invariant:** what an entry refers to within its block is in it. ECMA-167, 4/14.6, 4/14.9 and
//! 4/14.17; strategies 4 and 4096 (UDF, 2.3.5.1).

use std::ops::Range;

use sinterfs_block::{Bytes, ReadAt, Window};
use sinterfs_model::{Error, Result, Time, Times};

use super::partitions::Partitions;
use crate::layout::{PartitionExtent, byte, checked_tag, le16, le32, le64, tag, time};

/// The most entries that follow each other for one file.
const ENTRIES_MAX: u32 = 10_000;

/// The memory that an entry is counted with, so that chains of them end.
const ENTRY_MEMORY: u64 = 64;

/// Bits of the flags of an entry (ECMA-167, 4/14.6.8).
pub(crate) mod flags {
    pub(crate) const DESCRIPTORS: u16 = 7;
    pub(crate) const SET_UID: u16 = 1 << 6;
    pub(crate) const SET_GID: u16 = 1 << 7;
    pub(crate) const STICKY: u16 = 1 << 8;
    pub(crate) const SYSTEM: u16 = 1 << 10;
}

/// A file entry.
#[derive(Debug, Clone)]
pub(crate) struct FileEntry {
    /// The block, and where it is.
    pub(crate) bytes: Bytes,
    /// The position of the block in the window in bytes.
    pub(crate) at: u64,
    /// The map of the partition that it is in.
    pub(crate) map: u16,
    pub(crate) file_type: u8,
    pub(crate) flags: u16,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) permissions: u32,
    pub(crate) size: u64,
    pub(crate) times: Times,
    pub(crate) birth: Option<Time>,
    /// The file with further extended attributes.
    pub(crate) attribute_file: PartitionExtent,
    /// The directory of named streams.
    pub(crate) streams: PartitionExtent,
    /// The position of extended attributes in the block.
    pub(crate) attributes: Range<usize>,
    /// The position of extent descriptors in the block, or of the content.
    pub(crate) descriptors: Range<usize>,
}

impl FileEntry {
    /// Returns the permission bits of Unix.
    pub(crate) fn mode(&self) -> u16 {
        let bits = |shift: u32| u16::try_from((self.permissions >> shift) & 7).unwrap_or(0);
        let mode = bits(10) << 6 | bits(5) << 3 | bits(0);
        let special = [
            (flags::SET_UID, 0o4000),
            (flags::SET_GID, 0o2000),
            (flags::STICKY, 0o1000),
        ];
        let special = special
            .into_iter()
            .filter(|(flag, _)| self.flags & flag != 0);
        special.fold(mode, |mode, (_, bit)| mode | bit)
    }

    /// Returns the kind of the descriptors: 0 short, 1 long, 2 extended, 3 the content itself.
    pub(crate) fn descriptor_kind(&self) -> u16 {
        self.flags & flags::DESCRIPTORS
    }
}

/// Reads entries, and the content of files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryReader<'a> {
    pub(super) window: &'a Window,
    pub(super) block: u64,
    pub(super) partitions: &'a Partitions,
}

impl<'a> EntryReader<'a> {
    /// Makes a reader of a volume with blocks of this size.
    pub(crate) fn new(window: &'a Window, block: u64, partitions: &'a Partitions) -> Self {
        Self {
            window,
            block,
            partitions,
        }
    }

    /// Returns the length of the file in bytes.
    pub(crate) fn window_len(&self) -> u64 {
        self.window.len()
    }

    /// Reads the entry of a file: the last one, where several follow each other.
    pub(crate) fn entry(&self, icb: PartitionExtent, budget: &mut u64) -> Result<FileEntry> {
        let (mut found, mut next) = (None, icb);
        for _ in 0..ENTRIES_MAX {
            *budget = budget.checked_sub(ENTRY_MEMORY).ok_or_else(|| {
                Error::limit("the entries of files take more memory than metadata may take")
            })?;
            let entry = match self.direct(next) {
                Ok(entry) => entry,
                // the place for the next version of the file is there before it is written
                Err(error) => return found.ok_or(error),
            };
            let strategy = le16(&entry.bytes, 20);
            found = Some(entry);
            match strategy {
                4 => return found.ok_or_else(no_entry),
                4096 => {}
                _ => {
                    let what = format!("a file of strategy {strategy}");
                    return Err(Error::unsupported(what));
                }
            }
            let further = PartitionExtent {
                block: next.block.saturating_add(1),
                ..next
            };
            let is_there = u64::from(next.len) >= 2 * self.block;
            let Some((bytes, _)) = is_there
                .then(|| self.block_of(further))
                .and_then(Result::ok)
            else {
                return found.ok_or_else(no_entry);
            };
            if !matches!(checked_tag(&bytes, further.block), Ok(tag::INDIRECT_ENTRY)) {
                return found.ok_or_else(no_entry);
            }
            next = PartitionExtent::long(&bytes, 36);
            if next.len == 0 {
                return found.ok_or_else(no_entry);
            }
        }
        Err(Error::corrupt("entries that follow each other without end"))
    }

    /// Reads a block of a partition, and returns its position.
    pub(super) fn block_of(&self, extent: PartitionExtent) -> Result<(Bytes, u64)> {
        let runs =
            self.partitions
                .locate(extent.map, extent.block.into(), 1, &mut u64::MAX.clone())?;
        let block = runs.first().and_then(|run| run.block);
        let block = block.ok_or_else(|| Error::corrupt("a block that is not stored"))?;
        let at = block.saturating_mul(self.block);
        let located = |error: Error| error.at("block", self.window.start().saturating_add(at));
        Ok((self.window.read(at, self.block).map_err(located)?, at))
    }

    fn direct(&self, icb: PartitionExtent) -> Result<FileEntry> {
        if icb.len == 0 || icb.kind > 1 {
            return Err(Error::corrupt("no entry of a file"));
        }
        let (bytes, at) = self.block_of(icb)?;
        let place = self.window.start().saturating_add(at);
        let located = |error: Error| error.at("file entry", place);
        let id = checked_tag(&bytes, icb.block).map_err(located)?;
        match id {
            tag::FILE_ENTRY | tag::EXTENDED_FILE_ENTRY => {}
            _ => {
                let what = format!("a descriptor {id}, expected a file entry");
                return Err(located(Error::corrupt(what)));
            }
        }
        decode(bytes, at, icb.map, id).map_err(located)
    }
}

fn no_entry() -> Error {
    Error::corrupt("no entry of a file")
}

/// The offsets that differ between the two kinds of entries.
struct Offsets {
    times: [usize; 3],
    birth: Option<usize>,
    attribute_file: usize,
    streams: Option<usize>,
    lengths: usize,
    end: usize,
}

const PLAIN: Offsets = Offsets {
    times: [84, 72, 96],
    birth: None,
    attribute_file: 112,
    streams: None,
    lengths: 168,
    end: 176,
};

const EXTENDED: Offsets = Offsets {
    times: [92, 80, 116],
    birth: Some(104),
    attribute_file: 136,
    streams: Some(152),
    lengths: 208,
    end: 216,
};

fn decode(bytes: Bytes, at: u64, map: u16, id: u16) -> Result<FileEntry> {
    let offsets = if id == tag::FILE_ENTRY {
        PLAIN
    } else {
        EXTENDED
    };
    let word = |at: usize| usize::try_from(le32(&bytes, at)).unwrap_or(usize::MAX);
    let middle = offsets.end.saturating_add(word(offsets.lengths));
    let end = middle.saturating_add(word(offsets.lengths + 4));
    if end > bytes.len() {
        let what = format!("a file entry of {end} bytes in a block of {}", bytes.len());
        return Err(Error::corrupt(what));
    }
    // 2^32 - 1 means no owner
    let owner = |at: usize| match le32(&bytes, at) {
        u32::MAX => 0,
        known => known,
    };
    let [modified, accessed, changed] = offsets.times.map(|at| time(&bytes, at));
    let modified = modified.unwrap_or_default();
    Ok(FileEntry {
        at,
        map,
        file_type: byte(&bytes, 27),
        flags: le16(&bytes, 34),
        uid: owner(36),
        gid: owner(40),
        permissions: le32(&bytes, 44),
        size: le64(&bytes, 56),
        times: Times {
            modified,
            accessed: accessed.unwrap_or(modified),
            changed: changed.unwrap_or(modified),
        },
        birth: offsets.birth.and_then(|at| time(&bytes, at)),
        attribute_file: PartitionExtent::long(&bytes, offsets.attribute_file),
        streams: offsets.streams.map_or_else(PartitionExtent::default, |at| {
            PartitionExtent::long(&bytes, at)
        }),
        attributes: offsets.end..middle,
        descriptors: middle..end,
        bytes,
    })
}
