//! Compressed files that no entry announces: files of mkzftree in an image made without zisofs.
//!
//! In: the stored content of a file. Out: the header of zisofs, if the file is compressed.
//!
//! **Invariant:** a file is taken for a compressed one if all of this holds: the image has Rock
//! Ridge and no entry of zisofs; the header is right; the pointers are in the first section, which
//! has no gaps, ascend, begin after themselves and end at the end of the file. The answer is the
//! same each time. Pointers are looked at once, however many files have them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use sinterfs_model::{Kind, Result};

use super::sections::StoredContent;
use super::zisofs::ZisofsFile;
use crate::layout::{ZisofsHeader, ZisofsVersion};

/// Pointers that are looked at together.
const TOGETHER: u64 = 4096;

/// The known facts about each file.
#[derive(Debug)]
pub(super) struct MagicMemory {
    states: Vec<AtomicU8>,
    /// Whether pointers are consistent, by the first block and the length of the stored content.
    pointers: Mutex<HashMap<(u32, u64), bool>>,
}

impl MagicMemory {
    const UNKNOWN: u8 = 0;
    const PLAIN: u8 = 1;
    const COMPRESSED: u8 = 2;

    /// Makes a memory of files of which nothing is known.
    pub(super) fn new(files: usize) -> Self {
        let states = std::iter::repeat_with(|| AtomicU8::new(Self::UNKNOWN));
        Self {
            states: states.take(files).collect(),
            pointers: Mutex::default(),
        }
    }

    /// Returns the header of a file if it is compressed.
    pub(super) fn header(
        &self,
        index: usize,
        stored: &StoredContent<'_>,
    ) -> Result<Option<ZisofsHeader>> {
        let Some(state) = self.states.get(index) else {
            return Ok(None);
        };
        let known = state.load(Ordering::Relaxed);
        if known == Self::PLAIN || stored.len() < ZisofsVersion::V1.header_len() as u64 {
            return Ok(None);
        }
        let mut found = header(stored)?;
        if known == Self::UNKNOWN
            && let Some(header) = found
            && !self.is_consistent(stored, header)?
        {
            found = None;
        }
        let now = if found.is_some() {
            Self::COMPRESSED
        } else {
            Self::PLAIN
        };
        state.store(now, Ordering::Relaxed);
        Ok(found)
    }

    /// Returns whether all pointers are as a writer of such files makes them.
    fn is_consistent(&self, stored: &StoredContent<'_>, header: ZisofsHeader) -> Result<bool> {
        let width = header.version.pointer_len();
        let len = (header.blocks().saturating_add(1)).saturating_mul(width);
        let end = header.pointers().saturating_add(len);
        let first = stored.sections().first().copied();
        let Some(first) = first.filter(|s| s.interleaving.0 == 0 && u64::from(s.len) >= end) else {
            return Ok(false);
        };
        let key = (first.block, stored.len());
        let known = || self.pointers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known().get(&key) {
            return Ok(*known);
        }
        let found = is_consistent(stored, header, end)?;
        known().insert(key, found);
        Ok(found)
    }
}

fn header(stored: &StoredContent<'_>) -> Result<Option<ZisofsHeader>> {
    let mut bytes = [0; 24];
    let len = usize::try_from(stored.len()).map_or(24, |len| len.min(24));
    let bytes = bytes.get_mut(..len).unwrap_or_default();
    stored.read(0, bytes)?;
    Ok(ZisofsHeader::decode(bytes))
}

/// Returns whether all pointers, which end at `pointers_end`, are as a writer makes them.
fn is_consistent(
    stored: &StoredContent<'_>,
    header: ZisofsHeader,
    pointers_end: u64,
) -> Result<bool> {
    let count = header.blocks();
    if count == 0 {
        return Ok(false);
    }
    match pointers_agree(stored, header, pointers_end) {
        Err(error) if error.kind() == Kind::Corrupt => Ok(false),
        found => found,
    }
}

fn pointers_agree(
    stored: &StoredContent<'_>,
    header: ZisofsHeader,
    pointers_end: u64,
) -> Result<bool> {
    let (count, len) = (header.blocks(), stored.len());
    let file = ZisofsFile::new(stored.clone(), header)?;
    // first, since it distinguishes files that have the same pointers and other lengths
    let last = file.locate(count - 1..count)?;
    if last.first().map(|block| block.offset + block.len) != Some(len) {
        return Ok(false);
    }
    let (mut expected, mut first) = (pointers_end, 0);
    while first < count {
        let end = count.min(first + TOGETHER);
        for block in file.locate(first..end)? {
            if block.offset != expected {
                return Ok(false);
            }
            expected += block.len;
        }
        first = end;
    }
    Ok(expected == len)
}
