//! What was put: where each unit is, the clusters it was cut into, and ends that wait for their inodes.
//!
//! In: blocks in sequence. Out: what becomes of a unit by its number. **Invariant:** a unit is taken whole and
//! once; memory is 16 bytes for each, 8 for each cluster, 16 for each of units that share some, and `ENDS_MAX`.

use std::collections::BTreeMap;
use std::sync::Arc;

use sinterfs_model::{Block, Error, Piece, Result, Tails};

use super::encoded::{Cluster, Encoded, Parts, clusters};
use super::options::{Form, WriteOptions};
use super::packed_tails::{Group, Rest, Rests};
use super::{BLOCK, END_MAX};
use crate::read::Algorithm;

/// The most bytes of ends of files that wait for their inodes in memory.
pub(super) const ENDS_MAX: usize = 256 << 20;

/// A unit in the image.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    /// Where it begins.
    pub(super) start: u64,
    /// Stored bytes, without an end that was kept back.
    pub(super) stored: u32,
    /// Bytes of content.
    pub(super) raw: u32,
}

/// Where a cluster is that others have, too, or that is behind one of those.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moved {
    /// Where it would be in what is stored of its unit.
    pub(super) at: u32,
    /// Where it is in the image.
    pub(super) start: u64,
}

const _: () = assert!(size_of::<Placed>() == 16);

/// What is to be written of a unit that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Taken {
    /// The first bytes of it.
    pub(super) now: usize,
    /// If above 0: so many zeros behind them, and then the rest.
    pub(super) gap: u64,
}

/// All units, and how files are made of them.
#[derive(Debug)]
pub(super) struct Units {
    pub(super) placed: Vec<Placed>,
    pub(super) form: Form,
    /// Whether content is on a device of its own.
    pub(super) apart: bool,
    /// What is in fragments.
    pub(super) tails: Tails,
    /// Bytes of a whole unit.
    pub(super) unit: u32,
    pub(super) algorithm: Option<Algorithm>,
    /// Whether clusters may have several blocks.
    pub(super) big: bool,
    /// What units became, where they refer to each other.
    pub(super) parts: Option<Arc<Parts>>,
    /// The units that have not all their clusters in a row, and where these are.
    pub(super) moved: BTreeMap<u32, Vec<Moved>>,
    /// What is left of files, where that is shared.
    pub(super) rests: Option<Arc<Rests>>,
    /// Where groups of that begin in the image, and their clusters in `group_pieces`.
    groups: Vec<(u64, usize)>,
    group_pieces: Vec<Piece>,
    /// Where the first group begins in the packed inode.
    pub(super) rests_from: u64,
    /// Whether the packed inode has all content.
    pub(super) all_packed: bool,
    /// The clusters of all units that were cut.
    pieces: Vec<Piece>,
    /// The units that were cut, and where their clusters begin in `pieces`.
    piece_starts: Vec<(u32, u32)>,
    /// Ends of content that will be behind inodes, one after the other.
    pub(super) ends: Vec<u8>,
    /// The units that have such ends, and where they begin in `ends`.
    end_starts: Vec<(u32, u64)>,
    /// Whether some of these are clusters.
    pub(super) has_inline: bool,
    /// Where ends were written after all that have no place behind an inode.
    pub(super) late: BTreeMap<u32, u64>,
    /// What stands at the end of the packed inode besides fragments; always in the image itself.
    pub(super) behind_packed: Option<Placed>,
    /// The units that are fragments, and where they are in the packed inode.
    pub(super) packed: Vec<(u32, u64)>,
}

impl Units {
    /// Starts with none.
    pub(super) fn new(options: &WriteOptions) -> Self {
        Self {
            placed: Vec::new(),
            form: options.form(),
            apart: options.device.is_some(),
            tails: options.tails(),
            unit: options.unit(),
            algorithm: options.compression.algorithm(),
            big: u64::from(options.block_size) > BLOCK,
            parts: options.extended.dedupe.then(Arc::default),
            moved: BTreeMap::new(),
            rests: options.shares_rests().then(|| {
                let compression = options.compression.clone();
                Arc::new(Rests::new(compression, options.block_size))
            }),
            groups: Vec::new(),
            group_pieces: Vec::new(),
            rests_from: 0,
            all_packed: options.packs_all(),
            pieces: Vec::new(),
            piece_starts: Vec::new(),
            ends: Vec::new(),
            end_starts: Vec::new(),
            has_inline: false,
            late: BTreeMap::new(),
            behind_packed: None,
            packed: Vec::new(),
        }
    }

    /// Takes the next unit and tells how many of its bytes are to be written now: not those of an end that
    /// will be behind an inode, as that of a content in a row of blocks may.
    pub(super) fn take(&mut self, block: &Block, keeps_end: bool) -> Result<Taken> {
        let (number, expected) = (block.sequence, self.placed.len());
        if number as usize != expected {
            return Err(Error::invalid(format!(
                "block {number} was put where {expected} is next"
            )));
        }
        let stored = block.bytes.len();
        let parts = match &self.parts {
            Some(parts) => Some(parts.get(number).ok_or_else(super::body::wrong)?),
            None => None,
        };
        let left = self.rest(number).map_or(0, |rest| rest.len);
        let is_whole = match &parts {
            Some(encoded) => encoded.is_flat || has_all(block, encoded, left),
            None => is_whole(block, left),
        };
        if block.raw_len > self.unit || !is_whole {
            return Err(Error::invalid(format!(
                "block {number}: {stored} bytes for {}, in an image with units of {}",
                block.raw_len, self.unit
            )));
        }
        let all = Taken {
            now: stored,
            gap: 0,
        };
        if let Some(encoded) = parts {
            let inline = encoded.inline.as_ref().and_then(inline_len);
            if encoded.is_flat {
                let keeps_end = keeps_end && inline.is_some();
                let kept = if keeps_end {
                    self.keep_end(number, &block.bytes)
                } else {
                    0
                };
                return Ok(Taken {
                    now: stored - kept,
                    gap: 0,
                });
            }
            let taken = inline.and_then(|len| self.take_inline(block, len, keeps_end));
            return Ok(taken.unwrap_or(all));
        }
        if !block.pieces.is_empty() {
            let start = u32::try_from(self.pieces.len());
            let start = start.map_err(|_| Error::limit("an image of 16 TiB or more"))?;
            self.piece_starts.push((number, start));
            self.pieces.extend_from_slice(&block.pieces);
            return Ok(self.take_cluster(block, keeps_end).unwrap_or(all));
        }
        let now = match self.tails {
            // what is in clusters and not cut is as it is
            _ if self.rests.is_some() && keeps_end && left == 0 => {
                stored - self.keep_end(number, &block.bytes)
            }
            Tails::Alone if keeps_end => stored - self.keep_end(number, &block.bytes),
            Tails::Alone
            | Tails::Small
            | Tails::Shared
            | Tails::Below(_)
            | Tails::SmallBelow(_) => stored,
        };
        Ok(Taken { now, gap: 0 })
    }

    /// Keeps the last cluster of a unit for behind the inode, if it is one that fills no block, or makes it
    /// one that does if there is no room.
    fn take_cluster(&mut self, block: &Block, keeps_end: bool) -> Option<Taken> {
        let len = inline_len(self.pieces.last()?)?;
        let taken = self.take_inline(block, len, keeps_end)?;
        if taken.gap > 0 {
            self.pieces.last_mut()?.stored_len = BLOCK as u32;
        }
        Some(taken)
    }

    /// Keeps so many last bytes of a unit for behind the inode, if there is room.
    fn take_inline(&mut self, block: &Block, len: u32, keeps_end: bool) -> Option<Taken> {
        let now = block.bytes.len().checked_sub(len as usize)?;
        if keeps_end && len as usize <= ENDS_MAX.saturating_sub(self.ends.len()) {
            self.end_starts
                .push((block.sequence, self.ends.len() as u64));
            self.ends.extend_from_slice(block.bytes.get(now..)?);
            self.has_inline = true;
            return Some(Taken { now, gap: 0 });
        }
        let gap = BLOCK - u64::from(len);
        Some(Taken { now, gap })
    }

    /// Keeps the end of a unit that is not compressed, if there is room, and tells its length.
    fn keep_end(&mut self, number: u32, bytes: &[u8]) -> usize {
        let tail = bytes.len() % BLOCK as usize;
        let room = ENDS_MAX.saturating_sub(self.ends.len());
        if tail == 0 || tail as u64 > END_MAX || tail > room {
            return 0;
        }
        let (_, end) = bytes.split_at(bytes.len() - tail);
        self.end_starts.push((number, self.ends.len() as u64));
        self.ends.extend_from_slice(end);
        tail
    }

    /// Says where the unit that was taken was written.
    pub(super) fn place(&mut self, start: u64, end: u64, raw: u32) {
        self.placed.push(Placed {
            start,
            stored: (end - start) as u32,
            raw,
        });
    }

    /// Lists the clusters in blocks of a unit that was taken.
    pub(super) fn clusters_of(&self, block: &Block) -> Vec<Cluster> {
        match self.parts.as_ref().map(|parts| parts.get(block.sequence)) {
            Some(encoded) => {
                encoded.map_or(Vec::new(), |unit| unit.clusters(block.sequence).collect())
            }
            None => clusters(&block.pieces).collect(),
        }
    }

    /// Returns where what a unit leaves is, if it leaves something.
    pub(super) fn rest(&self, unit: u32) -> Option<Rest> {
        self.rests.as_ref()?.of(unit)
    }

    /// Says where a group of rests was written.
    pub(super) fn place_group(&mut self, start: u64, group: &Group) {
        self.groups.push((start, self.group_pieces.len()));
        self.group_pieces.extend_from_slice(&group.cut.pieces);
    }

    /// Lists the groups of rests: where they begin, and their clusters.
    pub(super) fn groups(&self) -> impl Iterator<Item = (u64, &[Piece])> {
        let ends = self.groups.iter().skip(1).map(|group| group.1);
        let ends = ends.chain([self.group_pieces.len()]);
        self.groups.iter().zip(ends).map(|(&(start, from), end)| {
            let pieces = self.group_pieces.get(from..end);
            (start, pieces.unwrap_or_default())
        })
    }

    /// Moves all content that was placed by so many bytes.
    pub(super) fn move_by(&mut self, bytes: u64) {
        for placed in &mut self.placed {
            placed.start = placed.start.saturating_add(bytes);
        }
        for place in self.late.values_mut() {
            *place = place.saturating_add(bytes);
        }
        for moved in self.moved.values_mut().flatten() {
            moved.start = moved.start.saturating_add(bytes);
        }
        for group in &mut self.groups {
            group.0 = group.0.saturating_add(bytes);
        }
    }

    /// Returns the clusters of a unit; none if it was not cut.
    pub(super) fn pieces(&self, block: u32) -> &[Piece] {
        let starts = &self.piece_starts;
        let Ok(at) = starts.binary_search_by_key(&block, |entry| entry.0) else {
            return &[];
        };
        let start = |at: usize| starts.get(at).map(|entry| entry.1 as usize);
        let end = start(at + 1).unwrap_or(self.pieces.len());
        let range = start(at).unwrap_or(end)..end;
        self.pieces.get(range).unwrap_or_default()
    }

    /// Returns the end of a unit that was kept back; empty if there is none.
    pub(super) fn end(&self, block: u32) -> Result<&[u8]> {
        let Ok(at) = self
            .end_starts
            .binary_search_by_key(&block, |entry| entry.0)
        else {
            return Ok(&[]);
        };
        let start = self.end_starts.get(at).map_or(0, |entry| entry.1);
        let cluster = match &self.parts {
            Some(parts) => parts.get(block).and_then(|encoded| encoded.inline),
            None => self.pieces(block).last().copied(),
        };
        let len = match cluster.as_ref().and_then(inline_len) {
            Some(len) => u64::from(len),
            None => u64::from(self.placed(block)?.raw) % BLOCK,
        };
        let start = usize::try_from(start).map_err(|_| super::body::wrong())?;
        let end = self
            .ends
            .get(start..)
            .and_then(|rest| rest.get(..len as usize));
        end.ok_or_else(super::body::wrong)
    }

    /// Returns where so many bytes into what is stored of a unit are, where a cluster begins.
    pub(super) fn place_of(&self, unit: u32, at: u32) -> Result<u64> {
        let Some(moved) = self.moved.get(&unit) else {
            return Ok(self.placed(unit)?.start + u64::from(at));
        };
        let found = moved.binary_search_by_key(&at, |cluster| cluster.at);
        let found = found.ok().and_then(|found| moved.get(found));
        Ok(found.ok_or_else(super::body::wrong)?.start)
    }

    pub(super) fn placed(&self, block: u32) -> Result<&Placed> {
        let placed = self.placed.get(block as usize);
        placed.ok_or_else(|| Error::invalid(format!("the map has block {block}, never put")))
    }
}

/// Returns the length of a cluster that goes behind the inode.
pub(super) fn inline_len(piece: &Piece) -> Option<u32> {
    let in_blocks = u64::from(piece.stored_len).is_multiple_of(BLOCK);
    (!in_blocks).then_some(piece.stored_len)
}

/// Returns whether parts are all of a block but for what it leaves, and those that are its own all that is stored of it.
fn has_all(block: &Block, encoded: &Encoded, left: u32) -> bool {
    let inline = encoded.inline;
    let mut end = 0;
    let follow = encoded.parts.iter().all(|part| {
        let follows = part.start == end && part.raw > 0;
        end = part.end();
        follows
    });
    let clusters = encoded.clusters(block.sequence);
    let mut stored: usize = clusters.map(|cluster| cluster.stored as usize).sum();
    let end = end + left + inline.map_or(0, |piece| piece.raw_len);
    stored += inline.map_or(0, |piece| piece.stored_len as usize);
    follow && end >= block.raw_len && stored == block.bytes.len()
}

/// Returns whether a block's pieces are all of it but for what it leaves, what fills it up among them; or, if it has
/// none, whether it is no longer than what it holds.
fn is_whole(block: &Block, left: u32) -> bool {
    let (raw, stored) = (
        u64::from(block.raw_len - left.min(block.raw_len)),
        block.bytes.len() as u64,
    );
    if raw == 0 {
        return stored == 0;
    }
    let sum = |part: fn(&Piece) -> u32| -> u64 {
        let parts = block.pieces.iter().map(part);
        parts.map(u64::from).sum()
    };
    match block.pieces.is_empty() {
        true => stored > 0 && stored <= raw,
        false => sum(|piece| piece.stored_len) == stored && sum(|piece| piece.raw_len) >= raw,
    }
}
