//! Definitions for header and index: versions, lengths and limits.
//!
//! **Invariant:** plain data. Format: `docs/formats/cloop.md`, "Layout".

/// The length of the script in bytes.
pub(crate) const SCRIPT_LEN: u64 = 128;

/// The length of the header in bytes, with the script.
pub(crate) const HEADER_LEN: u64 = SCRIPT_LEN + 8;

/// The largest block size in bytes.
pub(crate) const BLOCK_SIZE_MAX: u32 = 64 << 20;

/// The version of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CloopVersion {
    /// 0.68 and others before 1.0.
    V0,
    /// 1.0.
    V1,
    /// 2.0.
    V2,
    /// 3.0.
    V3,
    /// 4.0, whose blocks have codecs.
    V4,
}

impl CloopVersion {
    /// Returns the version whose number begins with a digit.
    pub(crate) fn of_digit(digit: u8) -> Option<Self> {
        Some(match digit {
            b'0' => Self::V0,
            b'1' => Self::V1,
            b'2' => Self::V2,
            b'3' => Self::V3,
            b'4' => Self::V4,
            _ => return None,
        })
    }
}
