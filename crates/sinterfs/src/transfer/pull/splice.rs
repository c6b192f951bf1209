//! A remote image of which parts are in an older file.
//!
//! In: the remote image, the older one, and which parts of the first the second has. Out: the bytes
//! of the first. **Invariant:** a part that the older file has is never asked of the server.

use std::ops::Range;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_format::OlderPart;
use sinterfs_model::{Error, Result};
use sinterfs_remote::Remote;

/// A remote image with parts from an older one.
pub(crate) struct Splice {
    remote: Arc<Remote>,
    older: Arc<dyn ReadAt>,
    /// Ascending, and apart from each other.
    parts: Vec<OlderPart>,
}

/// Where bytes are.
enum PieceOrigin<'a> {
    Remote,
    Older(&'a OlderPart),
}

impl Splice {
    /// Joins both; the parts are in the order of the image.
    pub(crate) fn new(
        remote: Arc<Remote>,
        older: Arc<dyn ReadAt>,
        parts: Vec<OlderPart>,
    ) -> Result<Self> {
        let is_sound = |part: &OlderPart| {
            let len = part.range.end.checked_sub(part.range.start);
            len.is_some_and(|len| len >= part.head.len() as u64) && part.range.end <= remote.len()
        };
        let are_apart = parts
            .iter()
            .zip(parts.iter().skip(1))
            .all(|(one, next)| one.range.end <= next.range.start);
        if !are_apart || !parts.iter().all(is_sound) {
            return Err(Error::corrupt("the parts of the image overlap"));
        }
        Ok(Self {
            remote,
            older,
            parts,
        })
    }

    /// Returns the number of bytes that the older image has.
    pub(crate) fn older_bytes(&self) -> u64 {
        let lens = self
            .parts
            .iter()
            .map(|part| part.range.end - part.range.start);
        lens.sum()
    }

    /// Cuts a range where the origin of its bytes changes.
    fn pieces(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, PieceOrigin<'_>)> {
        let mut at = range.start;
        let mut next = self.parts.partition_point(|part| part.range.end <= at);
        std::iter::from_fn(move || {
            if at >= range.end {
                return None;
            }
            let begin = at;
            let part = self
                .parts
                .get(next)
                .filter(|part| part.range.start < range.end);
            let origin = match part {
                Some(part) if part.range.start <= at => {
                    next += 1;
                    at = part.range.end.min(range.end);
                    PieceOrigin::Older(part)
                }
                part => {
                    at = part.map_or(range.end, |part| part.range.start);
                    PieceOrigin::Remote
                }
            };
            Some((begin..at, origin))
        })
    }
}

/// Reads bytes of a part from `start` on, which is an offset in the new image.
fn read_part(part: &OlderPart, older: &dyn ReadAt, start: u64, buf: &mut [u8]) -> Result<()> {
    let skip = start - part.range.start;
    let head = usize::try_from(skip).ok();
    let head = head
        .and_then(|skip| part.head.get(skip..))
        .unwrap_or_default();
    let (first, rest) = buf.split_at_mut(head.len().min(buf.len()));
    first.copy_from_slice(&head[..first.len()]);
    if rest.is_empty() {
        return Ok(());
    }
    let behind = skip + first.len() as u64 - part.head.len() as u64;
    older.read_at(part.at.saturating_add(behind), rest)
}

impl ReadAt for Splice {
    fn len(&self) -> u64 {
        self.remote.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let end = offset.saturating_add(buf.len() as u64);
        if end > self.len() {
            return self.remote.read_at(offset, buf);
        }
        let mut rest = buf;
        for (piece, origin) in self.pieces(offset..end) {
            let len = usize::try_from(piece.end - piece.start).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at_mut(len.min(rest.len()));
            match origin {
                PieceOrigin::Remote => self.remote.read_at(piece.start, now)?,
                PieceOrigin::Older(part) => read_part(part, &*self.older, piece.start, now)?,
            }
            rest = later;
        }
        Ok(())
    }

    fn will_need(&self, ranges: &[Range<u64>]) {
        let pieces = ranges.iter().flat_map(|range| self.pieces(range.clone()));
        let missing = pieces.filter(|(_, origin)| matches!(origin, PieceOrigin::Remote));
        let missing: Vec<_> = missing.map(|(piece, _)| piece).collect();
        self.remote.will_need(&missing);
    }

    fn is_here(&self, range: &Range<u64>) -> bool {
        let mut pieces = self.pieces(range.clone());
        pieces.all(|(piece, origin)| match origin {
            PieceOrigin::Remote => self.remote.is_here(&piece),
            PieceOrigin::Older(_) => true,
        })
    }

    fn forget(&self, range: &Range<u64>) -> bool {
        // what the older image has was compared when it was chosen
        self.remote.forget(range)
    }
}
