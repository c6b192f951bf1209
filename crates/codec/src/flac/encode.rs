//! Encodes PCM audio as a FLAC stream (RFC 9639).
//!
//! In: samples with channels interleaved, 4 to 32 bits wide. Out: a whole stream. A run of samples
//! becomes one frame, or is halved repeatedly if that takes fewer bits: short frames suit speech
//! and the attack of notes, long ones the rest. Rate and MD5 are unknown: the stream declares 48
//! kHz and no MD5, since a block of an image needs neither.
//!
//! **Invariant:** depends only on samples and effort: no function is used whose result differs
//! between machines (`sin`, `ln`). Memory: the stream and some 50 bytes for each sample of one run.

#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "indexes and widths come from the samples being encoded, at most a run of them"
)]

mod bits;
mod effort;
mod frame;
mod lpc;
mod rice;
mod subframe;
mod window;

#[cfg(test)]
mod tests;

use sinterfs_model::{Error, Result};

use self::effort::Effort;
use self::frame::Frames;
use super::checks::{StreamInfo, fits};

/// Samples of one channel in the longest frame.
pub const RUN: usize = 4096;

/// Bytes before the first frame: marker, header and stream information.
const HEAD: usize = 4 + 4 + 34;

/// The declared rate, in hertz.
const RATE: u64 = 48_000;

/// The highest level of effort.
pub const MAX_LEVEL: u32 = 8;

/// Encodes runs of samples, one after the other.
#[derive(Debug)]
pub struct Encoder {
    info: StreamInfo,
    frames: Frames,
    out: Vec<u8>,
    channels: Vec<Vec<i32>>,
    /// Samples of one channel so far.
    position: u64,
    /// Bytes of the shortest and the longest frame.
    frame_bytes: (usize, usize),
    /// Samples of one channel in the shortest frame but for the last, and in the longest.
    frame_samples: (usize, usize),
    /// Samples of one channel in the last frame so far.
    last: Option<usize>,
}

impl Encoder {
    /// Starts a stream; `level` is 0 to 8, `exhaustive` tries everything at any level.
    ///
    /// # Errors
    /// `Invalid` for parameters that FLAC does not allow.
    pub fn new(info: StreamInfo, level: u32, exhaustive: bool) -> Result<Self> {
        let StreamInfo {
            channels,
            bits_per_sample,
        } = info;
        if !(1..=8).contains(&channels) || !(4..=32).contains(&bits_per_sample) {
            return Err(Error::invalid(format!(
                "flac: {channels} channels of {bits_per_sample} bits"
            )));
        }
        let effort = match (exhaustive, Effort::LEVELS.get(level as usize)) {
            (true, _) => Effort::EXHAUSTIVE,
            (false, Some(effort)) => *effort,
            (false, None) => return Err(Error::invalid(format!("flac: level {level}"))),
        };
        Ok(Self {
            info,
            frames: Frames::new(info, effort),
            out: vec![0; HEAD],
            channels: vec![Vec::new(); channels as usize],
            position: 0,
            frame_bytes: (usize::MAX, 0),
            frame_samples: (usize::MAX, 0),
            last: None,
        })
    }

    /// Appends a run of interleaved samples, at most [`RUN`] of each channel.
    ///
    /// # Errors
    /// `Invalid` for a longer run, for an incomplete run and for a sample that does not fit its
    /// width.
    pub fn push(&mut self, samples: &[i32]) -> Result<()> {
        let count = self.channels.len();
        let width = self.info.bits_per_sample;
        if !samples.len().is_multiple_of(count) || samples.len() / count > RUN {
            let len = samples.len();
            return Err(Error::invalid(format!(
                "flac: a run of {len} samples of {count} channels"
            )));
        }
        if !samples.iter().all(|&sample| fits(sample.into(), width)) {
            return Err(Error::invalid(format!(
                "flac: a sample of more than {width} bits"
            )));
        }
        if samples.is_empty() {
            return Ok(());
        }
        for (index, channel) in self.channels.iter_mut().enumerate() {
            channel.clear();
            channel.extend(samples.iter().skip(index).step_by(count));
        }
        for frame in self.frames.encode(&self.channels, self.position)? {
            let (bytes, samples) = (frame.bytes.len(), frame.samples);
            self.frame_bytes.0 = self.frame_bytes.0.min(bytes);
            self.frame_bytes.1 = self.frame_bytes.1.max(bytes);
            // the last frame is not used for the shortest length
            if let Some(last) = self.last.replace(samples) {
                self.frame_samples.0 = self.frame_samples.0.min(last);
            }
            self.frame_samples.1 = self.frame_samples.1.max(samples);
            self.out.extend_from_slice(&frame.bytes);
        }
        self.position += (samples.len() / count) as u64;
        Ok(())
    }

    /// Ends the stream.
    pub fn finish(mut self) -> Vec<u8> {
        let mut head = bits::Writer::default();
        head.put(u64::from(u32::from_be_bytes(*b"fLaC")), 32);
        // the only and so the last metadata: type 0, 34 bytes
        head.put(0x8000_0022, 32);
        let longest = self.frame_samples.1.max(16);
        head.put(self.frame_samples.0.clamp(16, longest) as u64, 16);
        head.put(longest as u64, 16);
        let (least, most) = self.frame_bytes;
        let size = |bytes: usize| if bytes < 1 << 24 { bytes as u64 } else { 0 };
        head.put(size(least), 24);
        head.put(size(most), 24);
        head.put(RATE, 20);
        head.put(u64::from(self.info.channels - 1), 3);
        head.put(u64::from(self.info.bits_per_sample - 1), 5);
        // 0: unknown
        let samples = if self.position < 1 << 36 {
            self.position
        } else {
            0
        };
        head.put(samples, 36);
        (0..4).for_each(|_| head.put(0, 32));
        let head = head.finish();
        for (to, from) in self.out.iter_mut().zip(head) {
            *to = from;
        }
        self.out
    }
}
