//! An LZMA2 encoder: a match table by radix, a parser by prices, and .xz streams around them.
//!
//! In: a block. Out: one .xz stream of one block with a CRC64, which every reader of .xz decodes.
//!
//! **Invariants:** the result depends on the block and the options alone. Besides the block and the
//! stream, 4 bytes for each byte of the block (for 64 MiB of them at most) and some 6 MiB are held; a
//! thread keeps them for its next block.

mod bcj;
mod chunk;
mod coder;
mod container;
mod crc;
mod effort;
mod encoder;
mod groups;
mod matches;
mod model;
mod optimal;
mod price;
mod range;
mod refine;
mod table;

#[cfg(test)]
mod tests;

pub(super) use encoder::{Options, encode};
