//! Cuts a small block into literals and matches that cost few bits: for the encoders of XPRESS and
//! LZX, whose chunks have 4 KiB to 2 MiB.
//!
//! In: a block, and what a coder pays for each item. Out: the items in their order.
//!
//! **Invariant:** the items depend on the block and the costs alone. The match table of
//! `match_finder` is made for blocks of many MiB; here it would take longer to clear than to fill,
//! so matches are found by chains of equal hashes.

mod finder;
mod parser;
mod prices;
#[cfg(test)]
mod tests;

pub(super) use finder::{ChunkMatches, Effort};
pub(super) use parser::{Costs, Item, Parser, update};
pub(super) use prices::{UNIT, prices};
