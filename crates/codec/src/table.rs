//! The table of codecs. A new codec is a folder and a row here; formats that have it give it an id.
//!
//! **Invariant:** a codec that is left out of the build by its Cargo feature has an id and no row:
//! using it is an error that names both.

use std::fmt;

use sinterfs_model::{Error, Result};

use super::codec::{Codec, left_out};

/// Makes the ids and the table. Each row has an id, the name in messages, the names in the general
/// text form (the spelling of mkdwarfs' `-C`), the Cargo feature if there is one, and the codec.
macro_rules! codecs {
    ($(
        $(#[$doc:meta])*
        $id:ident $name:literal [$($text:literal),*] $(if $feature:literal)? => $codec:expr;
    )*) => {
        /// The codecs, built in or not.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum CodecId {
            $($(#[$doc])* $id,)*
        }

        impl CodecId {
            /// Returns the name, and the Cargo feature or nothing.
            const fn names(self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$id => ($name, concat!("" $(, $feature)?)),)*
                }
            }
        }

        /// The codecs that are built in.
        pub static CODECS: &[(CodecId, &dyn Codec)] = &[
            $($(#[cfg(feature = $feature)])? (CodecId::$id, &$codec),)*
        ];

        /// The general text form.
        pub(super) static GENERAL: &[Choice] = &[
            $(Choice { names: &[$($text),*], codec: CodecId::$id, level: None },)*
        ];
    };
}

codecs! {
    /// The bytes as they are.
    Null "none" ["none", "null"] => super::null::NullCodec;
    /// A Zstandard frame.
    Zstd "zstd" ["zstd"] if "zstd" => super::zstd::ZstdCodec;
    /// An .xz stream, with any filters.
    Xz "xz" ["lzma"] if "lzma" => super::xz::XzCodec;
    /// An .xz stream by the encoder of this crate.
    Lzma2 "lzma2" ["lzma2"] => super::lzma2::Lzma2Codec;
    /// An LZ4 block by the fast method.
    Lz4 "lz4" ["lz4"] if "lz4" => super::lz4::Lz4Codec;
    /// An LZ4 block by the high-compression method.
    Lz4Hc "lz4hc" ["lz4hc"] if "lz4" => super::lz4::Lz4HcCodec;
    /// LZ4 blocks in a frame.
    Lz4Frame "lz4" [] if "lz4" => super::lz4::Lz4FrameCodec;
    /// A brotli stream.
    Brotli "brotli" ["brotli"] if "brotli" => super::brotli::BrotliCodec;
    /// A FLAC stream, for PCM audio of a known form.
    Flac "flac" ["flac"] => super::flac::FlacCodec;
    /// Rice codes, for images of a known form.
    Ricepp "ricepp" ["ricepp"] => super::ricepp::RiceppCodec;
    /// LZMA with the header of `.lzma` files.
    Lzma "lzma" [] if "lzma" => super::lzma::LzmaCodec;
    /// LZMA with a header of one byte; its content must fill the output.
    MicroLzma "microlzma" [] => super::micro_lzma::MicroLzmaCodec;
    /// Deflate in a zlib stream (RFC 1950).
    Zlib "zlib" [] if "deflate" => super::zlib::ZlibCodec;
    /// Deflate without a header (RFC 1951).
    Deflate "deflate" [] if "deflate" => super::deflate::DeflateCodec;
    /// LZO1X without a header.
    Lzo "lzo" [] if "lzo" => super::lzo::LzoCodec;
    /// A bzip2 stream.
    Bzip2 "bzip2" [] if "streams" => super::bzip2::Bzip2Codec;
}

impl CodecId {
    /// Returns the name in messages.
    pub const fn name(self) -> &'static str {
        self.names().0
    }

    /// Returns the codec. `Unsupported` if it is left out of this build.
    pub fn codec(self) -> Result<&'static dyn Codec> {
        let row = CODECS.iter().find(|(id, _)| *id == self);
        row.map(|&(_, codec)| codec).ok_or_else(|| self.left_out())
    }

    /// Decodes a stream into the front of `output` and returns the number of bytes. Bytes after
    /// the stream's end are ignored.
    ///
    /// Fails with `Corrupt` for a damaged stream and for one with more content than `output` holds,
    /// with `Limit` for one that needs a dictionary above `MAX_DICTIONARY`.
    pub fn decode(self, stream: &[u8], output: &mut [u8]) -> Result<usize> {
        if stream.is_empty() {
            return Err(Error::corrupt("an empty stream"));
        }
        self.codec()?.decode_unit(stream, output)
    }

    /// Fills `output` with the first bytes of the content of a stream, which may have more: LZ4,
    /// zstd, deflate (both up to `MAX_CONTENT` bytes) and MicroLZMA.
    ///
    /// Fails with `Corrupt` for a stream that is damaged or has less content, with `Unsupported`
    /// for other codecs.
    pub fn decode_part(self, stream: &[u8], output: &mut [u8]) -> Result<()> {
        self.codec()?.decode_part(stream, output)
    }

    /// Makes the error for a codec without its feature.
    #[cold]
    pub(super) fn left_out(self) -> Error {
        let (name, feature) = self.names();
        left_out(name, feature)
    }
}

impl fmt::Display for CodecId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A codec as a format has it.
#[derive(Debug)]
pub struct Choice {
    /// The names in text; the first is written.
    pub names: &'static [&'static str],
    /// The codec.
    pub codec: CodecId,
    /// The level if the text has none, instead of the codec's own.
    pub level: Option<i32>,
}
