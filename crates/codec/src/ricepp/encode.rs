//! Encodes 16-bit samples in Rice codes.
//!
//! In: samples as they are in a file. Out: the bit stream that `decode` reads. Every block of
//! samples gets the selector that takes the fewest bits.
//!
//! **Invariant:** depends only on the samples and the packing; the stream exceeds the samples by
//! at most a selector for each block and the start values.

#![expect(
    clippy::cast_possible_truncation,
    reason = "indexes and widths come from the samples being encoded, at most a block of them"
)]

use sinterfs_model::{Error, Result};

use super::packing::{MAX_COMPONENTS, PLAIN, Packing, SELECTOR_BITS};

/// Encodes whole samples of all components.
///
/// # Errors
/// `Invalid` for a packing that does not match the samples: incomplete samples, low bits that are
/// not zero, parameters out of range.
pub fn encode(raw: &[u8], packing: Packing) -> Result<Vec<u8>> {
    packing.check()?;
    let (pairs, rest) = raw.as_chunks::<2>();
    if !rest.is_empty() || !pairs.len().is_multiple_of(packing.components) {
        return Err(Error::invalid(format!(
            "ricepp: {} bytes are no whole samples of {} components",
            raw.len(),
            packing.components
        )));
    }
    if unused_lsb(raw, packing.big_endian) < packing.unused_lsb {
        return Err(Error::invalid("ricepp: low bits that are not zero"));
    }
    let mut bits = Writer::default();
    let mut last = [0; MAX_COMPONENTS];
    for (value, pair) in last.iter_mut().zip(pairs).take(packing.components) {
        *value = packing.read(*pair);
        bits.put((*value).into(), 16);
    }
    let mut own = Vec::with_capacity(packing.block_size);
    let mut zigzags = Vec::with_capacity(packing.block_size);
    for block in pairs.chunks(packing.block_size * packing.components) {
        for (component, last) in last.iter_mut().enumerate().take(packing.components) {
            own.clear();
            own.extend(block.iter().skip(component).step_by(packing.components));
            zigzags.clear();
            zigzags.extend(own.iter().map(|&pair| {
                let value = packing.read(pair);
                let difference = value.wrapping_sub(*last).cast_signed();
                *last = value;
                (difference << 1 ^ difference >> 15).cast_unsigned()
            }));
            put_block(&own, &zigzags, &mut bits);
        }
    }
    Ok(bits.finish())
}

/// Counts the low bits that are zero in every sample, 15 at most.
pub fn unused_lsb(raw: &[u8], big_endian: bool) -> u32 {
    let (pairs, _) = raw.as_chunks::<2>();
    let all = pairs
        .iter()
        .fold([0; 2], |all, pair| [all[0] | pair[0], all[1] | pair[1]]);
    let all = if big_endian {
        u16::from_be_bytes(all)
    } else {
        u16::from_le_bytes(all)
    };
    all.trailing_zeros().min(15)
}

/// Writes one block of one component, given as samples and as zigzagged differences.
fn put_block(samples: &[[u8; 2]], zigzags: &[u16], bits: &mut Writer) {
    let all = zigzags.iter().fold(0, |all, zigzag| all | zigzag);
    if all == 0 {
        return bits.put(0, SELECTOR_BITS);
    }
    let cost = |low_bits: u32| {
        let high = |&zigzag: &u16| u32::from(zigzag >> low_bits);
        zigzags.iter().map(high).sum::<u32>() + zigzags.len() as u32 * (low_bits + 1)
    };
    // no number has more bits than the union of all
    let most = (u16::BITS - all.leading_zeros()).min(u32::from(PLAIN) - 2);
    let best = (0..=most).map(|low_bits| (cost(low_bits), low_bits)).min();
    match best {
        Some((cost, low_bits)) if cost < 16 * samples.len() as u32 => {
            bits.put(low_bits + 1, SELECTOR_BITS);
            for &zigzag in zigzags {
                bits.zeros((zigzag >> low_bits).into());
                bits.put(u32::from(zigzag) & ((1 << low_bits) - 1), low_bits);
            }
        }
        _ => {
            bits.put(PLAIN.into(), SELECTOR_BITS);
            for &sample in samples {
                bits.put(u16::from_le_bytes(sample).into(), 16);
            }
        }
    }
}

/// Collects bits, least significant first.
#[derive(Debug, Default)]
struct Writer {
    bytes: Vec<u8>,
    word: u64,
    /// Fewer than 32 between calls.
    have: u32,
}

impl Writer {
    /// Appends a number of up to 32 bits.
    fn put(&mut self, value: u32, count: u32) {
        self.word |= u64::from(value) << self.have;
        self.have += count;
        if self.have >= 32 {
            self.bytes
                .extend_from_slice(&(self.word as u32).to_le_bytes());
            self.word >>= 32;
            self.have -= 32;
        }
    }

    /// Appends zeros and a one.
    fn zeros(&mut self, count: u32) {
        for _ in 0..count / 32 {
            self.put(0, 32);
        }
        self.put(0, count % 32);
        self.put(1, 1);
    }

    fn finish(mut self) -> Vec<u8> {
        let bytes = self.have.div_ceil(8) as usize;
        self.bytes
            .extend(self.word.to_le_bytes().iter().take(bytes));
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MAX_BLOCK, decode};
    use super::*;

    /// Steps, noise, plains and peaks, with low bits that are zero.
    fn pixels(count: usize, unused_lsb: u32, big_endian: bool) -> Vec<u8> {
        let mut state = 7u64;
        let values = (0..count).map(|index| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let noise = (state >> 40) as u16;
            match index / 700 % 5 {
                0 => 1000 + noise % 16,
                1 => noise,
                2 => 500,
                3 => index as u16,
                _ => {
                    if noise < 60 {
                        noise << 9
                    } else {
                        noise % 4
                    }
                }
            }
        });
        let bytes = |value: u16| {
            let shifted = value << unused_lsb;
            if big_endian {
                shifted.to_be_bytes()
            } else {
                shifted.to_le_bytes()
            }
        };
        values.flat_map(bytes).collect()
    }

    #[test]
    fn every_packing_comes_back() {
        for unused_lsb in [0, 1, 7, 15] {
            for (components, big_endian) in [(1, true), (2, true), (1, false), (2, false)] {
                for block_size in [1, 16, 33, 128, MAX_BLOCK] {
                    let packing = Packing {
                        block_size,
                        components,
                        unused_lsb,
                        big_endian,
                    };
                    for count in [0, 2, 64, 9000] {
                        let raw = pixels(count, unused_lsb, big_endian);
                        let stream = encode(&raw, packing).unwrap();
                        let decoded = decode(&stream, raw.len() as u64, packing).unwrap();
                        assert!(decoded == raw, "{packing:?}");
                        let most = count * 2 + count / block_size / 2 + 4 * components + 4;
                        assert!(stream.len() <= most, "{packing:?} {count}");
                    }
                }
            }
        }
    }

    #[test]
    fn no_selector_would_take_fewer_bits() {
        let packing = Packing {
            block_size: MAX_BLOCK,
            components: 1,
            unused_lsb: 0,
            big_endian: true,
        };
        for width in 1..=16 {
            let raw: Vec<u8> = pixels(512, 0, true)
                .chunks(2)
                .flat_map(|pair| {
                    (u16::from_be_bytes([pair[0], pair[1]]) >> (16 - width)).to_be_bytes()
                })
                .collect();
            let stream = encode(&raw, packing).unwrap();
            let (pairs, _) = raw.as_chunks::<2>();
            let mut last = packing.read(pairs[0]);
            let zigzags: Vec<u64> = pairs
                .iter()
                .map(|&pair| {
                    let value = packing.read(pair);
                    let difference = i64::from(value.wrapping_sub(last).cast_signed());
                    last = value;
                    (difference << 1 ^ difference >> 63).cast_unsigned()
                })
                .collect();
            for low_bits in 0..14 {
                let codes: u64 = zigzags
                    .iter()
                    .map(|zigzag| (zigzag >> low_bits) + 1 + low_bits)
                    .sum();
                assert!(
                    stream.len() as u64 <= (16 + 4 + codes).div_ceil(8),
                    "{width} {low_bits}"
                );
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let packing = Packing {
            block_size: 16,
            components: 2,
            unused_lsb: 1,
            big_endian: true,
        };
        assert!(encode(&[0, 2, 0, 4], packing).is_ok());
        assert!(encode(&[0, 2, 0], packing).is_err());
        assert!(encode(&[0, 2], packing).is_err());
        assert!(encode(&[0, 2, 0, 1], packing).is_err());
        assert!(
            encode(
                &[0, 2, 0, 4],
                Packing {
                    block_size: 0,
                    ..packing
                }
            )
            .is_err()
        );
    }

    #[test]
    fn unused_bits_are_counted() {
        assert_eq!(unused_lsb(&[0x12, 0x34, 0x01, 0x08], true), 2);
        assert_eq!(unused_lsb(&[0x12, 0x34, 0x01, 0x08], false), 0);
        assert_eq!(unused_lsb(&[0; 8], true), 15);
        assert_eq!(unused_lsb(&[0x80, 0], true), 15);
    }
}
