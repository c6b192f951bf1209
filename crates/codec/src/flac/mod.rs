//! FLAC streams (RFC 9639): any block size up to 65535, 4 to 32 bits a sample, 1 to 8 channels,
//! inside and outside the streamable subset.
//!
//! In: a stream from `fLaC` on. Out: frame after frame of interleaved samples.
//!
//! **Invariant:** one frame is in memory (65535 samples of 8 channels); all checksums of
//! headers and frames are verified; a sample that does not fit its width is an error, so sums
//! cannot overflow. The MD5 of the whole stream is ignored: images have their own checksums.

mod bits;
mod checks;
mod codec;
mod encode;
mod frame;
mod subframe;

#[cfg(test)]
mod tests;

use sinterfs_model::Result;

use bits::Bits;
use checks::{bad, crc16, fits};
use frame::{FrameHeader, Stereo};

pub use checks::StreamInfo;
pub use codec::Flac;
pub(crate) use codec::FlacCodec;
pub use encode::{Encoder, MAX_LEVEL, RUN};

/// Decodes a stream frame by frame.
#[derive(Debug)]
pub struct Decoder<'a> {
    rest: &'a [u8],
    info: StreamInfo,
    channels: Vec<Vec<i64>>,
}

impl<'a> Decoder<'a> {
    /// Reads the metadata before the first frame. Fails with `Corrupt` for what is no stream.
    pub fn new(stream: &'a [u8]) -> Result<Self> {
        let mut rest = stream
            .strip_prefix(b"fLaC")
            .ok_or_else(|| bad("no stream marker"))?;
        let mut info = None;
        loop {
            let (&[head, l0, l1, l2], after) = rest
                .split_first_chunk()
                .ok_or_else(|| bad("metadata ends early"))?;
            let len = u32::from_be_bytes([0, l0, l1, l2]);
            let (block, after) = usize::try_from(len)
                .ok()
                .and_then(|len| after.split_at_checked(len))
                .ok_or_else(|| bad("metadata ends early"))?;
            match (info, head & 0x7f) {
                (None, 0) => info = Some(stream_info(block)?),
                (None, _) => return Err(bad("the first metadata is no stream information")),
                (Some(_), 0) => return Err(bad("stream information comes twice")),
                (Some(_), 127) => return Err(bad("impossible type of metadata")),
                (Some(_), _) => {}
            }
            rest = after;
            if let (Some(info), true) = (info, head & 0x80 != 0) {
                return Ok(Self {
                    rest,
                    info,
                    channels: Vec::new(),
                });
            }
        }
    }

    /// Returns the stream information.
    pub fn info(&self) -> StreamInfo {
        self.info
    }

    /// Decodes the next frame into `samples`, which holds this frame alone afterwards, with
    /// channels interleaved. Fails with `Corrupt` for a damaged frame and at the end.
    pub fn next_frame(&mut self, samples: &mut Vec<i32>) -> Result<()> {
        let mut bits = Bits::new(self.rest);
        let header = FrameHeader::read(&mut bits, self.info)?;
        self.channels.resize_with(header.channels, Vec::new);
        for (index, channel) in self.channels.iter_mut().enumerate() {
            let width = header.bits_per_sample + header.extra_bit(index);
            subframe::decode(&mut bits, header.block_size, width, channel)?;
        }
        bits.align();
        let checked = bits.consumed();
        let found = crc16(self.rest.get(..checked).unwrap_or_default());
        if bits.take(16)? != u64::from(found) {
            return Err(bad("the frame's checksum does not match"));
        }
        self.rest = self.rest.get(bits.consumed()..).unwrap_or_default();
        if let (Some(stereo), [first, second]) = (header.stereo, self.channels.as_mut_slice()) {
            undo_stereo(stereo, first, second);
        }
        interleave(&self.channels, header, samples)
    }
}

/// Reads the stream information: block sizes, frame sizes, rate (20 bits), channels - 1 (3), width
/// - 1 (5), samples (36), MD5.
fn stream_info(block: &[u8]) -> Result<StreamInfo> {
    if block.len() != 34 {
        return Err(bad("stream information has another length than 34 bytes"));
    }
    let mut bits = Bits::new(block);
    bits.take(40)?;
    bits.take(40)?;
    bits.take(20)?;
    let channels = u32::from(bits.take_u8(3)?) + 1;
    let bits_per_sample = u32::from(bits.take_u8(5)?) + 1;
    if bits_per_sample < 4 {
        return Err(bad("fewer than 4 bits a sample"));
    }
    Ok(StreamInfo {
        channels,
        bits_per_sample,
    })
}

/// Restores left and right from a sum or a difference.
fn undo_stereo(stereo: Stereo, first: &mut [i64], second: &mut [i64]) {
    for (a, b) in first.iter_mut().zip(second) {
        (*a, *b) = match stereo {
            Stereo::LeftSide => (*a, *a - *b),
            Stereo::SideRight => (*a + *b, *b),
            Stereo::MidSide => {
                // left + right and left - right have the same lowest bit
                let sum = *a << 1 | *b & 1;
                ((sum + *b) >> 1, (sum - *b) >> 1)
            }
        };
    }
}

/// Interleaves the samples of all channels.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a sample that is cut fails in the end"
)]
fn interleave(channels: &[Vec<i64>], header: FrameHeader, samples: &mut Vec<i32>) -> Result<()> {
    samples.clear();
    samples.resize(header.block_size * header.channels, 0);
    // the frame's width is at most 32 bits, so a sample that fits it fits an i32
    let mut all_fit = true;
    let mut put = |place: &mut i32, sample: i64| {
        all_fit &= fits(sample, header.bits_per_sample);
        *place = sample as i32;
    };
    match channels {
        [left, right] => {
            let places = samples.as_chunks_mut::<2>().0;
            for ([first, second], (&left, &right)) in places.iter_mut().zip(left.iter().zip(right))
            {
                put(first, left);
                put(second, right);
            }
        }
        channels => {
            for (index, channel) in channels.iter().enumerate() {
                let places = samples.iter_mut().skip(index).step_by(header.channels);
                places
                    .zip(channel)
                    .for_each(|(place, &sample)| put(place, sample));
            }
        }
    }
    if all_fit {
        Ok(())
    } else {
        Err(bad("a sample does not fit its width"))
    }
}
