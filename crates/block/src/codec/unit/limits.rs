//! The most that a stream of a unit may have or ask for.

use sinterfs_model::Error;

/// The largest dictionary that a stream may ask for, in bytes: that of `xz -9`.
pub const MAX_DICTIONARY: u64 = 64 << 20;

/// The longest content of a stream of which a part is wanted, in bytes: that of EROFS.
pub const MAX_CONTENT: usize = 12 << 20;

/// Makes the error for a stream that has more content than there is room for.
#[cold]
pub(super) fn too_long(codec: &str, room: &[u8]) -> Error {
    let len = room.len();
    Error::corrupt(format!("{codec}: more than the {len} bytes of a unit"))
}
