//! Limits of streams of units.

#[cfg(any(
    feature = "deflate",
    feature = "lzma",
    feature = "lzo",
    feature = "zstd"
))]
use sinterfs_model::Error;

/// The largest dictionary that a stream may need, in bytes, as `xz -9` uses it.
pub const MAX_DICTIONARY: u64 = 64 << 20;

/// The longest content of a stream that is decoded in part, in bytes: the limit of EROFS.
pub const MAX_CONTENT: usize = 12 << 20;

/// Makes the error for a stream with more content than the output holds.
#[cfg(any(
    feature = "deflate",
    feature = "lzma",
    feature = "lzo",
    feature = "zstd"
))]
#[cold]
pub(super) fn too_long(codec: &str, output: &[u8]) -> Error {
    let len = output.len();
    Error::corrupt(format!("{codec}: more than the {len} bytes of a unit"))
}
