//! Trains a symbol table in generations over a sample of the strings.
//!
//! In: strings. Out: a symbol table. Each generation cuts the sample with the table of the last
//! one, counts symbols and pairs of neighbours, and keeps the 255 candidates with the highest gain
//! = frequency * length. After "FSST: Fast Random Access String Compression" (Boncz, Neumann, Leis;
//! VLDB 2020), with a larger sample and optimal cuts. **Invariant:** ties are broken by the
//! symbols' bytes, so the result is deterministic.

#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "windows and runs are not empty; symbols are cut to their first byte"
)]

use std::collections::BTreeMap;

use super::ESCAPE;
use super::table::{Cuts, Symbol, SymbolTable};

/// The size of the sample in bytes.
const SAMPLE: usize = 256 << 10;

/// The number of generations; more hardly gain.
const GENERATIONS: usize = 8;

/// The weight of single bytes: each byte without a code costs two.
const SINGLE_BYTE_WEIGHT: u64 = 8;

/// Trains a table for strings.
pub(in crate::write) fn train(strings: &[&[u8]]) -> SymbolTable {
    let sample = sample(strings);
    let mut table = SymbolTable::new(Vec::new());
    let mut best: Option<(usize, SymbolTable)> = None;
    for generation in 0..=GENERATIONS {
        let counts = count(&table, &sample);
        let size = counts.encoded + table.stored().len();
        if generation > 0 && best.as_ref().is_none_or(|(least, _)| size < *least) {
            best = Some((size, table.clone()));
        }
        table = SymbolTable::new(counts.select());
    }
    best.map_or(table, |(_, best)| best)
}

/// Samples the strings evenly.
fn sample<'s>(strings: &[&'s [u8]]) -> Vec<&'s [u8]> {
    let total: usize = strings.iter().map(|string| string.len()).sum();
    let mut due = 0;
    let mut taken = Vec::new();
    for string in strings.iter().filter(|string| !string.is_empty()) {
        // accumulate an error term instead of taking every n-th, as names may be periodic
        due += string.len().min(SAMPLE) * SAMPLE;
        if total <= SAMPLE || due >= total * string.len().min(SAMPLE) {
            due = due.saturating_sub(total * string.len().min(SAMPLE));
            taken.push(*string);
        }
    }
    taken
}

/// Counts of symbols and of pairs of neighbours in the sample.
#[derive(Debug, Default)]
struct Counts {
    /// The encoded size of the sample in bytes.
    encoded: usize,
    /// The gains of candidates.
    gains: BTreeMap<Symbol, u64>,
}

fn count(table: &SymbolTable, sample: &[&[u8]]) -> Counts {
    let mut counts = Counts::default();
    let mut pairs: Vec<(Symbol, Symbol)> = Vec::new();
    let mut singles: Vec<Symbol> = Vec::new();
    let mut cuts = Cuts::default();
    for string in sample {
        table.cut(string, &mut cuts);
        for step in &cuts.steps {
            counts.encoded += 1 + usize::from(step.code == ESCAPE);
            singles.push(step.symbol);
            if step.symbol.len > 1 {
                singles.push(first(step.symbol));
            }
        }
        for pair in cuts.steps.windows(2) {
            let (left, right) = (pair[0].symbol, pair[1].symbol);
            pairs.push((left, right));
            if right.len > 1 {
                pairs.push((left, first(right)));
            }
        }
    }
    let joined = pairs
        .into_iter()
        .filter_map(|(left, right)| left.join(right));
    singles.extend(joined);
    singles.sort_unstable();
    for run in singles.chunk_by(|a, b| a == b) {
        let symbol = run[0];
        let weight = if symbol.len == 1 {
            SINGLE_BYTE_WEIGHT
        } else {
            1
        };
        let gain = run.len() as u64 * u64::from(symbol.len) * weight;
        if run.len() > 2 || symbol.len == 1 {
            counts.gains.insert(symbol, gain);
        }
    }
    counts
}

fn first(symbol: Symbol) -> Symbol {
    Symbol::byte(symbol.bytes as u8)
}

impl Counts {
    /// Selects the candidates with the highest gain.
    fn select(&self) -> Vec<Symbol> {
        let mut candidates: Vec<(u64, Symbol)> = self
            .gains
            .iter()
            .map(|(symbol, gain)| (*gain, *symbol))
            .collect();
        candidates.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        candidates.truncate(usize::from(ESCAPE));
        candidates.into_iter().map(|(_, symbol)| symbol).collect()
    }
}
