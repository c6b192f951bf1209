//! The codecs of EROFS: their algorithms in images, and their names and levels in text.

use sinterfs_codec::{Choice, CodecId, Dialect, Readers};

use crate::read::Algorithm;

/// The algorithms; the first codec of one decodes.
const ALGORITHMS: [(Algorithm, CodecId); 5] = [
    (Algorithm::Lz4, CodecId::Lz4),
    (Algorithm::Lz4, CodecId::Lz4Hc),
    (Algorithm::MicroLzma, CodecId::MicroLzma),
    (Algorithm::Deflate, CodecId::Deflate),
    (Algorithm::Zstd, CodecId::Zstd),
];

const fn choice(names: &'static [&'static str], codec: CodecId, level: i32) -> Choice {
    Choice {
        names,
        codec,
        level: Some(level),
    }
}

/// The names, and the levels if none is named.
pub(crate) static DIALECT: Dialect = Dialect {
    format: Some("EROFS"),
    readers: Readers::Kernels,
    choices: &[
        choice(&["none"], CodecId::Null, 0),
        choice(&["lz4"], CodecId::Lz4, 0),
        choice(&["lz4hc"], CodecId::Lz4Hc, 11),
        choice(&["lzma", "microlzma"], CodecId::MicroLzma, 6),
        choice(&["deflate"], CodecId::Deflate, 9),
        choice(&["zstd"], CodecId::Zstd, 15),
    ],
};

/// Returns the codec that decodes.
pub(crate) fn codec(algorithm: Algorithm) -> CodecId {
    let mut all = ALGORITHMS.iter();
    let row = all.find(|(known, _)| *known == algorithm);
    row.map_or(CodecId::Null, |&(_, codec)| codec)
}

/// Returns the algorithm of a codec; `None` if it has none.
pub(crate) fn algorithm(codec: CodecId) -> Option<Algorithm> {
    let mut all = ALGORITHMS.iter();
    let row = all.find(|(_, known)| *known == codec);
    row.map(|&(algorithm, _)| algorithm)
}
