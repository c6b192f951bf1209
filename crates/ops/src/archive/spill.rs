//! A spill file of decoded bytes that are needed long after their block was released.
//!
//! Enters far uses of blocks; leaves, for each block, the pieces to be kept of it, and, by
//! position, where in the file the bytes are. **Invariants:** no byte of a block is kept twice, and
//! the pieces of a block follow each other in the file. Memory is 32 bytes a far use and 40 a
//! piece, and twice that at first.

use std::fs::File;

use sinterfs_model::{Error, Image, Ino, Result};
use sinterfs_platform::FileAt;

/// Bytes per write to the file.
const CHUNK: usize = 1 << 20;

/// A use of a block that is not to be kept so long.
#[derive(Debug, Clone, Copy)]
pub(super) struct LateUse {
    /// The block's index in the schedule.
    pub(super) block: usize,
    /// The offset in the block.
    pub(super) offset: u64,
    /// The file that has the bytes, and where.
    pub(super) ino: Ino,
    pub(super) at: u64,
    pub(super) len: u64,
    pub(super) position: u64,
}

/// All that is kept for later.
#[derive(Debug, Default)]
pub(super) struct Spill {
    /// By position.
    uses: Vec<SpilledRange>,
    /// By block.
    pieces: Vec<Piece>,
    /// The final length of the file.
    bytes: u64,
    file: Option<File>,
}

/// The place of the bytes for a position.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpilledRange {
    pub(super) position: u64,
    pub(super) len: u64,
    /// The offset in the file.
    pub(super) place: u64,
    /// The block's index in the schedule.
    pub(super) block: usize,
}

/// A part of a block that is kept.
#[derive(Debug, Clone, Copy)]
struct Piece {
    block: usize,
    ino: Ino,
    at: u64,
    len: u64,
    place: u64,
}

impl Spill {
    /// Returns each byte that is needed a place in the file.
    pub(super) fn new(mut far: Vec<LateUse>) -> Self {
        far.sort_unstable_by_key(|far| (far.block, far.offset, far.position));
        let mut spill = Self::default();
        // the stretch of a block that uses cover without a gap: where it starts and ends, and its
        // place
        let mut open: Option<(usize, u64, u64, u64)> = None;
        for far in &far {
            let end = far.offset.saturating_add(far.len);
            let (block, start, covered, place) = match open {
                Some(open) if open.0 == far.block && far.offset <= open.2 => open,
                _ => (far.block, far.offset, far.offset, spill.bytes),
            };
            spill.uses.push(SpilledRange {
                position: far.position,
                len: far.len,
                place: place.saturating_add(far.offset - start),
                block,
            });
            if end > covered {
                spill.pieces.push(Piece {
                    block,
                    ino: far.ino,
                    at: far.at.saturating_add(covered - far.offset),
                    len: end - covered,
                    place: spill.bytes,
                });
                spill.bytes = spill.bytes.saturating_add(end - covered);
            }
            open = Some((block, start, covered.max(end), place));
        }
        spill.uses.sort_unstable_by_key(|kept| kept.position);
        spill
    }

    /// Returns how long the file becomes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes the file; without one nothing is kept.
    pub(super) fn keep_in(&mut self, file: File) {
        self.file = Some(file);
    }

    /// Returns whether anything is kept of a block.
    pub(super) fn has(&self, block: usize) -> bool {
        !self.pieces_of(block).is_empty()
    }

    /// Writes the needed ranges of a block to the file; returns whether all were written.
    pub(super) fn keep(&self, image: &dyn Image, block: usize) -> bool {
        let Some(file) = &self.file else {
            return false;
        };
        // what cannot be kept is decoded again when needed, and damage is reported then
        self.write(image, file, self.pieces_of(block)).is_some()
    }

    fn write(&self, image: &dyn Image, file: &File, pieces: &[Piece]) -> Option<()> {
        let mut buf = Vec::new();
        let mut place = pieces.first()?.place;
        for piece in pieces {
            let mut done = 0;
            while done < piece.len {
                let (used, room) = (buf.len(), CHUNK - buf.len());
                let len = usize::try_from(piece.len - done).map_or(room, |len| len.min(room));
                buf.resize(used + len, 0);
                let part = buf.get_mut(used..)?;
                let count = image.read_at(piece.ino, piece.at + done, part).ok()?;
                if count < len {
                    return None;
                }
                done += len as u64;
                if buf.len() == CHUNK {
                    file.write_all_at(&buf, place).ok()?;
                    place += CHUNK as u64;
                    buf.clear();
                }
            }
        }
        file.write_all_at(&buf, place).ok()
    }

    /// Finds the first use from an index on that ends after a position.
    pub(super) fn next(&self, index: &mut usize, position: u64) -> Option<SpilledRange> {
        loop {
            let kept = self.uses.get(*index)?;
            if kept.position.saturating_add(kept.len) > position {
                return Some(*kept);
            }
            *index += 1;
        }
    }

    /// Fills the buffer from a place in the file.
    pub(super) fn read(&self, place: u64, buf: &mut [u8]) -> Result<()> {
        let file = self.file.as_ref();
        let file = file.ok_or_else(|| Error::invalid("nothing was kept"))?;
        let read = file.read_exact_at(buf, place);
        read.map_err(|error| Error::io("cannot read decoded bytes from their scratch file", error))
    }

    fn pieces_of(&self, block: usize) -> &[Piece] {
        let start = self.pieces.partition_point(|piece| piece.block < block);
        let pieces = self.pieces.get(start..).unwrap_or_default();
        let end = pieces.partition_point(|piece| piece.block == block);
        pieces.get(..end).unwrap_or_default()
    }
}
