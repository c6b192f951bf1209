//! The addresses of content: which bytes of which file are where.
//!
//! In: files, one after the other. Out: addresses, and later the bytes there. **Invariant:** runs
//! are in the order of their addresses, begin with a block and do not overlap.

use sinterfs_model::{Error, Image, Ino, Result};

use super::regions::CONTENT;
use crate::write::BLOCK;

/// The first block address that does not fit 32 bits; the one with all bits set is a hole.
const WIDE: u64 = u32::MAX as u64;

/// The end of the address space: block addresses of 48 bits, and offsets of files.
const END: u64 = 1 << 50;

/// Bytes of a file in a row.
#[derive(Debug, Clone, Copy)]
struct ContentRun {
    /// Their address.
    start: u64,
    ino: Ino,
    /// Their offset in the file.
    offset: u64,
}

/// All content.
#[derive(Debug)]
pub(super) struct Space {
    runs: Vec<ContentRun>,
    end: u64,
}

impl Space {
    /// Creates an empty address space.
    pub(super) fn new() -> Self {
        Self {
            runs: Vec::new(),
            end: CONTENT,
        }
    }

    /// Assigns an address to bytes of a file, and returns the first block.
    pub(super) fn add(&mut self, ino: Ino, offset: u64, len: u64) -> Result<u64> {
        let start = self.end;
        let end = len
            .checked_next_multiple_of(BLOCK)
            .and_then(|len| start.checked_add(len));
        self.end = end.filter(|&end| end <= END).ok_or_else(|| {
            let what = "more content than EROFS has addresses for: 1 PiB";
            Error::limit(what).path(format!("inode {}", ino.0))
        })?;
        self.runs.push(ContentRun { start, ino, offset });
        Ok(start / BLOCK)
    }

    /// Returns the end of all addresses.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Returns whether there are addresses of more than 32 bits.
    pub(super) fn is_wide(&self) -> bool {
        is_wide(self.end / BLOCK)
    }

    /// Reads as much as one run has from an address on.
    pub(super) fn read(&self, image: &dyn Image, place: u64, buf: &mut [u8]) -> Result<usize> {
        let next = self.runs.partition_point(|run| run.start <= place);
        let run = next.checked_sub(1).and_then(|index| self.runs.get(index));
        let run = run.ok_or_else(|| Error::corrupt("no content").at("lookalike", place))?;
        let end = self.runs.get(next).map_or(self.end, |run| run.start);
        let room = end.saturating_sub(place);
        let len = usize::try_from(room).map_or(buf.len(), |room| room.min(buf.len()));
        let buf = buf.split_at_mut(len).0;
        let read = image.read_at(run.ino, run.offset + (place - run.start), buf);
        let count = read.map_err(|error| error.path(format!("inode {}", run.ino.0)))?;
        // the end of the file
        buf.get_mut(count..).unwrap_or_default().fill(0);
        Ok(len)
    }
}

/// Returns whether a block's address takes more than 32 bits.
pub(super) fn is_wide(block: u64) -> bool {
    block >= WIDE
}

/// Fills a buffer with bytes of a part from an offset on, and with zeros past its end.
pub(super) fn copy_from(part: &[u8], place: u64, buf: &mut [u8]) {
    let from = usize::try_from(place)
        .ok()
        .and_then(|place| part.get(place..));
    let from = from.unwrap_or_default();
    let count = from.len().min(buf.len());
    let (front, rest) = buf.split_at_mut(count);
    front.copy_from_slice(from.split_at(count).0);
    rest.fill(0);
}
