//! The items of LZX, for the parser of chunks.
//!
//! **Invariant:** the numbers of matches are those that the format stores: 0 to 2 for the latest
//! distances, others plus 2.

use super::{LENGTH_SYMBOLS, MIN_MATCH, SHORT_LENGTHS, number_slot};
use crate::chunk_parser::Coder;

/// The longest match in bytes.
const MAX_MATCH: usize = MIN_MATCH + SHORT_LENGTHS - 1 + LENGTH_SYMBOLS - 1;

/// The items of LZX.
pub(super) struct LzxCoder;

impl Coder for LzxCoder {
    const HAS_REPEATS: bool = true;
    const LEAST: usize = MIN_MATCH;
    const MOST: usize = MAX_MATCH;
    const LENGTH_BITS: u32 = 9;

    #[inline(always)]
    fn slot(number: u32) -> usize {
        number_slot(number)
    }
}

/// Splits a length into what the main symbol has, and the symbol for the rest.
pub(super) fn split_len(len: usize) -> (usize, Option<usize>) {
    let len = len - MIN_MATCH;
    match len.checked_sub(SHORT_LENGTHS - 1) {
        Some(rest) => (SHORT_LENGTHS - 1, Some(rest)),
        None => (len, None),
    }
}
