//! Decodes LZMS.
//!
//! **Invariant:** work and memory depend on the content's length and on fixed tables.

use sinterfs_model::{Error, Result};

use super::adaptive::AdaptiveDecoder;
use super::range::{Decision, RangeDecoder};
use super::recent::Recent;
use super::slots::{self, Slot};
use super::{REPEATS, codes, states, targets};
use crate::prefix_code::{WordReader, copy_match, put};

/// Decodes a stream to exactly as many bytes as `output` has.
///
/// Fails with `Corrupt` for a damaged stream.
pub fn decode(stream: &[u8], output: &mut [u8]) -> Result<()> {
    if stream.len() < 4 || !stream.len().is_multiple_of(2) {
        let what = format!("an LZMS stream of {} bytes", stream.len());
        return Err(Error::corrupt(what));
    }
    let mut decoder = Decoder::new(stream, output.len())?;
    let mut at = 0;
    while at < output.len() {
        decoder.item(output, &mut at)?;
        // an item takes a bit at least: without this, four bytes decode to a chunk of any length
        decoder.reader.finish()?;
    }
    targets::make_relative(output);
    Ok(())
}

/// A difference of bytes that continues: bytes change as they did `distance << power` bytes
/// before, where the bytes compared are `1 << power` apart.
#[derive(Debug, Clone, Copy)]
struct Delta {
    power: u32,
    distance: u32,
}

struct Decoder<'a> {
    range: RangeDecoder<'a>,
    reader: WordReader<'a, true>,
    is_match: Decision<{ states::MAIN }>,
    is_delta: Decision<{ states::MATCH }>,
    is_repeat: Decision<{ states::REPEAT }>,
    is_older: [Decision<{ states::REPEAT }>; REPEATS - 1],
    is_delta_repeat: Decision<{ states::REPEAT }>,
    is_older_delta: [Decision<{ states::REPEAT }>; REPEATS - 1],
    literals: AdaptiveDecoder,
    lengths: AdaptiveDecoder,
    distances: AdaptiveDecoder,
    delta_distances: AdaptiveDecoder,
    powers: AdaptiveDecoder,
    recent: Recent<u32>,
    recent_deltas: Recent<Delta>,
}

impl<'a> Decoder<'a> {
    fn new(stream: &'a [u8], len: usize) -> Result<Self> {
        let distances = (slots::used_distances(len), codes::DISTANCES_ADAPT);
        let delta = |distance| Delta { power: 0, distance };
        Ok(Self {
            range: RangeDecoder::new(stream),
            reader: WordReader::new(stream),
            is_match: Decision::default(),
            is_delta: Decision::default(),
            is_repeat: Decision::default(),
            is_older: Default::default(),
            is_delta_repeat: Decision::default(),
            is_older_delta: Default::default(),
            literals: AdaptiveDecoder::new(codes::LITERALS)?,
            lengths: AdaptiveDecoder::new(codes::LENGTHS)?,
            distances: AdaptiveDecoder::new(distances)?,
            delta_distances: AdaptiveDecoder::new(distances)?,
            powers: AdaptiveDecoder::new(codes::POWERS)?,
            recent: Recent::new([1, 2, 3, 4]),
            recent_deltas: Recent::new([delta(1), delta(2), delta(3), delta(4)]),
        })
    }

    fn item(&mut self, output: &mut [u8], at: &mut usize) -> Result<()> {
        if !self.range.decide(&mut self.is_match) {
            let literal = self.literals.decode(&mut self.reader)?;
            self.recent.pass();
            self.recent_deltas.pass();
            return put(output, at, u8::try_from(literal).unwrap_or(0));
        }
        if self.range.decide(&mut self.is_delta) {
            let delta = self.delta()?;
            self.recent.pass();
            let len = number(&mut self.lengths, &mut self.reader, slots::of_lengths())?;
            return continue_delta(output, at, delta, len as usize);
        }
        let distance = self.distance()?;
        self.recent_deltas.pass();
        let len = number(&mut self.lengths, &mut self.reader, slots::of_lengths())?;
        copy_match(output, at, distance as usize, len as usize)
    }

    fn distance(&mut self) -> Result<u32> {
        if self.range.decide(&mut self.is_repeat) {
            let index = older(&mut self.range, &mut self.is_older);
            return Ok(self.recent.repeat(index));
        }
        let slots = slots::of_distances();
        let distance = number(&mut self.distances, &mut self.reader, slots)?;
        self.recent.push(distance);
        Ok(distance)
    }

    fn delta(&mut self) -> Result<Delta> {
        if self.range.decide(&mut self.is_delta_repeat) {
            let index = older(&mut self.range, &mut self.is_older_delta);
            return Ok(self.recent_deltas.repeat(index));
        }
        let power = self.powers.decode(&mut self.reader)?.into();
        let slots = slots::of_distances();
        let distance = number(&mut self.delta_distances, &mut self.reader, slots)?;
        let delta = Delta { power, distance };
        self.recent_deltas.push(delta);
        Ok(delta)
    }
}

/// Decodes the index of a repeated value.
fn older(
    range: &mut RangeDecoder<'_>,
    decisions: &mut [Decision<{ states::REPEAT }>; REPEATS - 1],
) -> usize {
    let mut index = 0;
    for decision in decisions {
        if !range.decide(decision) {
            break;
        }
        index += 1;
    }
    index
}

/// Decodes a number by its slot.
#[inline]
fn number(
    code: &mut AdaptiveDecoder,
    reader: &mut WordReader<'_, true>,
    slots: &[Slot],
) -> Result<u32> {
    let symbol = code.decode(reader)?;
    let slot = slots.get(usize::from(symbol)).copied();
    let slot = slot.ok_or_else(|| Error::corrupt("a symbol without meaning"))?;
    Ok(slot.base + reader.take(slot.bits))
}

/// Appends bytes that change as earlier ones.
fn continue_delta(output: &mut [u8], at: &mut usize, delta: Delta, len: usize) -> Result<()> {
    let span = 1_usize << delta.power;
    let back = (delta.distance as usize).saturating_mul(span);
    let start = *at;
    if back.checked_add(span).is_none_or(|back| back > start) {
        let what = format!("a delta {back} bytes back at byte {start}");
        return Err(Error::corrupt(what));
    }
    if len > output.len() - start {
        return Err(Error::corrupt("a delta past the end of the block"));
    }
    let byte = |output: &[u8], at: usize| output.get(at).copied().unwrap_or(0);
    for at in start..start + len {
        let changed = byte(output, at - back).wrapping_add(byte(output, at - span));
        let value = changed.wrapping_sub(byte(output, at - back - span));
        if let Some(room) = output.get_mut(at) {
            *room = value;
        }
    }
    *at = start + len;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_ends_early_is_not_decoded_further() {
        let mut output = vec![0xff; 1 << 16];
        let error = decode(&[0; 4], &mut output).unwrap_err();
        assert!(error.what().contains("ends too early"), "{error}");
        let written = output.iter().rposition(|byte| *byte != 0xff);
        assert!(written.is_some_and(|at| at < 64), "{written:?}");
    }
}
