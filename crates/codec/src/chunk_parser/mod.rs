//! Cuts a small block into literals and matches that cost few bits: for the encoders of XPRESS and
//! LZX, whose chunks have 4 KiB to 2 MiB.
//!
//! In: a chunk, and the price of each item. Out: the items in their order.
//!
//! **Invariant:** the items depend only on the chunk and the prices. The match table of
//! `match_finder` is made for blocks of many MiB; here it would take longer to clear than to fill,
//! so matches are found by binary trees.

mod finder;
mod items;
mod parser;
mod prices;
mod survey;
#[cfg(test)]
mod tests;

pub(super) use finder::{ChunkMatches, Effort};
pub(super) use items::{Coder, Item, Recent};
pub(super) use parser::Parser;
pub(super) use prices::{PriceTables, UNIT, log2, prices};
pub(super) use survey::survey;
