//! FLAC streams that the test writes bit by bit, and random bytes.

use proptest::prelude::*;

use super::checks::crc8;
use super::*;

/// Writes bits, most significant first.
#[derive(Default, Clone)]
struct Writer {
    bytes: Vec<u8>,
    used: u32,
}

impl Writer {
    fn put(&mut self, value: i64, count: u32) {
        for bit in (0..count).rev() {
            if self.used == 0 {
                self.bytes.push(0);
            }
            *self.bytes.last_mut().unwrap() |=
                ((value >> bit.min(63) & 1) as u8) << (7 - self.used);
            self.used = (self.used + 1) % 8;
        }
    }

    fn unary(&mut self, zeros: u64) {
        (0..zeros).for_each(|_| self.put(0, 1));
        self.put(1, 1);
    }

    fn rice(&mut self, residual: i64, parameter: u32) {
        let zigzag = (residual << 1 ^ residual >> 63) as u64;
        self.unary(zigzag >> parameter);
        self.put(zigzag as i64, parameter);
    }
}

/// How the test encodes a channel.
#[derive(Debug, Clone)]
enum Kind {
    Constant,
    Verbatim,
    Fixed(usize),
    Linear {
        coefficients: Vec<i64>,
        precision: u32,
        shift: u32,
    },
}

/// How the test codes residuals.
#[derive(Debug, Clone, Copy)]
struct Rice {
    wide: bool,
    parameter: u32,
    partition_order: u32,
    escape: bool,
}

const PLAIN_RICE: Rice = Rice {
    wide: false,
    parameter: 5,
    partition_order: 0,
    escape: false,
};

fn write_channel(
    out: &mut Writer,
    samples: &[i64],
    width: u32,
    kind: &Kind,
    wasted: u32,
    rice: Rice,
) {
    let code = match kind {
        Kind::Constant => 0,
        Kind::Verbatim => 1,
        Kind::Fixed(order) => 8 + *order as i64,
        Kind::Linear { coefficients, .. } => 31 + coefficients.len() as i64,
    };
    out.put(code << 1 | i64::from(wasted > 0), 8);
    if wasted > 0 {
        out.unary(u64::from(wasted) - 1);
    }
    let samples: Vec<i64> = samples.iter().map(|sample| sample >> wasted).collect();
    let width = width - wasted;
    let (coefficients, shift) = match kind {
        Kind::Constant => return out.put(samples[0], width),
        Kind::Verbatim => return samples.iter().for_each(|&sample| out.put(sample, width)),
        Kind::Fixed(order) => (
            vec![
                vec![],
                vec![1],
                vec![2, -1],
                vec![3, -3, 1],
                vec![4, -6, 4, -1],
            ][*order]
                .clone(),
            0,
        ),
        Kind::Linear {
            coefficients,
            shift,
            ..
        } => (coefficients.clone(), *shift),
    };
    let order = coefficients.len();
    samples[..order]
        .iter()
        .for_each(|&sample| out.put(sample, width));
    if let Kind::Linear { precision, .. } = kind {
        out.put(i64::from(*precision) - 1, 4);
        out.put(shift.into(), 5);
        coefficients
            .iter()
            .for_each(|&factor| out.put(factor, *precision));
    }
    let residuals: Vec<i64> = (order..samples.len())
        .map(|index| {
            let sum: i64 = coefficients
                .iter()
                .enumerate()
                .map(|(j, factor)| factor * samples[index - 1 - j])
                .sum();
            samples[index] - (sum >> shift)
        })
        .collect();
    out.put(rice.wide.into(), 2);
    out.put(rice.partition_order.into(), 4);
    let size = samples.len() >> rice.partition_order;
    let mut start = 0;
    for partition in 0..1 << rice.partition_order {
        let end = size * (partition + 1) - order;
        let parameter_bits = if rice.wide { 5 } else { 4 };
        if rice.escape && partition % 2 == 0 {
            out.put(-1, parameter_bits);
            out.put(31, 5);
            residuals[start..end]
                .iter()
                .for_each(|&residual| out.put(residual, 31));
        } else {
            out.put(rice.parameter.into(), parameter_bits);
            residuals[start..end]
                .iter()
                .for_each(|&residual| out.rice(residual, rice.parameter));
        }
        start = end;
    }
}

fn stream_header(channels: u32, bits: u32) -> Writer {
    let mut out = Writer {
        bytes: b"fLaC".to_vec(),
        used: 0,
    };
    out.put(34, 32);
    out.put(0, 80);
    out.put(48_000, 20);
    out.put(i64::from(channels) - 1, 3);
    out.put(i64::from(bits) - 1, 5);
    out.put(0, 36);
    (0..16).for_each(|_| out.put(0, 8));
    // padding of 5 bytes, last
    out.put(0x81, 8);
    out.put(5, 24);
    out.put(0, 40);
    out
}

/// Writes one frame, whose channels are as they are to be stored.
fn frame(
    stored: &[Vec<i64>],
    assignment: i64,
    bits: u32,
    kind: &Kind,
    wasted: u32,
    rice: Rice,
) -> Vec<u8> {
    let mut out = Writer::default();
    out.put(0xfff8, 16);
    out.put(0x7a, 8); // block size in 16 bits, 48 kHz
    let code = match bits {
        8 => 1,
        12 => 2,
        16 => 4,
        20 => 5,
        24 => 6,
        32 => 7,
        _ => 0,
    };
    out.put(assignment << 4 | code << 1, 8);
    out.put(0xc480, 16); // frame number 0x100
    out.put(stored[0].len() as i64 - 1, 16);
    out.put(crc8(&out.bytes).into(), 8);
    for (index, samples) in stored.iter().enumerate() {
        let side = matches!((assignment, index), (8 | 10, 1) | (9, 0));
        write_channel(
            &mut out,
            samples,
            bits + u32::from(side),
            kind,
            wasted,
            rice,
        );
    }
    out.used = 0;
    out.put(crc16(&out.bytes).into(), 16);
    out.bytes
}

fn decode_all(stream: &[u8], frames: usize) -> Result<Vec<i32>> {
    let mut decoder = Decoder::new(stream)?;
    let (mut all, mut samples) = (Vec::new(), Vec::new());
    for _ in 0..frames {
        decoder.next_frame(&mut samples)?;
        all.extend_from_slice(&samples);
    }
    assert!(decoder.next_frame(&mut samples).is_err());
    Ok(all)
}

/// A wave with noise, at the full width.
fn wave(len: usize, bits: u32, seed: u64) -> Vec<i64> {
    let mut state = seed;
    let top = f64::from(1u32 << (bits - 1));
    (0..len)
        .map(|index| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let noise = (state >> 48) as f64 / 65_536.0 - 0.5;
            let angle = index as f64 / 40.0 + seed as f64;
            ((angle.sin() * 0.95 + noise * 0.05) * top) as i64
        })
        .collect()
}

fn interleaved(channels: &[Vec<i64>]) -> Vec<i32> {
    (0..channels[0].len())
        .flat_map(|index| channels.iter().map(move |channel| channel[index] as i32))
        .collect()
}

fn kinds() -> Vec<Kind> {
    let mut kinds: Vec<Kind> = (0..=4).map(Kind::Fixed).collect();
    kinds.push(Kind::Verbatim);
    kinds.push(Kind::Linear {
        coefficients: vec![30, -15],
        precision: 6,
        shift: 4,
    });
    let long = (0..32)
        .map(|j| if j == 0 { 16_000 } else { 100 - 9 * j })
        .collect();
    kinds.push(Kind::Linear {
        coefficients: long,
        precision: 15,
        shift: 14,
    });
    kinds
}

#[test]
fn every_width_kind_and_stereo_mode() {
    for bits in [8, 10, 12, 16, 20, 24, 31, 32] {
        let (left, right) = (wave(576, bits, 1), wave(576, bits, 2));
        let side: Vec<i64> = left.iter().zip(&right).map(|(l, r)| l - r).collect();
        let mid: Vec<i64> = left.iter().zip(&right).map(|(l, r)| (l + r) >> 1).collect();
        let expected = interleaved(&[left.clone(), right.clone()]);
        for (assignment, stored) in [
            (1, [left.clone(), right.clone()]),
            (8, [left.clone(), side.clone()]),
            (9, [side.clone(), right.clone()]),
            (10, [mid, side]),
        ] {
            for kind in kinds() {
                let rice = Rice {
                    wide: bits > 16,
                    parameter: bits - 3,
                    ..PLAIN_RICE
                };
                let rice = Rice {
                    parameter: rice.parameter.min(29),
                    ..rice
                };
                let mut stream = stream_header(2, bits).bytes;
                for _ in 0..2 {
                    stream.extend(frame(&stored, assignment, bits, &kind, 0, rice));
                }
                let decoded = decode_all(&stream, 2).unwrap();
                assert!(
                    decoded == [&expected[..], &expected].concat(),
                    "{bits} bits, assignment {assignment}, {kind:?}"
                );
            }
        }
    }
}

#[test]
fn partitions_escapes_and_wasted_bits() {
    let samples: Vec<i64> = wave(4096, 16, 3).iter().map(|sample| sample & !7).collect();
    for kind in kinds() {
        for (wasted, partition_order) in [(0, 0), (3, 3), (2, 7)] {
            for (wide, escape) in [(false, false), (true, true), (false, true)] {
                let rice = Rice {
                    wide,
                    escape,
                    partition_order,
                    parameter: 11,
                };
                let mut stream = stream_header(1, 16).bytes;
                stream.extend(frame(
                    std::slice::from_ref(&samples),
                    0,
                    16,
                    &kind,
                    wasted,
                    rice,
                ));
                let decoded = decode_all(&stream, 1).unwrap();
                assert!(
                    decoded == interleaved(std::slice::from_ref(&samples)),
                    "{kind:?} {wasted} {rice:?}"
                );
            }
        }
    }
}

#[test]
fn eight_channels_and_constant_ones() {
    let channels: Vec<Vec<i64>> = (0..8)
        .map(|channel| vec![channel * 1000 - 3000; 65_535])
        .collect();
    let mut stream = stream_header(8, 24).bytes;
    stream.extend(frame(&channels, 7, 24, &Kind::Constant, 0, PLAIN_RICE));
    assert!(decode_all(&stream, 1).unwrap() == interleaved(&channels));
    // a block as long as its order has no residuals, but their parameter
    let short = vec![vec![1, -2, 3]];
    let mut stream = stream_header(1, 8).bytes;
    stream.extend(frame(&short, 0, 8, &Kind::Fixed(3), 0, PLAIN_RICE));
    assert_eq!(decode_all(&stream, 1).unwrap(), [1, -2, 3]);
}

#[test]
fn a_changed_bit_is_found() {
    let samples = vec![wave(192, 16, 5)];
    let start = stream_header(1, 16).bytes;
    let mut stream = start.clone();
    stream.extend(frame(&samples, 0, 16, &Kind::Fixed(2), 0, PLAIN_RICE));
    assert!(decode_all(&stream, 1).is_ok());
    for index in start.len()..stream.len() {
        for bit in 0..8 {
            stream[index] ^= 1 << bit;
            assert!(decode_all(&stream, 1).is_err(), "byte {index} bit {bit}");
            stream[index] ^= 1 << bit;
        }
    }
    for cut in 0..stream.len() {
        assert!(decode_all(&stream[..cut], 1).is_err(), "cut at {cut}");
    }
}

#[test]
fn checksums_of_known_bytes() {
    assert_eq!(crc8(b"123456789"), 0xf4);
    assert_eq!(crc16(b"123456789"), 0xfee8);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Frames with right checksums and any content: never a panic, never a sample too wide.
    #[test]
    fn any_subframe_with_right_checksums(
        body in prop::collection::vec(any::<u8>(), 0..200),
        bits in 4u32..=32,
        assignment in 0i64..=10,
        block in 1i64..=64,
    ) {
        let channels = if assignment < 8 { assignment as u32 + 1 } else { 2 };
        let mut stream = stream_header(channels, bits).bytes;
        let mut out = Writer::default();
        out.put(0xfff8, 16);
        out.put(0x7a, 8);
        out.put(assignment << 4, 8);
        out.put(0, 8);
        out.put(block - 1, 16);
        out.put(crc8(&out.bytes).into(), 8);
        out.bytes.extend(&body);
        // the frame ends wherever the decoder says: give it the checksum for each length
        for len in (8..=out.bytes.len()).rev().take(8) {
            let mut frame = out.bytes[..len].to_vec();
            frame.extend(crc16(&frame).to_be_bytes());
            let start = stream.len();
            stream.extend(frame);
            let mut samples = Vec::new();
            if Decoder::new(&stream).unwrap().next_frame(&mut samples).is_ok() {
                prop_assert_eq!(samples.len() as u64, block as u64 * u64::from(channels));
                prop_assert!(samples.iter().all(|&sample| fits(sample.into(), bits)));
            }
            stream.truncate(start);
        }
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode_all(&bytes, 1);
        let _ = decode_all(&[b"fLaC", &bytes[..]].concat(), 1);
        let _ = decode_all(&[&stream_header(2, 16).bytes[..], &bytes].concat(), 1);
    }
}
