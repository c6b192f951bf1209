//! An LZMA2 encoder: a match table by radix, a parser by prices, and .xz streams around them.
//!
//! In: a block. Out: one .xz stream of one block with a CRC64, which every reader of .xz decodes.
//!
//! **Invariants:** the result depends on the block and the options only. Besides the block and the
//! stream, 5 bytes for each byte of the block (6 at worst; for 64 MiB of it at most) and some 8 MiB
//! are held, and each thread that shares the block has some 7 MiB; all with a memory permit
//! ([`sinterfs_workers::WorkerPermits::reserve_memory`]). A trial of branch converters takes three
//! blocks more.

#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "indexes and lengths come from the block being encoded, of less than 4 GiB"
)]

mod bcj;
mod chunk;
mod codec;
mod coder;
mod container;
mod crc;
mod effort;
mod encoder;
mod lazy;
mod model;
mod optimal;
pub(crate) mod price;
mod range;
mod slice;
mod trial;

#[cfg(test)]
mod tests;

pub(crate) use codec::{LEVELS, Lzma2Codec};
pub(crate) use encoder::{Lzma2Options, fill};

/// Returns whether a branch converter changes anything in a block.
#[cfg(feature = "lzma")]
pub(crate) fn changes(bcj: crate::Bcj, block: &[u8]) -> bool {
    let mut converted = block.to_vec();
    bcj::convert(bcj, &mut converted);
    converted != block
}
