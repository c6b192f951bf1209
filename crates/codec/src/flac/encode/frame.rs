//! Frames (RFC 9639, section 9): a run of samples as one frame, or as several shorter ones.
//!
//! **Invariant:** every frame starts and ends at a whole byte and contains the number of its first
//! sample, so that frames of any length can follow each other.

use sinterfs_model::{Error, Result};

use super::super::checks::{StreamInfo, crc8, crc16};
use super::bits::Writer;
use super::effort::Effort;
use super::lpc::log2;
use super::subframe::{Chooser, Subframe};

/// The shortest frame that a run is split into, in samples of one channel.
const SHORTEST: usize = 128;

/// A whole frame.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) bytes: Vec<u8>,
    /// Samples of one channel.
    pub(super) samples: usize,
}

/// Makes frames.
#[derive(Debug)]
pub(super) struct Frames {
    info: StreamInfo,
    effort: Effort,
    chooser: Chooser,
}

/// The channel assignments of two channels, by the code of RFC 9639.
const LEFT_RIGHT: u64 = 1;
const LEFT_SIDE: u64 = 8;
const SIDE_RIGHT: u64 = 9;
const MID_SIDE: u64 = 10;

impl Frames {
    pub(super) fn new(info: StreamInfo, effort: Effort) -> Self {
        Self {
            info,
            effort,
            chooser: Chooser::new(effort),
        }
    }

    /// Makes the frames of a run; `number` is the number of its first sample.
    pub(super) fn encode(&mut self, channels: &[Vec<i32>], number: u64) -> Result<Vec<Frame>> {
        let channels: Vec<&[i32]> = channels.iter().map(Vec::as_slice).collect();
        self.shortest(&channels, number, self.effort.halvings)
    }

    /// Makes one frame, or a frame for each half if the two are shorter.
    fn shortest(&mut self, run: &[&[i32]], number: u64, halvings: u32) -> Result<Vec<Frame>> {
        let whole = self.frame(run, number)?;
        let len = whole.samples;
        // of a length that many numbers of partitions divide
        let half = (len / 2).next_multiple_of(SHORTEST);
        if halvings == 0 || half >= len || len < 2 {
            return Ok(vec![whole]);
        }
        let (first, second): (Vec<_>, Vec<_>) =
            run.iter().map(|channel| channel.split_at(half)).unzip();
        let mut frames = self.shortest(&first, number, halvings - 1)?;
        frames.extend(self.shortest(&second, number + half as u64, halvings - 1)?);
        let bytes: usize = frames.iter().map(|frame| frame.bytes.len()).sum();
        Ok(if bytes < whole.bytes.len() {
            frames
        } else {
            vec![whole]
        })
    }

    fn frame(&mut self, run: &[&[i32]], number: u64) -> Result<Frame> {
        let samples = run.first().map_or(0, |channel| channel.len());
        let width = self.info.bits_per_sample;
        let (assignment, parts) = match *run {
            // the difference of 32 bits would need 33
            [left, right] if width < 32 => self.stereo(left, right, width),
            _ => {
                let parts = run.iter().map(|&channel| self.part(channel, width));
                (run.len() as u64 - 1, parts.collect())
            }
        };
        let bits = parts
            .iter()
            .map(|part: &CodedChannel<'_>| part.subframe.bits)
            .sum();
        let mut out = Writer::with_capacity(bits);
        header(
            &mut out,
            assignment << 4 | width_code(width) << 1,
            samples,
            number,
        )?;
        for part in &parts {
            part.subframe.write(&part.samples, &mut out);
        }
        let mut bytes = out.finish();
        let crc = crc16(&bytes);
        bytes.extend_from_slice(&crc.to_be_bytes());
        Ok(Frame { bytes, samples })
    }

    fn part<'s>(
        &mut self,
        samples: impl Into<std::borrow::Cow<'s, [i32]>>,
        width: u32,
    ) -> CodedChannel<'s> {
        let samples = samples.into();
        CodedChannel {
            subframe: self.chooser.best(&samples, width),
            samples,
        }
    }

    /// Stores two channels as left and right, or with their mean or difference.
    fn stereo<'s>(
        &mut self,
        left: &'s [i32],
        right: &'s [i32],
        width: u32,
    ) -> (u64, Vec<CodedChannel<'s>>) {
        let pairs = left.iter().zip(right);
        let mid: Vec<i32> = pairs
            .clone()
            .map(|(left, right)| (left + right) >> 1)
            .collect();
        let side: Vec<i32> = pairs.map(|(left, right)| left - right).collect();
        if !self.effort.stereo {
            let [l, r, m, s] = [left, right, &mid, &side].map(estimate);
            let assignment = choose([l + r, l + s, s + r, m + s]);
            let (first, second) = match assignment {
                LEFT_RIGHT => (self.part(left, width), self.part(right, width)),
                LEFT_SIDE => (self.part(left, width), self.part(side, width + 1)),
                SIDE_RIGHT => (self.part(side, width + 1), self.part(right, width)),
                _ => (self.part(mid, width), self.part(side, width + 1)),
            };
            return (assignment, vec![first, second]);
        }
        let (left, right) = (self.part(left, width), self.part(right, width));
        let (mid, side) = (self.part(mid, width), self.part(side, width + 1));
        let [l, r, m, s] = [&left, &right, &mid, &side].map(|part| part.subframe.bits as f64);
        let assignment = choose([l + r, l + s, s + r, m + s]);
        let parts = match assignment {
            LEFT_RIGHT => vec![left, right],
            LEFT_SIDE => vec![left, side],
            SIDE_RIGHT => vec![side, right],
            _ => vec![mid, side],
        };
        (assignment, parts)
    }
}

/// A channel, or the mean or difference of two, with its subframe.
struct CodedChannel<'s> {
    samples: std::borrow::Cow<'s, [i32]>,
    subframe: Subframe,
}

/// Returns the assignment with the fewest bits, the first of several.
fn choose(bits: [f64; 4]) -> u64 {
    let mut best = (f64::INFINITY, LEFT_RIGHT);
    for (bits, way) in bits
        .into_iter()
        .zip([LEFT_RIGHT, LEFT_SIDE, SIDE_RIGHT, MID_SIDE])
    {
        if bits < best.0 {
            best = (bits, way);
        }
    }
    best.1
}

/// Estimates the bits of a sample by the residuals of the second fixed predictor.
fn estimate(samples: &[i32]) -> f64 {
    let left = samples.windows(3).map(|three| match *three {
        [a, b, c] => (i64::from(c) - 2 * i64::from(b) + i64::from(a)).unsigned_abs(),
        _ => 0,
    });
    let sum: u64 = left.fold(0, u64::wrapping_add);
    log2(sum as f64 / samples.len() as f64).max(0.0)
}

/// Returns the code of a width; 0 refers to the stream information.
fn width_code(width: u32) -> u64 {
    match width {
        8 => 1,
        12 => 2,
        16 => 4,
        20 => 5,
        24 => 6,
        32 => 7,
        _ => 0,
    }
}

/// Writes a frame's header; `kinds` is its byte of channel assignment and width.
fn header(out: &mut Writer, kinds: u64, samples: usize, number: u64) -> Result<()> {
    let mut head = Writer::default();
    // the sync code, and variable block sizes
    head.put(0xfff9, 16);
    // the code for an explicit number of samples; the stream has the rate
    let short = samples <= 256;
    head.put(if short { 6 } else { 7 } << 4, 8);
    head.put(kinds, 8);
    let too_many = || Error::limit("flac: 2^36 samples or more");
    for byte in coded_number(number).ok_or_else(too_many)? {
        head.put(byte.into(), 8);
    }
    head.put(samples as u64 - 1, if short { 8 } else { 16 });
    let head = head.finish();
    let crc = crc8(&head);
    for byte in head {
        out.put(byte.into(), 8);
    }
    out.put(crc.into(), 8);
    Ok(())
}

/// Encodes a number of up to 36 bits in the way of UTF-8.
fn coded_number(number: u64) -> Option<Vec<u8>> {
    if number < 0x80 {
        return Some(vec![number as u8]);
    }
    // the first byte has 6 - following bits of the number
    let following = (1..=6).find(|&following| number >> (5 * following + 6) == 0)?;
    let ones = !(0x7f_u8 >> following);
    let mut bytes = vec![ones | (number >> (6 * following)) as u8];
    bytes.extend(
        (0..following)
            .rev()
            .map(|at| 0x80 | (number >> (6 * at) & 0x3f) as u8),
    );
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_coded_as_characters_are() {
        for character in ['a', 'é', '€', '😀'] {
            let mut utf8 = [0; 4];
            let expected = character.encode_utf8(&mut utf8).as_bytes().to_vec();
            assert_eq!(coded_number(u64::from(character)).unwrap(), expected);
        }
        assert_eq!(coded_number(1 << 31).unwrap().len(), 7);
        assert_eq!(coded_number((1 << 36) - 1).unwrap()[0], 0xfe);
        assert_eq!(coded_number(1 << 36), None);
    }
}
