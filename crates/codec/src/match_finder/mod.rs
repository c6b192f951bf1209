//! Matches of a block: the candidates that a parser chooses from, for every coder.
//!
//! In: a block. Out: for each position a few earlier ones with equal bytes, and slices of the block
//! that threads encode apart from each other.
//!
//! **Invariants:** the result depends only on the block. Besides the block, 5 bytes for each of
//! its bytes (6 at worst; for 64 MiB of it at most) are held, and some 7 MiB for each thread.

mod groups;
mod link;
mod matches;
mod noise;
mod refine;
mod slices;
mod streams;
mod table;

pub(super) use matches::{Finder, Match, agreement};
pub(super) use noise::{PIECE as NOISE_PIECE, is_noise};
pub(super) use slices::{SLICE, Search, Slice, Slicer, threads};
pub(super) use table::{MAX_COVER, MatchTable};
