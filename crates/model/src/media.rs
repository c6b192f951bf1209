//! The sample formats of content with a special codec: PCM audio and 16-bit images.
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

/// Which bits of a sample's bytes are padding, if the sample has fewer bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Padding {
    /// Zeros in the least significant bits; also used if there is no padding.
    Low,
    /// The sample's sign, or zeros if it has none, in the most significant bits.
    High,
}

/// The format of PCM audio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Waveform {
    /// Interleaved channels.
    pub channels: u8,
    /// Significant bits of a sample.
    pub bits: u8,
    /// Bytes of a sample.
    pub bytes: u8,
    /// The byte order of samples.
    pub order: ByteOrder,
    /// Whether samples are in two's complement; if not, they are unsigned.
    pub signed: bool,
    /// The position of the padding.
    pub padding: Padding,
}

impl Waveform {
    /// Returns the bytes of one sample of every channel.
    pub const fn frame(self) -> u32 {
        self.channels as u32 * self.bytes as u32
    }
}

/// The format of an image of 16-bit samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RawImage {
    /// Interleaved components: 1, or 2 if neighbouring samples differ in colour.
    pub components: u8,
    /// Low bits that seem to be zero in every sample; an encoder has to verify that.
    pub unused_lsb: u8,
    /// The byte order of samples.
    pub order: ByteOrder,
}

impl RawImage {
    /// Returns the bytes of one sample of every component.
    pub const fn frame(self) -> u32 {
        self.components as u32 * 2
    }
}
