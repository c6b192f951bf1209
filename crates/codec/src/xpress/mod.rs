//! XPRESS with Huffman codes, as chunks of WIM files have it ([MS-XCA] 2.1 and 2.2).
//!
//! In: a stream without a header. Out: exactly the bytes that the caller asks for, at most 64 KiB.
//!
//! **Invariant:** one code of 512 symbols for the whole stream: 256 literals, then matches by the
//! number of bits of their distance and the low end of their length.

mod decode;
#[allow(
    clippy::indexing_slicing,
    reason = "indexes come from the items being encoded"
)]
mod encode;

pub use decode::decode;
pub use encode::XpressEncoder;

/// The most bytes of content.
pub const MAX_CONTENT: usize = 1 << 16;

/// Symbols of the code.
const SYMBOLS: usize = 512;

/// The shortest match in bytes.
const MIN_MATCH: usize = 3;
