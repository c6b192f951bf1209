//! Frame headers (RFC 9639, section 9.1).

use sinterfs_model::Result;

use super::bits::Bits;
use super::checks::{StreamInfo, bad, crc8};

/// The header of a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameHeader {
    /// Samples of one channel, 1 to 65535.
    pub(super) block_size: usize,
    /// The number of channels, 1 to 8.
    pub(super) channels: usize,
    /// The width of a sample in bits, 4 to 32.
    pub(super) bits_per_sample: u32,
    /// The pair that two channels hold instead of left and right.
    pub(super) stereo: Option<Stereo>,
}

/// The ways to store two channels by their sum and difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stereo {
    LeftSide,
    SideRight,
    MidSide,
}

impl FrameHeader {
    /// Reads a header. Fails with `Corrupt` if it contradicts the stream information or its
    /// checksum.
    pub(super) fn read(bits: &mut Bits<'_>, info: StreamInfo) -> Result<Self> {
        // the bits start with the header
        let mut seen = Vec::with_capacity(16);
        let mut byte = |bits: &mut Bits<'_>| -> Result<u8> {
            let byte = bits.take_u8(8)?;
            seen.push(byte);
            Ok(byte)
        };
        if byte(bits)? != 0xff || byte(bits)? & 0xfe != 0xf8 {
            return Err(bad("no frame where one is expected"));
        }
        let (sizes, kinds) = (byte(bits)?, byte(bits)?);
        number(|| byte(bits))?;
        let block_size = match sizes >> 4 {
            1 => 192,
            code @ 2..=5 => 576 << (code - 2),
            6 => usize::from(byte(bits)?) + 1,
            7 => usize::from(u16::from_be_bytes([byte(bits)?, byte(bits)?])) + 1,
            code @ 8.. => 256 << (code - 8),
            0 => return Err(bad("reserved block size")),
        };
        if block_size > 65_535 {
            return Err(bad("block size above 65535"));
        }
        // the rate does not matter, but its bytes have to be skipped
        match sizes & 0x0f {
            12 => drop(byte(bits)?),
            13 | 14 => drop((byte(bits)?, byte(bits)?)),
            15 => return Err(bad("impossible sample rate")),
            _ => {}
        }
        let bits_per_sample = match kinds >> 1 & 7 {
            0 => info.bits_per_sample,
            1 => 8,
            2 => 12,
            4 => 16,
            5 => 20,
            6 => 24,
            7 => 32,
            _ => return Err(bad("reserved sample width")),
        };
        let (channels, stereo) = match kinds >> 4 {
            code @ 0..=7 => (usize::from(code) + 1, None),
            8 => (2, Some(Stereo::LeftSide)),
            9 => (2, Some(Stereo::SideRight)),
            10 => (2, Some(Stereo::MidSide)),
            _ => return Err(bad("reserved channel assignment")),
        };
        if kinds & 1 != 0 {
            return Err(bad("reserved bit of a frame header is set"));
        }
        if bits.take_u8(8)? != crc8(&seen) {
            return Err(bad("the frame header's checksum does not match"));
        }
        if channels as u64 != u64::from(info.channels) || bits_per_sample != info.bits_per_sample {
            return Err(bad(
                "a frame has other channels or another width than the stream",
            ));
        }
        Ok(Self {
            block_size,
            channels,
            bits_per_sample,
            stereo,
        })
    }

    /// Returns how much wider a channel is: a difference of samples needs one bit more.
    pub(super) fn extra_bit(&self, channel: usize) -> u32 {
        let side = match self.stereo {
            None => return 0,
            Some(Stereo::SideRight) => 0,
            Some(Stereo::LeftSide | Stereo::MidSide) => 1,
        };
        u32::from(channel == side)
    }
}

/// Takes the frame's or sample's number: up to 36 bits, coded as UTF-8 codes characters.
fn number(mut byte: impl FnMut() -> Result<u8>) -> Result<()> {
    let following = match byte()?.leading_ones() {
        0 => 0,
        ones @ 2..=7 => ones - 1,
        _ => return Err(bad("impossible frame number")),
    };
    for _ in 0..following {
        if byte()? & 0xc0 != 0x80 {
            return Err(bad("impossible frame number"));
        }
    }
    Ok(())
}
