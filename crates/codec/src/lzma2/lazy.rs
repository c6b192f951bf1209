//! The lazy parser: a match is taken unless the one a byte later is better.
//!
//! In: the longest match of each position, and the last distances. Out: some literals and a match.
//!
//! **Invariant:** the symbols cover the bytes from the start without a gap and are valid in the
//! coder's state at the start.

use super::coder::{Coder, Symbol};
use super::model::{MAX_MATCH, MIN_MATCH};
use super::optimal::Input;
use crate::match_finder::{Finder, agreement};

/// What a byte costs as a literal, roughly, in bits.
const LITERAL: i32 = 7;

/// The rough cost of a match without its distance, in bits; one of the last distances costs no
/// more.
const MATCH: i32 = 9;
const REP: i32 = 6;

/// Literals after which symbols are given out without a match.
const MOST_LITERALS: usize = 256;

/// A symbol and the bits that it saves.
#[derive(Debug, Clone, Copy)]
struct Choice {
    symbol: Symbol,
    gain: i32,
}

/// Finds the next symbols from a position on, the last one first. Matches of `nice` bytes are taken
/// at once.
pub(super) fn parse(
    input: Input<'_>,
    finder: &Finder<MIN_MATCH>,
    coder: &Coder,
    start: usize,
    nice: usize,
    symbols: &mut Vec<Symbol>,
) {
    let end = input.block.len();
    let mut position = start;
    let mut here = best(input, finder, coder, position);
    while let Choice { symbol, gain } = here
        && (gain <= 0 || (symbol.length as usize) < nice)
    {
        let last = position + 1 >= end || position - start >= MOST_LITERALS;
        let next = if last {
            None
        } else {
            Some(best(input, finder, coder, position + 1))
        };
        match next {
            Some(next) if gain <= 0 || next.gain > gain => here = next,
            None if gain <= 0 => {
                position += 1;
                break;
            }
            _ => break,
        }
        position += 1;
    }
    if here.gain > 0 {
        symbols.push(here.symbol);
    }
    symbols.extend((start..position).map(|_| Symbol::literal()));
}

/// Returns the match at a position that saves most, if any does.
#[inline(always)]
fn best(input: Input<'_>, finder: &Finder<MIN_MATCH>, coder: &Coder, position: usize) -> Choice {
    let most = (input.block.len() - position).min(MAX_MATCH);
    let mut best = Choice {
        symbol: Symbol::literal(),
        gain: 0,
    };
    for (source, &distance) in (0..).zip(&coder.reps) {
        let Some(earlier) = position.checked_sub(distance as usize + 1) else {
            continue;
        };
        if input.block[earlier] != input.block[position] {
            continue;
        }
        let length = agreement(input.block, position, earlier, most);
        let gain = length as i32 * LITERAL - REP;
        if length >= MIN_MATCH && gain > best.gain {
            let symbol = Symbol {
                length: length as u32,
                source,
            };
            best = Choice { symbol, gain };
        }
    }
    let longest = finder.longest(input.block, input.table, position, most);
    if longest.length >= MIN_MATCH {
        let far = (longest.distance + 1).ilog2() as i32;
        let gain = longest.length as i32 * LITERAL - MATCH - far;
        if gain > best.gain {
            let symbol = Symbol {
                length: longest.length as u32,
                source: longest.distance + Symbol::DISTANCE,
            };
            best = Choice { symbol, gain };
        }
    }
    best
}
