//! Compressed files that no entry announces: those of mkzftree in an image made without zisofs.
//!
//! In: the stored content of a file. Out: the header of zisofs, if the file is compressed.
//!
//! **Invariant:** a file is taken for a compressed one if all of this holds: the image has Rock
//! Ridge and no entry of zisofs; the header is right; the pointers ascend, begin after themselves
//! and end at the end of the file. The answer is the same each time, and asked of the image once.

use std::sync::atomic::{AtomicU8, Ordering};

use sinterfs_model::Result;

use super::sections::StoredContent;
use super::zisofs::ZisofsFile;
use crate::layout::{ZisofsHeader, ZisofsVersion};

/// Pointers that are looked at together.
const TOGETHER: u64 = 4096;

/// What is known of each file.
#[derive(Debug)]
pub(super) struct MagicMemory {
    states: Vec<AtomicU8>,
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
            && !is_consistent(stored, header)?
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
}

fn header(stored: &StoredContent<'_>) -> Result<Option<ZisofsHeader>> {
    let mut bytes = [0; 24];
    let len = usize::try_from(stored.len()).map_or(24, |len| len.min(24));
    let bytes = bytes.get_mut(..len).unwrap_or_default();
    stored.read(0, bytes)?;
    Ok(ZisofsHeader::decode(bytes))
}

/// Returns whether all pointers are as a writer of such files makes them.
fn is_consistent(stored: &StoredContent<'_>, header: ZisofsHeader) -> Result<bool> {
    let len = stored.len();
    let Ok(file) = ZisofsFile::new(stored.clone(), header) else {
        return Ok(false);
    };
    let count = header.blocks();
    if count == 0 {
        return Ok(false);
    }
    let mut expected = header.pointers() + (count + 1) * header.version.pointer_len();
    let mut first = 0;
    while first < count {
        let end = count.min(first + TOGETHER);
        let Ok(blocks) = file.locate(first..end) else {
            return Ok(false);
        };
        for block in blocks {
            if block.offset != expected {
                return Ok(false);
            }
            expected += block.len;
        }
        first = end;
    }
    Ok(expected == len)
}
