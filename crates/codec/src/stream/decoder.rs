//! The decoder of one stream.
//!
//! **Invariant:** at the end of the content exactly the stream has been read.

use std::io::Read;

use super::input::Input;

/// A decoder of one stream, whose content ends where the stream does.
pub(super) trait Decoder<R>: Read + Send {
    /// Returns the bytes after the stream.
    fn into_input(self: Box<Self>) -> Input<R>;
}
