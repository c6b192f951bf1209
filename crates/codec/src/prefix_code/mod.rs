//! Canonical prefix codes and streams of 16-bit words, as XPRESS, LZX and LZMS use them.
//!
//! In: the lengths of codewords, or the frequencies of symbols, and a stream. Out: symbols, or a
//! stream.
//!
//! **Invariant:** codewords of one length are consecutive numbers in the order of their symbols,
//! and shorter codewords come first (RFC 1951, 3.2.2). Bits are in 16-bit little-endian words, the
//! most significant bit first ([MS-XCA] 2.1.3, [MS-PATCH] 2.2).

mod codewords;
mod copying;
mod lengths;
mod reader;
mod table;
mod writer;

pub(super) use codewords::Codewords;
pub(super) use copying::{copy_match, put};
pub(super) use lengths::LengthBuilder;
pub(super) use reader::WordReader;
pub(super) use table::DecodeTable;
pub(super) use writer::WordWriter;
