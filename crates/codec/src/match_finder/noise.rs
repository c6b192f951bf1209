//! Which parts of a block no coder makes smaller, found without coding them.
//!
//! In: a piece and its matches. Out: whether its bytes are as frequent as each other and it has
//! next to no matches of some length: encrypted, or compressed before.

use super::table::MatchTable;

/// Bytes that are looked at.
pub(in super::super) const PIECE: usize = 1 << 16;

/// Pieces that are shorter say too little.
const LEAST: usize = 1 << 13;

/// Matches that are shorter are between any two large pieces.
const MATCH: usize = 6;

/// Returns whether a piece of a slice, of at most [`PIECE`] bytes, is noise.
pub(in super::super) fn is_noise(slice: &[u8], start: usize, table: &MatchTable) -> bool {
    let end = slice.len().min(start + PIECE);
    let len = end - start;
    if len < LEAST {
        return false;
    }
    let mut counts = [0u32; 256];
    for &byte in &slice[start..end] {
        counts[usize::from(byte)] += 1;
    }
    // even chances would give len * len / 256 + len; 1/64 more is some hundredth of a bit a byte
    let squares: u64 = counts.iter().map(|&count| u64::from(count).pow(2)).sum();
    let len = len as u64;
    let even = len * len / 256;
    if squares > even + len + even / 64 {
        return false;
    }
    let long = (start..end).filter(|&at| table.at(at).length() >= MATCH);
    long.count() < (len / 1024) as usize
}
