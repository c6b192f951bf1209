//! Deflate in a zlib stream (RFC 1950), by libdeflate.

#[cfg(feature = "deflate")]
mod codec;
#[cfg(feature = "deflate")]
mod decode;
#[cfg(feature = "deflate")]
mod encode;
mod stored;

use std::ops::RangeInclusive;

#[cfg(feature = "deflate")]
pub(crate) use codec::{DEFAULT_LEVEL, MEMORY, ZlibCodec};
#[cfg(feature = "deflate")]
pub(crate) use encode::encode;
pub use stored::{stored, stored_len};

/// The levels: up to 9 similar to zlib's, above by a parser that searches for the smallest result.
pub const LEVELS: RangeInclusive<i32> = 1..=12;
