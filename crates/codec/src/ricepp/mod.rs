//! Rice codes of 16-bit samples in blocks, the format of upstream's ricepp library for raw images.
//!
//! In: a bit stream, least significant bit first. First comes a start value of 16 bits for each
//! component; then, for every block of samples and each component in turn, a selector of 4 bits:
//! 0 repeats the last value, 1 to 14 is a Rice parameter (plus one) for zigzagged differences, 15
//! means plain samples of 16 bits. Out: the samples as they are in the file.
//!
//! **Invariant:** every step consumes bits of the stream, and output is never ahead of input by
//! more than the samples of one selector; reading past the end is an error.

mod codec;
mod encode;
mod packing;

use sinterfs_model::{Error, Result};

use crate::with_room;

use packing::{PLAIN, SELECTOR_BITS};

pub use codec::Ricepp;
pub(crate) use codec::RiceppCodec;
pub use encode::{encode, unused_lsb};
pub use packing::{MAX_BLOCK, MAX_COMPONENTS, Packing};

/// Decodes a stream of exactly `decoded_len` bytes; which the caller has compared with its limit.
pub fn decode(stream: &[u8], decoded_len: u64, packing: Packing) -> Result<Vec<u8>> {
    packing.check()?;
    if !decoded_len.is_multiple_of(2 * packing.components as u64) {
        return Err(Error::corrupt(format!(
            "ricepp: {decoded_len} bytes are no whole samples of {} components",
            packing.components
        )));
    }
    let mut decoded = with_room(decoded_len)?;
    let mut left = usize::try_from(decoded_len)
        .map_err(|_| Error::limit(format!("no memory for {decoded_len} bytes")))?
        / 2;
    if left == 0 {
        return Ok(decoded);
    }
    let mut bits = Bits::new(stream);
    let mut last = [0; MAX_COMPONENTS];
    let last = last.get_mut(..packing.components).unwrap_or_default();
    for value in last.iter_mut() {
        *value = bits.take(16)?;
    }
    let mut samples = [[0; 2]; MAX_BLOCK * MAX_COMPONENTS];
    while left > 0 {
        let count = left.min(packing.block_size * packing.components);
        let block = samples.get_mut(..count).unwrap_or_default();
        for (component, value) in last.iter_mut().enumerate() {
            let own = block.iter_mut().skip(component).step_by(packing.components);
            *value = decode_block(own, &mut bits, packing, *value)?;
        }
        decoded.extend_from_slice(block.as_flattened());
        left -= count;
    }
    Ok(decoded)
}

/// Decodes one block of one component and returns its last value.
#[expect(
    clippy::cast_possible_truncation,
    reason = "differences are modulo 2^16"
)]
fn decode_block<'s>(
    samples: impl Iterator<Item = &'s mut [u8; 2]>,
    bits: &mut Bits<'_>,
    packing: Packing,
    mut last: u16,
) -> Result<u16> {
    match bits.take(SELECTOR_BITS)? {
        0 => {
            let same = packing.write(last);
            samples.for_each(|sample| *sample = same);
        }
        PLAIN => {
            for sample in samples {
                *sample = bits.take(16)?.to_le_bytes();
                last = packing.read(*sample);
            }
        }
        selector => {
            let low_bits = u32::from(selector) - 1;
            for sample in samples {
                let zigzag = (bits.zeros()? << low_bits) | u64::from(bits.take(low_bits)?);
                // arithmetic is modulo 2^16: higher bits do not matter
                let difference = ((zigzag >> 1) ^ (zigzag & 1).wrapping_neg()) as u16;
                last = last.wrapping_add(difference);
                *sample = packing.write(last);
            }
        }
    }
    Ok(last)
}

/// Bits of a byte string, least significant first.
struct Bits<'a> {
    rest: &'a [u8],
    /// The bits at hand, lowest next; zero above `have`.
    word: u64,
    have: u32,
}

impl<'a> Bits<'a> {
    fn new(rest: &'a [u8]) -> Self {
        Self {
            rest,
            word: 0,
            have: 0,
        }
    }

    /// Gets the next up to 64 bits when none are left.
    fn refill(&mut self) -> Result<()> {
        if let Some((word, rest)) = self.rest.split_first_chunk() {
            (self.word, self.have, self.rest) = (u64::from_le_bytes(*word), 64, rest);
            return Ok(());
        }
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(self.rest) {
            *to = *from;
        }
        self.have = u32::try_from(self.rest.len()).unwrap_or(0) * 8;
        self.word = u64::from_le_bytes(word);
        self.rest = &[];
        if self.have == 0 {
            Err(Error::corrupt("ricepp: stream ends early"))
        } else {
            Ok(())
        }
    }

    /// Takes a number of up to 16 bits.
    #[expect(clippy::cast_possible_truncation, reason = "no more bits were taken")]
    fn take(&mut self, count: u32) -> Result<u16> {
        let mut value = 0;
        let mut got = 0;
        while got < count {
            if self.have == 0 {
                self.refill()?;
            }
            let part = (count - got).min(self.have);
            value |= (self.word & ((1 << part) - 1)) << got;
            self.word >>= part;
            self.have -= part;
            got += part;
        }
        Ok(value as u16)
    }

    /// Takes zeros and the one after them; returns the number of zeros.
    fn zeros(&mut self) -> Result<u64> {
        let mut zeros = 0;
        while self.word == 0 {
            zeros += u64::from(self.have);
            self.refill()?;
        }
        let here = self.word.trailing_zeros();
        self.word = self.word >> here >> 1;
        self.have -= here + 1;
        Ok(zeros + u64::from(here))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes bits, least significant first.
    #[derive(Default)]
    struct Writer(Vec<bool>);

    impl Writer {
        fn put(&mut self, value: u64, count: u32) {
            self.0.extend((0..count).map(|bit| value >> bit & 1 == 1));
        }

        fn bytes(&self) -> Vec<u8> {
            let byte = |bits: &[bool]| {
                bits.iter()
                    .rev()
                    .fold(0, |byte, &bit| byte << 1 | u8::from(bit))
            };
            self.0.chunks(8).map(byte).collect()
        }
    }

    /// Encodes with a selector for every block taken in turn from `selectors`.
    fn encode(raw: &[u8], packing: Packing, selectors: &[u16]) -> Vec<u8> {
        let samples: Vec<[u8; 2]> = raw.chunks(2).map(|pair| [pair[0], pair[1]]).collect();
        let mut bits = Writer::default();
        let mut last = [0; 2];
        for (component, value) in last.iter_mut().enumerate().take(packing.components) {
            *value = packing.read(samples[component]);
            bits.put((*value).into(), 16);
        }
        let mut selectors = selectors.iter().cycle();
        for block in samples.chunks(packing.block_size * packing.components) {
            for (component, last) in last.iter_mut().enumerate().take(packing.components) {
                let own: Vec<[u8; 2]> = block
                    .iter()
                    .copied()
                    .skip(component)
                    .step_by(packing.components)
                    .collect();
                let selector = *selectors.next().unwrap();
                bits.put(selector.into(), 4);
                for sample in own {
                    let value = packing.read(sample);
                    let difference = value.wrapping_sub(*last);
                    *last = value;
                    match selector {
                        0 => assert_eq!(difference, 0),
                        15 => bits.put(u16::from_le_bytes(sample).into(), 16),
                        _ => {
                            let zigzag = difference << 1 ^ (difference >> 15).wrapping_neg();
                            let low_bits = u32::from(selector) - 1;
                            bits.0.extend((0..zigzag >> low_bits).map(|_| false));
                            bits.put(1, 1);
                            bits.put(zigzag.into(), low_bits);
                        }
                    }
                }
            }
        }
        bits.bytes()
    }

    #[test]
    fn round_trip_of_every_packing() {
        let mut state = 7u32;
        let values: Vec<u16> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // now and then far away, so that differences wrap
            (if state >> 27 == 0 {
                state >> 16
            } else {
                300 + (state >> 24)
            }) as u16
        })
        .take(2000)
        .collect();
        for (components, big_endian, unused_lsb) in [
            (1, false, 0),
            (1, true, 2),
            (2, true, 0),
            (2, false, 4),
            (1, true, 8),
            (2, true, 15),
        ] {
            for block_size in [1, 16, 128, 512] {
                let packing = Packing {
                    block_size,
                    components,
                    unused_lsb,
                    big_endian,
                };
                let raw: Vec<u8> = values
                    .iter()
                    .flat_map(|&value| packing.write(value & (0xffff >> unused_lsb)))
                    .collect();
                let stream = encode(&raw, packing, &[9, 15, 1, 14, 5]);
                let decoded = decode(&stream, raw.len() as u64, packing).unwrap();
                assert!(decoded == raw, "{packing:?}");
                let cut = decode(&stream[..stream.len() - 1], raw.len() as u64, packing);
                assert!(cut.is_err(), "{packing:?}");
            }
        }
    }

    #[test]
    fn constant_blocks_take_four_bits() {
        let packing = Packing {
            block_size: 512,
            components: 1,
            unused_lsb: 0,
            big_endian: true,
        };
        let raw = [0x12, 0x34].repeat(2048);
        let stream = encode(&raw, packing, &[0]);
        assert_eq!(stream, [0x34, 0x12, 0, 0]);
        assert_eq!(decode(&stream, 4096, packing).unwrap(), raw);
        assert_eq!(decode(&stream, 0, packing).unwrap(), []);
        assert!(decode(&stream, 4097, packing).is_err());
        assert!(decode(&stream, 1 << 20, packing).is_err());
    }

    #[test]
    fn impossible_packings_are_refused() {
        let good = Packing {
            block_size: 128,
            components: 1,
            unused_lsb: 0,
            big_endian: true,
        };
        for packing in [
            Packing {
                block_size: 0,
                ..good
            },
            Packing {
                block_size: 513,
                ..good
            },
            Packing {
                components: 0,
                ..good
            },
            Packing {
                components: 3,
                ..good
            },
            Packing {
                unused_lsb: 16,
                ..good
            },
        ] {
            assert!(decode(&[0; 100], 64, packing).is_err(), "{packing:?}");
        }
    }
}
