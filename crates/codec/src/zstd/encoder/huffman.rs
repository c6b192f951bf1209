//! Huffman codes of literals (RFC 8878, section 4.2): lengths, their description, and streams.
//!
//! In: counts of bytes. Out: the best code of at most 11 bits a byte, its description, and streams
//! that are encoded by it, the last byte first.
//!
//! **Invariant:** a code is complete: at least two bytes have one, and no bits are unused.

use super::bits::BitWriter;
use super::fse::{Distribution, EncodingTable, MIN_LOG};
use super::logarithm::FRACTION;

/// The longest code of a byte, in bits.
const MAX_BITS: usize = 11;

/// The largest table of the weights' entropy coding, as a power of two.
const WEIGHTS_LOG: u32 = 6;

/// The most weights that a description holds as they are, four bits each.
const MAX_DIRECT: usize = 128;

/// Codes of bytes that are added between two flushes: five of 11 bits.
const PER_FLUSH: usize = 5;

/// A code for each byte that occurs.
#[derive(Debug, Clone)]
pub(super) struct Code {
    /// The code's bits, and its length below them.
    words: [u16; 256],
    /// Its description.
    description: Vec<u8>,
}

/// Bits that a code's length takes.
const LENGTH_BITS: u32 = 4;

impl Code {
    /// Makes the best code for some counts; `None` if fewer than two bytes occur or no description
    /// holds it.
    pub(super) fn new(counts: &[u32; 256]) -> Option<Self> {
        let lengths = code_lengths(counts)?;
        let description = describe(&lengths)?;
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let mut words = [0; 256];
        let mut code = 0u16;
        for length in (1..=longest).rev() {
            for (word, _) in words
                .iter_mut()
                .zip(lengths)
                .filter(|&(_, other)| other == length)
            {
                *word = code << LENGTH_BITS | u16::from(length);
                code += 1;
            }
            code >>= 1;
        }
        Some(Self { words, description })
    }

    /// Returns the description.
    pub(super) fn description(&self) -> &[u8] {
        &self.description
    }

    /// Returns how many bits a byte takes; 0 if it has no code.
    #[inline(always)]
    pub(super) fn length(&self, byte: u8) -> u32 {
        u32::from(self.words[usize::from(byte)]) & ((1 << LENGTH_BITS) - 1)
    }

    /// Returns what bytes so frequent cost, in fractions of a bit; `None` if one has no code.
    pub(super) fn cost(&self, counts: &[u32; 256]) -> Option<u64> {
        let mut bits = 0;
        for (byte, &count) in (0..=u8::MAX).zip(counts) {
            if count > 0 {
                match self.length(byte) {
                    0 => return None,
                    length => bits += u64::from(count) * u64::from(length),
                }
            }
        }
        Some(bits << FRACTION)
    }

    /// Appends a stream of bytes that all have codes.
    pub(super) fn encode(&self, bytes: &[u8], out: &mut Vec<u8>) {
        let mut bits = BitWriter::new(out);
        for part in bytes.rchunks(PER_FLUSH) {
            for &byte in part.iter().rev() {
                let word = u32::from(self.words[usize::from(byte)]);
                bits.add(word >> LENGTH_BITS, word & ((1 << LENGTH_BITS) - 1));
            }
            bits.flush();
        }
        bits.finish_backward();
    }
}

/// Returns the lengths of the best code of at most [`MAX_BITS`] bits, by the package-merge
/// algorithm.
fn code_lengths(counts: &[u32; 256]) -> Option<[u8; 256]> {
    let mut leaves: Vec<(u32, u8)> = (0..=u8::MAX)
        .zip(counts)
        .filter(|&(_, &count)| count > 0)
        .map(|(byte, &count)| (count, byte))
        .collect();
    if leaves.len() < 2 {
        return None;
    }
    leaves.sort_unstable();
    // for each level the items in order of their counts: leaves, and pairs of items of the level
    // below
    let mut levels: Vec<Vec<bool>> = Vec::with_capacity(MAX_BITS);
    let mut below: Vec<u64> = Vec::new();
    for _ in 0..MAX_BITS {
        let mut pairs = below
            .chunks_exact(2)
            .map(|pair| pair.iter().sum::<u64>())
            .peekable();
        let mut own = leaves.iter().map(|&(count, _)| u64::from(count)).peekable();
        let (mut items, mut are_leaves) = (Vec::new(), Vec::new());
        loop {
            let is_leaf = match (own.peek(), pairs.peek()) {
                (Some(leaf), Some(pair)) => leaf <= pair,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => break,
            };
            items.extend(if is_leaf { own.next() } else { pairs.next() });
            are_leaves.push(is_leaf);
        }
        below = items;
        levels.push(are_leaves);
    }
    let mut lengths = [0; 256];
    let mut taken = 2 * leaves.len() - 2;
    for are_leaves in levels.iter().rev() {
        let of_leaves = are_leaves
            .iter()
            .take(taken)
            .filter(|&&is_leaf| is_leaf)
            .count();
        for &(_, byte) in leaves.iter().take(of_leaves) {
            lengths[usize::from(byte)] += 1;
        }
        taken = 2 * (taken - of_leaves);
    }
    Some(lengths)
}

/// Describes a code by the weights of all bytes but the last.
fn describe(lengths: &[u8; 256]) -> Option<Vec<u8>> {
    let longest = lengths.iter().copied().max()?;
    let last = lengths.iter().rposition(|&length| length > 0)?;
    let weights: Vec<u8> = lengths
        .iter()
        .take(last)
        .map(|&length| if length == 0 { 0 } else { longest + 1 - length })
        .collect();
    let mut best = describe_by_states(&weights);
    let direct = 1 + weights.len().div_ceil(2);
    if weights.len() <= MAX_DIRECT && best.as_ref().is_none_or(|best| best.len() > direct) {
        let mut description = vec![(127 + weights.len()) as u8];
        let pairs = weights.chunks(2);
        description.extend(pairs.map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or(0)));
        best = Some(description);
    }
    best
}

/// Describes weights by finite state entropy, with the smaller table; `None` if that is not
/// possible.
fn describe_by_states(weights: &[u8]) -> Option<Vec<u8>> {
    let mut counts = [0; MAX_BITS + 2];
    for &weight in weights {
        counts[usize::from(weight)] += 1;
    }
    if weights.len() < 2 || counts.iter().filter(|&&count| count > 0).count() < 2 {
        return None;
    }
    (MIN_LOG..=WEIGHTS_LOG)
        .map(|log| encode_weights(weights, &Distribution::of_counts(&counts, log)))
        .filter(|description| description.len() <= MAX_DIRECT)
        .min_by_key(Vec::len)
}

/// Encodes weights by two states in turn.
fn encode_weights(weights: &[u8], distribution: &Distribution) -> Vec<u8> {
    let mut out = vec![0];
    distribution.describe(&mut out);
    let table = EncodingTable::new(distribution);
    let mut bits = BitWriter::new(&mut out);
    let mut states = [None; 2];
    for (index, &weight) in weights.iter().enumerate().rev() {
        match &mut states[index & 1] {
            Some(state) => table.encode(state, weight, &mut bits),
            state => *state = Some(table.last(weight)),
        }
        bits.flush();
    }
    let [even, odd] = states;
    for state in [odd, even].into_iter().flatten() {
        table.finish(state, &mut bits);
    }
    bits.finish_backward();
    out[0] = (out.len() - 1) as u8;
    out
}
