//! Cuts a unit into clusters: each has as much content as fills whole blocks when it is encoded.
//!
//! In: a unit. Out: its clusters, one after the other. **Invariant:** every cluster but the last has content
//! of a block at least, so that no two begin in one block of the file; the result depends on the unit and
//! the options alone.

use sinterfs_model::{Piece, Result};

use super::compression::{Compression, Filling};
use super::{BLOCK, END_MAX};

/// How often a cluster is encoded at most, where the codec cannot be told how much room there is.
const TRIALS: usize = 3;

/// About what indexes take that content behind the inode does not need.
const INDEXES: usize = 24;

/// A last cluster that leaves less than this of its last block is not encoded again.
const ENOUGH: usize = 512;

/// A cluster of which less than one part in so many is not filled is full.
const FULL: usize = 128;

/// The last cluster of a file is full if less than one part in so many is not filled.
const FILLED: usize = 32;

/// A unit that was cut.
#[derive(Debug, Default)]
pub(super) struct Cut {
    pub(super) bytes: Vec<u8>,
    pub(super) pieces: Vec<Piece>,
    /// The last bytes of content that are in none of them.
    pub(super) left: usize,
}

/// What may become of the last cluster of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Leaves {
    /// What fills no block goes behind the inode.
    pub(super) inline: bool,
    /// If its content has at most so many bytes, it is left.
    pub(super) rest: usize,
}

/// Cuts a unit into clusters of at most so many bytes. What goes behind the inode is a last piece that is no
/// multiple of a block.
pub(super) fn cut(
    compression: &Compression,
    raw: &[u8],
    most: usize,
    leaves: Leaves,
) -> Result<Cut> {
    let (mut cut, mut rest) = (Cut::default(), raw);
    let mut search = Search::default();
    while !rest.is_empty() {
        if search.leaves(rest.len(), most, leaves) {
            cut.left = rest.len();
            break;
        }
        let (mut taken, mut stream) = search.next(compression, rest, most)?;
        if is_left(rest.len(), (taken, &stream), most, leaves) {
            cut.left = rest.len();
            break;
        }
        if leaves.inline && taken == rest.len() {
            (taken, stream) = search.without_end(compression, rest, stream)?;
            if taken == rest.len() && is_end(taken, &stream) {
                cut.bytes.extend_from_slice(&stream);
                cut.pieces.push(piece(taken, stream.len()));
                break;
            }
        }
        let stored = stream.len().next_multiple_of(BLOCK as usize);
        let taken = if taken > stored && stored > 0 {
            // readers skip the zeros in front
            cut.bytes.resize(cut.bytes.len() + stored - stream.len(), 0);
            cut.bytes.extend_from_slice(&stream);
            cut.pieces.push(piece(taken, stored));
            taken
        } else {
            let plain = plain(rest, most, leaves);
            cut.store(plain);
            plain.len()
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    Ok(cut)
}

impl Cut {
    /// Adds content as it is, each block a cluster.
    fn store(&mut self, raw: &[u8]) {
        for block in raw.chunks(BLOCK as usize) {
            self.bytes.extend_from_slice(block);
            let filled = self.bytes.len().next_multiple_of(BLOCK as usize);
            self.bytes.resize(filled, 0);
            self.pieces.push(piece(block.len(), BLOCK as usize));
        }
    }
}

/// Returns whether a stream is better behind the inode than in a block, or its content is.
pub(super) fn is_end(raw: usize, stream: &[u8]) -> bool {
    let len = stream.len() as u64;
    (1..=END_MAX).contains(&len) && stream.len() + INDEXES < raw
}

/// Returns how much of what gains nothing is stored as it is: what is in no whole block may be left.
pub(super) fn plain(rest: &[u8], most: usize, leaves: Leaves) -> &[u8] {
    let len = rest.len().min(most);
    let whole = len - len % BLOCK as usize;
    let is_left = len == rest.len() && leaves.rest > 0 && whole > 0;
    let len = if is_left { whole } else { len };
    rest.get(..len).unwrap_or(rest)
}

/// Returns whether what is left of a file is less than a cluster, and more of it is behind others of the kind.
pub(super) fn is_left(
    rest: usize,
    (taken, stream): (usize, &[u8]),
    most: usize,
    leaves: Leaves,
) -> bool {
    taken == rest && rest <= leaves.rest && stream.len() < most - most / FILLED
}

pub(super) fn piece(raw: usize, stored: usize) -> Piece {
    Piece {
        raw_len: raw as u32,
        stored_len: stored as u32,
    }
}

/// The search for how much content fills a cluster, which begins where the last one ended.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// Bytes of content for 256 stored ones of the last cluster; 0 if there is none.
    ratio: usize,
}

/// An encoding that was tried.
struct Trial {
    raw: usize,
    stored: usize,
}

impl Search {
    /// Returns whether so much content is the last of a file and probably less than a cluster, by far, so that it is not
    /// tried.
    pub(super) fn leaves(&self, rest: usize, most: usize, leaves: Leaves) -> bool {
        let probably = (rest << 8) / self.ratio.max(1 << 8);
        rest <= leaves.rest && (rest <= BLOCK as usize || self.ratio > 0 && probably < most / 8 * 7)
    }

    /// Finds how much of `rest` fills at most `room` bytes, and encodes it; nothing if nothing does.
    pub(super) fn next(
        &mut self,
        compression: &Compression,
        rest: &[u8],
        room: usize,
    ) -> Result<(usize, Vec<u8>)> {
        let (raw, stream) = match compression.filling() {
            Filling::Exact => compression.fill(rest, room)?,
            Filling::Ahead => self.grow(rest, room, |raw| compression.fill(raw, room))?,
            Filling::Unknown => self.try_lengths(rest, room, |raw| compression.encode(raw))?,
        };
        if !stream.is_empty() {
            self.ratio = ((raw << 8) / stream.len()).max(1 << 8);
        }
        Ok((raw, stream))
    }

    /// Takes of the last cluster, if it has several blocks, as much as fills all but the last of these, if
    /// what is left is then short enough to be behind the inode.
    pub(super) fn without_end(
        &mut self,
        compression: &Compression,
        rest: &[u8],
        stream: Vec<u8>,
    ) -> Result<(usize, Vec<u8>)> {
        let (block, all) = (BLOCK as usize, stream.len());
        let last = all % block;
        if all < block || last == 0 || last > block - ENOUGH {
            return Ok((rest.len(), stream));
        }
        let (taken, filled) = self.next(compression, rest, all - last)?;
        let end = rest.get(taken..).unwrap_or_default();
        let fills = taken > filled.len().next_multiple_of(block) && !filled.is_empty();
        if !fills || filled.len().next_multiple_of(block) > all - last || end.is_empty() {
            return Ok((rest.len(), stream));
        }
        let left = compression.encode(end)?.unwrap_or_default();
        Ok(match is_end(end.len(), &left) {
            true => (taken, filled),
            false => (rest.len(), stream),
        })
    }

    /// Foretells how much fills the room, from what filled the last cluster.
    fn guess(&self, room: usize) -> usize {
        let ratio = if self.ratio > 0 { self.ratio } else { 2 << 8 };
        room.saturating_mul(ratio) >> 8
    }

    /// Returns an encoder that stops by itself more than enough, since it looks at all that it gets.
    fn grow(
        &self,
        rest: &[u8],
        room: usize,
        fill: impl Fn(&[u8]) -> Result<(usize, Vec<u8>)>,
    ) -> Result<(usize, Vec<u8>)> {
        let mut wanted = self.guess(room);
        for trial in 1.. {
            let raw = (wanted + wanted / 4).min(rest.len());
            let (taken, stream) = fill(rest.get(..raw).unwrap_or(rest))?;
            let is_full = taken < raw || room - stream.len().min(room) < room / FULL;
            if is_full || raw == rest.len() || trial == TRIALS {
                return Ok((taken, stream));
            }
            wanted = raw * room / stream.len().max(1);
        }
        Ok((0, Vec::new()))
    }

    /// Tries some lengths and takes the longest that fits.
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
            raw = foretell(&trials, room).clamp(1, rest.len());
        }
        Ok(best)
    }
}

/// Foretells how much content fills the room, from what was tried before.
fn foretell(trials: &[Trial], room: usize) -> usize {
    let Some(last) = trials.last() else { return 1 };
    // what content weighs where trials differ, else what it weighed
    let (raw, stored) = match trials {
        [.., a, b] if a.stored != b.stored => (a.raw.abs_diff(b.raw), a.stored.abs_diff(b.stored)),
        _ => (last.raw, last.stored.max(1)),
    };
    // what was too much may be so again, and the last trial has to fit
    let is_last = trials.len() + 1 == TRIALS;
    let spare = match is_last && last.stored > room {
        true => room / 64,
        false => room / (2 * FULL),
    };
    let target = room - spare;
    let change = |stored_by: usize| stored_by.saturating_mul(raw) / stored;
    match last.stored > target {
        true => last.raw.saturating_sub(change(last.stored - target)),
        false => last.raw + change(target - last.stored),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Content of which each part weighs something else.
    fn content(len: usize) -> Vec<u8> {
        let mut state = 5_u32;
        let mut byte = |spread: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16).wrapping_rem(spread) as u8
        };
        (0..len)
            .map(|at| byte(2 + (at / 50_000 * 31 % 254) as u32))
            .collect()
    }

    #[test]
    fn clusters_follow_each_other_and_are_full() {
        let raw = content(1 << 20);
        for text in [
            "lz4",
            "lz4:level=-2",
            "lz4hc:level=9",
            "lzma:level=1",
            "deflate",
            "zstd:level=3",
        ] {
            let compression: Compression = text.parse().unwrap();
            let most = 16 * BLOCK as usize;
            let cut = cut(&compression, &raw, most, Leaves::default()).unwrap();
            let sum = |part: fn(&Piece) -> u32| cut.pieces.iter().map(part).sum::<u32>() as usize;
            assert_eq!(sum(|piece| piece.raw_len), raw.len(), "{text}");
            assert_eq!(sum(|piece| piece.stored_len), cut.bytes.len());
            let (_, inner) = cut.pieces.split_last().unwrap();
            for piece in inner {
                assert!(u64::from(piece.raw_len) >= BLOCK, "{text}: {piece:?}");
                assert!(piece.stored_len as usize <= most && piece.stored_len % 4096 == 0);
            }
            let whole = compression.encode(&raw).unwrap().unwrap().len();
            assert!(
                cut.bytes.len() < whole + whole / 8,
                "{text}: {} {whole}",
                cut.bytes.len()
            );
        }
    }

    #[test]
    fn the_end_of_a_file_is_left_if_it_is_no_cluster() {
        let raw = content(1 << 20);
        let leaves = Leaves {
            inline: false,
            rest: 1 << 17,
        };
        for text in ["lz4", "lz4hc:level=9", "lzma:level=1", "zstd:level=3"] {
            let compression: Compression = text.parse().unwrap();
            for len in [5000, 100_000, 999_999, 1 << 20] {
                let cut = cut(&compression, &raw[..len], 8192, leaves).unwrap();
                let in_pieces: u32 = cut.pieces.iter().map(|piece| piece.raw_len).sum();
                assert_eq!(in_pieces as usize + cut.left, len);
                assert!(cut.left <= 1 << 17 && cut.bytes.len().is_multiple_of(4096));
                if let [.., last] = cut.pieces[..] {
                    // what is left would not have filled it
                    assert!(last.stored_len == 8192 || cut.left == 0 || last.raw_len == 4096);
                }
            }
        }
        let noise = sinterfs_testkit::noise(1, 50_001);
        let cut = cut(&"lz4".parse().unwrap(), &noise, 8192, leaves).unwrap();
        assert_eq!((cut.pieces.len(), cut.left), (12, 50_001 - 12 * 4096));
        assert_eq!(cut.bytes[..], noise[..12 * 4096]);
    }

    #[test]
    fn a_cluster_is_not_tried_often() {
        let raw = content(600_000);
        let count = Cell::new(0);
        let encode = |raw: &[u8]| {
            count.set(count.get() + 1);
            Compression::default().encode(raw)
        };
        let mut rest = &raw[..];
        while !rest.is_empty() {
            count.set(0);
            let (taken, stream) = Search::default().try_lengths(rest, 8192, encode).unwrap();
            assert!(count.get() <= TRIALS && stream.len() <= 8192);
            rest = &rest[taken.max(1)..];
        }
    }

    #[test]
    fn what_cannot_be_encoded_is_stored() {
        let mut state = 1_u64;
        let mut noise = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        };
        let raw: Vec<u8> = (0..50_001).map(|_| noise()).collect();
        for text in ["lz4", "lzma", "zstd"] {
            let cut = cut(&text.parse().unwrap(), &raw, 8192, Leaves::default()).unwrap();
            assert_eq!(cut.pieces.len(), 13);
            assert_eq!(cut.bytes[..50_001], raw);
        }
    }
}
