//! Where blocks begin: where the statistics change so much that new tables are worth their
//! descriptions.
//!
//! In: the sequences of a stretch. Out: the ends of blocks.
//!
//! Short pieces of the stretch are joined with their neighbours as long as the estimated cost
//! falls.
//!
//! **Invariant:** no block is longer than the limit.

use super::block::Sequence;
use super::offsets::RecentOffsets;
use super::statistics::Statistics;

/// The content of a piece, in bytes, if its last sequence is short.
const PIECE_MIN: usize = 1 << 10;

/// A part of the stretch.
#[derive(Debug)]
struct SplitPart {
    len: usize,
    statistics: Statistics,
    cost: u64,
    /// What is saved if it is joined with the next one.
    gain: u64,
}

impl SplitPart {
    fn new(len: usize, statistics: Statistics) -> Self {
        Self {
            len,
            cost: statistics.cost(),
            statistics,
            gain: 0,
        }
    }

    /// Works out what is saved if it is joined with the next one.
    fn look_at(&mut self, next: Option<&Self>, most: usize) {
        self.gain = match next {
            Some(next) if self.len + next.len <= most => {
                let mut joined = self.statistics.clone();
                joined.merge(&next.statistics);
                (self.cost + next.cost).saturating_sub(joined.cost())
            }
            _ => 0,
        };
    }
}

/// Returns the lengths of the blocks of some content and the statistics of each.
pub(super) fn split(
    content: &[u8],
    sequences: &[Sequence],
    recent: RecentOffsets,
    most: usize,
) -> Vec<(usize, Statistics)> {
    let mut pieces = pieces(content, sequences, recent, most);
    for index in 0..pieces.len() {
        if let [piece, rest @ ..] = &mut pieces[index..] {
            piece.look_at(rest.first(), most);
        }
    }
    while let Some(best) = (0..pieces.len()).max_by_key(|&index| pieces[index].gain)
        && pieces[best].gain > 0
    {
        let next = pieces.remove(best + 1);
        let piece = &mut pieces[best];
        piece.statistics.merge(&next.statistics);
        piece.len += next.len;
        piece.cost = piece.statistics.cost();
        for index in [best.saturating_sub(1), best] {
            if let [piece, rest @ ..] = &mut pieces[index..] {
                piece.look_at(rest.first(), most);
            }
        }
    }
    pieces
        .into_iter()
        .map(|piece| (piece.len, piece.statistics))
        .collect()
}

/// Cuts content in short pieces at the ends of sequences, and in those that are too long anywhere.
fn pieces(
    content: &[u8],
    sequences: &[Sequence],
    recent: RecentOffsets,
    most: usize,
) -> Vec<SplitPart> {
    let mut pieces = Vec::new();
    let mut statistics = Statistics::new();
    let mut begin = 0;
    let mut cursor = (0, recent);
    let mut end = |position: usize, statistics: &mut Statistics| {
        while position - begin > most {
            pieces.push(SplitPart::new(most, Statistics::new()));
            begin += most;
        }
        let statistics = std::mem::replace(statistics, Statistics::new());
        pieces.push(SplitPart::new(position - begin, statistics));
        begin = position;
    };
    let mut last = 0;
    for sequence in sequences {
        statistics.add_sequences(content, &mut cursor, std::slice::from_ref(sequence));
        let position = cursor.0;
        if position - last >= PIECE_MIN.min(most) {
            end(position, &mut statistics);
            last = position;
        }
    }
    let position = cursor.0;
    if position < content.len() || last < position {
        statistics.add_literals(&content[position..]);
        end(content.len(), &mut statistics);
    }
    pieces
}
