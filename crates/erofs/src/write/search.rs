//! Searches how much of a unit goes into the next pcluster: as much as fills whole blocks when
//! encoded.
//!
//! In: the rest of a unit. Out: the next step of cutting it, with the encoded bytes. **Invariant:**
//! every pcluster but the last has content of a block at least, so that no two begin in one logical
//! cluster; the result depends only on the content and the options.

use sinterfs_codec::Filling;
use sinterfs_model::Result;

use super::compression::Compression;
use super::limits::{BLOCK, is_short_tail};

/// The most trials for one pcluster, where the codec cannot fill a given room by itself.
const TRIALS: usize = 3;

/// The approximate bytes of indexes that an inline tail does not need.
const INDEXES: usize = 24;

/// A last pcluster that leaves less than this of its last block unused is not encoded again.
const ENOUGH: usize = 512;

/// A pcluster is full if less than one part in this many is unused.
const FULL: usize = 128;

/// The last pcluster of a file is full if less than one part in this many is unused.
const FILLED: usize = 32;

/// The options for the tail of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct TailRule {
    /// Whether a rest that does not fill a block goes after the inode.
    pub(super) inline: bool,
    /// The longest tail in bytes that shares pclusters of the packed inode; 0 for none.
    pub(super) shared: usize,
}

/// The next step of cutting a unit.
#[derive(Debug)]
pub(super) enum Step {
    /// The rest is a tail that shares pclusters with others.
    SharedTail,
    /// The rest goes after the inode, encoded to these bytes.
    InlineTail(Vec<u8>),
    /// This many bytes become a pcluster, encoded to these bytes.
    Pcluster(usize, Vec<u8>),
    /// This many bytes are stored uncompressed.
    Plain(usize),
}

/// Searches for the content of one pcluster after the other; each search begins at the ratio of the
/// one before.
#[derive(Debug)]
pub(super) struct ClusterSearch<'a> {
    compression: &'a Compression,
    /// Bytes of content for 256 stored ones in the last pcluster; 0 if there was none.
    ratio: usize,
}

/// An encoding that was tried.
struct Trial {
    raw: usize,
    stored: usize,
}

impl<'a> ClusterSearch<'a> {
    /// Starts without a known ratio.
    pub(super) fn new(compression: &'a Compression) -> Self {
        Self {
            compression,
            ratio: 0,
        }
    }

    /// Chooses what becomes of the next bytes of `rest`, which is not empty, with pclusters of at
    /// most `most` stored bytes.
    pub(super) fn next(&mut self, rest: &[u8], most: usize, rule: TailRule) -> Result<Step> {
        if self.foretells_shared_tail(rest.len(), most, rule) {
            return Ok(Step::SharedTail);
        }
        let (mut taken, mut stream) = self.fill(rest, most)?;
        let is_all = taken == rest.len();
        if is_all && taken <= rule.shared && stream.len() < most - most / FILLED {
            return Ok(Step::SharedTail);
        }
        if is_all && rule.inline {
            (taken, stream) = self.without_tail(rest, stream)?;
            if taken == rest.len() && is_inline_tail(taken, &stream) {
                return Ok(Step::InlineTail(stream));
            }
        }
        Ok(if saves_blocks(taken, &stream) {
            Step::Pcluster(taken, stream)
        } else {
            Step::Plain(plain_len(rest.len(), most, rule))
        })
    }

    /// Returns whether content is probably a shared tail by far, so that encoding it is not tried.
    fn foretells_shared_tail(&self, rest: usize, most: usize, rule: TailRule) -> bool {
        let stored = scaled(rest, 1 << 8, self.ratio.max(1 << 8));
        let is_short = rest <= BLOCK as usize || self.ratio > 0 && stored < most / 8 * 7;
        rest <= rule.shared && is_short
    }

    /// Encodes as much of `rest` as fills at most `room` bytes, and returns how much that is;
    /// nothing if no content fits.
    pub(super) fn fill(&mut self, rest: &[u8], room: usize) -> Result<(usize, Vec<u8>)> {
        let compression = self.compression;
        let (raw, stream) = match compression.filling() {
            Filling::Exact => compression.fill(rest, room)?,
            Filling::Ahead => self.grow(rest, room, |raw| compression.fill(raw, room))?,
            Filling::Unknown => self.try_lengths(rest, room, |raw| compression.encode(raw))?,
        };
        if !stream.is_empty() {
            self.ratio = scaled(raw, 1 << 8, stream.len()).max(1 << 8);
        }
        Ok((raw, stream))
    }

    /// Cuts the last pcluster, if it has several blocks, to what fills all but the last of these,
    /// if the rest is then short enough to be an inline tail.
    fn without_tail(&mut self, rest: &[u8], stream: Vec<u8>) -> Result<(usize, Vec<u8>)> {
        let (block, all) = (BLOCK as usize, stream.len());
        let last = all % block;
        if all < block || last == 0 || last > block - ENOUGH {
            return Ok((rest.len(), stream));
        }
        let (taken, filled) = self.fill(rest, all - last)?;
        let tail = rest.get(taken..).unwrap_or_default();
        let fits = filled.len().next_multiple_of(block) <= all - last;
        if !saves_blocks(taken, &filled) || !fits || tail.is_empty() {
            return Ok((rest.len(), stream));
        }
        let encoded = self.compression.encode(tail)?.unwrap_or_default();
        Ok(if is_inline_tail(tail.len(), &encoded) {
            (taken, filled)
        } else {
            (rest.len(), stream)
        })
    }

    /// Estimates how much content fills the room, from what filled the last pcluster.
    fn guess(&self, room: usize) -> usize {
        let ratio = if self.ratio > 0 { self.ratio } else { 2 << 8 };
        scaled(room, ratio, 1 << 8)
    }

    /// Hands more than enough to an encoder that stops when the room is full, as it looks at all
    /// that it is given.
    fn grow(
        &self,
        rest: &[u8],
        room: usize,
        fill: impl Fn(&[u8]) -> Result<(usize, Vec<u8>)>,
    ) -> Result<(usize, Vec<u8>)> {
        let mut wanted = self.guess(room);
        for trial in 1.. {
            let raw = wanted.saturating_add(wanted / 4).min(rest.len());
            let (taken, stream) = fill(rest.get(..raw).unwrap_or(rest))?;
            let is_full = taken < raw || room - stream.len().min(room) < room / FULL;
            if is_full || raw == rest.len() || trial == TRIALS {
                return Ok((taken, stream));
            }
            wanted = scaled(raw, room, stream.len());
        }
        Ok((0, Vec::new()))
    }

    /// Tries some lengths and returns the longest that fits.
    fn try_lengths(
        &self,
        rest: &[u8],
        room: usize,
        encode: impl Fn(&[u8]) -> Result<Option<Vec<u8>>>,
    ) -> Result<(usize, Vec<u8>)> {
        let mut best = (0, Vec::new());
        let mut trials: Vec<Trial> = Vec::with_capacity(TRIALS);
        let mut raw = self.guess(room).clamp(1, rest.len());
        while trials.len() < TRIALS && trials.iter().all(|trial| trial.raw != raw) {
            let content = rest.get(..raw).unwrap_or(rest);
            let stream = encode(content)?.unwrap_or_else(|| content.to_vec());
            let stored = stream.len();
            trials.push(Trial { raw, stored });
            if stored <= room && raw > best.0 {
                best = (raw, stream);
                if raw == rest.len() || room - stored < room / FULL {
                    break;
                }
            }
            raw = estimate(&trials, room).clamp(1, rest.len());
        }
        Ok(best)
    }
}

/// Returns `len * by / of`: the same on machines of 32 bits, where the product of two lengths is
/// more than a length holds.
fn scaled(len: usize, by: usize, of: usize) -> usize {
    let scaled = (len as u64).saturating_mul(by as u64) / (of as u64).max(1);
    usize::try_from(scaled).unwrap_or(usize::MAX)
}

/// Estimates how much content fills the room, from what was tried before.
fn estimate(trials: &[Trial], room: usize) -> usize {
    let Some(last) = trials.last() else { return 1 };
    // the ratio of the difference between the last two trials, otherwise the ratio of the last one
    let (raw, stored) = match trials {
        [.., a, b] if a.stored != b.stored => (a.raw.abs_diff(b.raw), a.stored.abs_diff(b.stored)),
        _ => (last.raw, last.stored.max(1)),
    };
    // the last trial has to fit, and an estimate that was too large may be so again
    let is_last = trials.len() + 1 == TRIALS;
    let margin = if is_last && last.stored > room {
        room / 64
    } else {
        room / (2 * FULL)
    };
    let target = room - margin;
    let change = |stored_by: usize| scaled(stored_by, raw, stored);
    if last.stored > target {
        last.raw.saturating_sub(change(last.stored - target))
    } else {
        last.raw.saturating_add(change(target - last.stored))
    }
}

/// Returns whether encoded content takes fewer blocks than it has.
pub(super) fn saves_blocks(raw: usize, stream: &[u8]) -> bool {
    !stream.is_empty() && raw > stream.len().next_multiple_of(BLOCK as usize)
}

/// Returns whether encoded content is better after the inode than in a block or uncompressed.
fn is_inline_tail(raw: usize, stream: &[u8]) -> bool {
    is_short_tail(stream.len()) && stream.len() + INDEXES < raw
}

/// Returns how much of `rest` bytes that do not compress is stored uncompressed now; a part of a
/// block at the end is left where it may share pclusters.
fn plain_len(rest: usize, most: usize, rule: TailRule) -> usize {
    let len = rest.min(most);
    let whole = len - len % BLOCK as usize;
    if len == rest && rule.shared > 0 && whole > 0 {
        whole
    } else {
        len
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn products_of_lengths_are_not_cut() {
        assert_eq!(scaled(1 << 24, 1 << 20, 1 << 14), 1 << 30);
        assert_eq!(scaled(7, 3, 0), 21);
        assert_eq!(scaled(usize::MAX, 2, 1), usize::MAX);
    }

    #[test]
    fn a_pcluster_is_not_tried_often() {
        let raw = sinterfs_testkit::noise(3, 600_000);
        let raw: Vec<u8> = raw.iter().map(|byte| byte & 15).collect();
        let compression = Compression::default();
        let count = Cell::new(0);
        let encode = |raw: &[u8]| {
            count.set(count.get() + 1);
            compression.encode(raw)
        };
        let mut rest = &raw[..];
        while !rest.is_empty() {
            count.set(0);
            let search = ClusterSearch::new(&compression);
            let (taken, stream) = search.try_lengths(rest, 8192, encode).unwrap();
            assert!(count.get() <= TRIALS && stream.len() <= 8192);
            rest = &rest[taken.max(1)..];
        }
    }
}
