//! Files that are compressed as a whole (gzip, zstd, xz, bzip2, LZMA_Alone, LZ4's two frames),
//! decoded from front to back.
//!
//! Enters a stream, leaves its content. The first bytes identify the format, not the file name.
//! Spec: RFC 1952, RFC 8878, the .xz file format 1.2.1, lzma-file-format.txt of xz,
//! lz4_Frame_format.md; bzip2 has none. Concatenated members, frames or streams are read as one, as
//! by the programs themselves and by the kernel. **Invariant:** a truncated stream is an error,
//! never short content; windows and dictionaries of more than 1 GiB are refused.

#[cfg(feature = "lz4")]
mod block_stream;
#[cfg(feature = "streams")]
mod bzip2;
mod concatenated;
mod decoder;
mod format;
#[cfg(feature = "streams")]
mod gzip;
mod input;
#[cfg(feature = "lz4")]
mod lz4;
#[cfg(feature = "lz4")]
mod lz4_frame;
#[cfg(feature = "lzma")]
mod lzma;
mod lzma_start;
#[cfg(any(feature = "lzma", feature = "zstd"))]
mod window;
#[cfg(feature = "lzma")]
mod xz;
#[cfg(feature = "zstd")]
mod zstd;

use std::io::{BufRead, Read};

use sinterfs_model::Result;

use self::concatenated::Concatenated;
pub use self::format::StreamFormat;
use self::input::Input;
pub use self::input::START;

impl StreamFormat {
    /// Decodes a stream, and those that follow it, of this or another format; zeros may be
    /// between them.
    ///
    /// # Errors
    /// `Limit` if there is no memory for a decoder, `Unsupported` if the build has none. A damaged
    /// stream fails when it is read, with an `Error` inside the I/O error.
    pub fn decode<R: BufRead + Send + 'static>(self, stream: R) -> Result<Box<dyn Read + Send>> {
        self.decode_until(stream, 0, |_| false)
    }

    /// Decodes streams as `decode` does; what `is_plain` says of the next bytes (up to `START`)
    /// ends this: from there on all is passed on as it is. `at` is the position of the stream, for
    /// messages.
    ///
    /// # Errors
    /// Those of `decode`.
    pub fn decode_until<R: BufRead + Send + 'static>(
        self,
        stream: R,
        at: u64,
        is_plain: fn(&[u8]) -> bool,
    ) -> Result<Box<dyn Read + Send>> {
        let content = Concatenated::new(self, Input::new(stream, at), is_plain)?;
        Ok(Box::new(content))
    }
}

#[cfg(test)]
mod tests;
