//! What a codec of its own has to know about samples: PCM audio and 16-bit images.
//!
//! **Invariant:** plain values, so that equal formats are one category.

/// The order of the bytes of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ByteOrder {
    /// Least significant first.
    Little,
    /// Most significant first.
    Big,
}

/// Where a sample lies in bytes that have more bits than it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Padding {
    /// Zeros in the least significant bits; also said of samples that fill their bytes.
    Low,
    /// The sample's sign, or zeros if it has none, in the most significant bits.
    High,
}

/// How PCM audio lies in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Waveform {
    /// Interleaved channels.
    pub channels: u8,
    /// Bits of a sample that mean something.
    pub bits: u8,
    /// Bytes of a sample.
    pub bytes: u8,
    /// The order of a sample's bytes.
    pub order: ByteOrder,
    /// Whether samples are in two's complement, not unsigned with the silence in the middle.
    pub signed: bool,
    /// Where the other bits are.
    pub padding: Padding,
}

impl Waveform {
    /// Counts the bytes of one sample of every channel.
    pub const fn frame(self) -> u32 {
        self.channels as u32 * self.bytes as u32
    }
}

/// How an image of 16-bit samples lies in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RawImage {
    /// Interleaved components: 1, or 2 where neighbours differ in colour.
    pub components: u8,
    /// Low bits that seem to be zero in every sample; to be checked before they are left out.
    pub unused_lsb: u8,
    /// The order of a sample's bytes.
    pub order: ByteOrder,
}

impl RawImage {
    /// Counts the bytes of one sample of every component.
    pub const fn frame(self) -> u32 {
        self.components as u32 * 2
    }
}
