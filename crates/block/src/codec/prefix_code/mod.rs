//! Canonical prefix codes and streams of 16-bit words, as XPRESS, LZX and LZMS use them.
//!
//! In: the lengths of codewords, or the frequencies of symbols, and a stream. Out: symbols.
//!
//! **Invariant:** codewords of one length are consecutive numbers in the order of their symbols,
//! and shorter codewords come first (RFC 1951, 3.2.2). Bits are taken from 16-bit little-endian
//! words, the most significant bit first ([MS-XCA] 2.1.3, [MS-PATCH] 2.2).

mod copying;
mod lengths;
mod reader;
mod table;

pub(super) use copying::{copy_match, put};
pub(super) use lengths::LengthBuilder;
pub(super) use reader::WordReader;
pub(super) use table::DecodeTable;
