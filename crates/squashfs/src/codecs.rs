//! The codecs of SquashFS: their ids in images, and their names and levels in text.
//!
//! Format: `docs/formats/squashfs.md`. **Invariant:** the writer and the readers know of a codec by
//! this file only, apart from the options that images store of it.

use sinterfs_codec::{Choice, CodecId, Dialect, Readers};

use crate::layout::Compressor;

/// The ids; the first codec of an id decodes.
const IDS: [(Compressor, CodecId); 7] = [
    (Compressor::GZIP, CodecId::Zlib),
    (Compressor::LZMA, CodecId::Lzma),
    (Compressor::LZO, CodecId::Lzo),
    (Compressor::XZ, CodecId::Xz),
    (Compressor::LZ4, CodecId::Lz4),
    (Compressor::LZ4, CodecId::Lz4Hc),
    (Compressor::ZSTD, CodecId::Zstd),
];

const fn choice(names: &'static [&'static str], codec: CodecId, level: i32) -> Choice {
    Choice {
        names,
        codec,
        level: Some(level),
    }
}

/// The level of Zstandard if none is named.
pub(crate) const ZSTD_LEVEL: i32 = 15;

/// The names. The levels are mksquashfs', except for LZ4, for which mksquashfs uses the highest: a
/// fifth slower than this one for 0.06 % of size.
pub(crate) static DIALECT: Dialect = Dialect {
    format: Some("SquashFS"),
    readers: Readers::Kernels,
    choices: &[
        choice(&["gzip", "zlib"], CodecId::Zlib, 9),
        choice(&["lzo"], CodecId::Lzo, 0),
        choice(&["lz4"], CodecId::Lz4, 0),
        choice(&["lz4hc"], CodecId::Lz4Hc, 11),
        choice(&["xz"], CodecId::Xz, 6),
        choice(&["zstd"], CodecId::Zstd, ZSTD_LEVEL),
        choice(&["lzma"], CodecId::Lzma, 6),
    ],
};

/// Returns the codec that decodes; `None` for an unknown id.
pub(crate) fn codec(id: Compressor) -> Option<CodecId> {
    let mut ids = IDS.iter();
    ids.find(|(known, _)| *known == id).map(|&(_, codec)| codec)
}

/// Returns the id of a codec; `None` for one that SquashFS does not have.
pub(crate) fn id(codec: CodecId) -> Option<Compressor> {
    let mut ids = IDS.iter();
    ids.find(|(_, known)| *known == codec).map(|&(id, _)| id)
}
