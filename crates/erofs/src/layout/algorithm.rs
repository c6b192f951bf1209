//! The algorithms of compressed content, by their numbers in images.

/// How pclusters are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// LZ4 blocks.
    Lz4,
    /// LZMA with a header of one byte.
    MicroLzma,
    /// DEFLATE without a header.
    Deflate,
    /// Zstandard frames.
    Zstd,
}

impl Algorithm {
    /// All algorithms, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Lz4, Self::MicroLzma, Self::Deflate, Self::Zstd];

    /// Returns the algorithm of a number, if there is one.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Returns the algorithm's number.
    pub fn number(self) -> u8 {
        match self {
            Self::Lz4 => 0,
            Self::MicroLzma => 1,
            Self::Deflate => 2,
            Self::Zstd => 3,
        }
    }

    /// Returns the algorithm's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lz4 => "lz4",
            Self::MicroLzma => "lzma",
            Self::Deflate => "deflate",
            Self::Zstd => "zstd",
        }
    }
}
