//! Files that are compressed as a whole (gzip, zstd, xz, bzip2), decoded from front to back.
//!
//! Enters a stream, leaves its content. The first bytes identify the format, not the file name.
//! Spec: RFC 1952, RFC 8878, the .xz file format 1.2.1; bzip2 has none. Concatenated members,
//! frames or streams are read as one, as by the programs themselves. **Invariant:** a truncated
//! stream is an error, never short content; windows and dictionaries of more than 1 GiB are
//! refused.

mod zstd;

use std::io::{BufRead, Read};

use sinterfs_model::{Error, Result};

use zstd::WINDOW_LOG_MAX;

/// The number of first bytes that identify a format.
pub const START: usize = 6;

/// The format of a compressed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// gzip.
    Gzip,
    /// zstd.
    Zstd,
    /// xz.
    Xz,
    /// bzip2.
    Bzip2,
}

impl Compression {
    /// Identifies the format by the first bytes of a file; `None` for anything else.
    pub fn detect(start: &[u8]) -> Option<Self> {
        Some(match start {
            [0x1f, 0x8b, 8, ..] => Self::Gzip,
            // a frame, or a skippable one as pzstd writes it first
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Self::Bzip2,
            _ => return None,
        })
    }

    /// Decodes a stream.
    ///
    /// # Errors
    /// `Limit` if there is no memory for a decoder. A damaged stream fails when it is read.
    pub fn decode<R: BufRead + Send + 'static>(self, stream: R) -> Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(stream)),
            Self::Zstd => Box::new(zstd::Frames::new(stream)?),
            Self::Xz => {
                let memory = (1 << WINDOW_LOG_MAX) + (1 << 20);
                let flags = liblzma::stream::CONCATENATED;
                let decoder = liblzma::stream::Stream::new_stream_decoder(memory, flags);
                let decoder =
                    decoder.map_err(|error| Error::limit("xz: no decoder").because(error))?;
                Box::new(liblzma::bufread::XzDecoder::new_stream(stream, decoder))
            }
            Self::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(stream)),
        })
    }
}

#[cfg(test)]
mod tests;
