//! Whole streams, decoded by our decoder and by claxon.

use super::super::Decoder;
use super::*;

/// Makes samples in which every kind of subframe and of stereo has its turn.
fn music(channels: usize, bits: u32, len: usize) -> Vec<i32> {
    let top = f64::from(1u32 << (bits - 1)) - 1.0;
    let mut state = 99u64;
    let mut samples = Vec::new();
    for index in 0..len {
        let at = index as f64;
        for channel in 0..channels {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let noise = (state >> 33) as f64 / f64::from(1u32 << 30) - 1.0;
            let wave = (at / (20.0 + channel as f64 / 9.0)).sin() * 0.6 + (at / 3.1).sin() * 0.2;
            let value = match index / 900 % 6 {
                0 => wave,
                1 => noise,
                2 => wave * 0.9 + noise * 0.02,
                3 => 0.0,
                4 => f64::from(index as u32 % 900) / 1000.0,
                _ => (noise + 1.0).floor(),
            };
            let sample = (value * top) as i32;
            samples.push(if index / 2700 == 1 {
                sample >> 2 << 2
            } else {
                sample
            });
        }
    }
    samples
}

fn encode(samples: &[i32], channels: usize, bits: u32, level: u32, exhaustive: bool) -> Vec<u8> {
    let info = StreamInfo {
        channels: channels as u32,
        bits_per_sample: bits,
    };
    let mut encoder = Encoder::new(info, level, exhaustive).unwrap();
    for run in samples.chunks(RUN * channels) {
        encoder.push(run).unwrap();
    }
    encoder.finish()
}

fn decode(stream: &[u8], len: usize) -> Vec<i32> {
    let mut decoder = Decoder::new(stream).unwrap();
    let (mut samples, mut frame) = (Vec::new(), Vec::new());
    while samples.len() < len {
        decoder.next_frame(&mut frame).unwrap();
        samples.extend_from_slice(&frame);
    }
    assert!(decoder.next_frame(&mut frame).is_err());
    samples
}

fn decode_by_claxon(stream: &[u8]) -> Vec<i32> {
    let mut reader = claxon::FlacReader::new(stream).unwrap();
    let info = reader.streaminfo();
    let samples: Vec<i32> = reader.samples().map(|sample| sample.unwrap()).collect();
    let count = samples.len() as u64 / u64::from(info.channels);
    assert_eq!(info.samples, Some(count));
    samples
}

#[test]
fn every_width_and_number_of_channels_comes_back() {
    for bits in 4..=32 {
        for channels in [1, 2, 3, 8] {
            let samples = music(channels, bits, 5500);
            let stream = encode(&samples, channels, bits, 8, false);
            assert!(
                decode(&stream, samples.len()) == samples,
                "{bits} bits, {channels}"
            );
            assert!(stream.len() < samples.len() * bits as usize / 8);
            // claxon knows no other widths
            if matches!(bits, 8 | 12 | 16 | 20 | 24) {
                assert!(
                    decode_by_claxon(&stream) == samples,
                    "{bits} bits, {channels}"
                );
            }
        }
    }
}

#[test]
fn more_effort_makes_smaller_streams() {
    let samples = music(2, 16, 30_000);
    let mut last = usize::MAX;
    for level in 0..=MAX_LEVEL {
        let stream = encode(&samples, 2, 16, level, false);
        assert!(decode(&stream, samples.len()) == samples, "level {level}");
        assert!(decode_by_claxon(&stream) == samples, "level {level}");
        // levels 1 and 3 trade the two kinds of effort against each other
        assert!(
            stream.len() <= last.saturating_add(last / 50),
            "level {level}"
        );
        last = stream.len();
    }
    let stream = encode(&samples, 2, 16, 0, true);
    assert!(decode_by_claxon(&stream) == samples);
    assert!(stream.len() <= last);
}

#[test]
fn every_length_of_a_short_stream() {
    for len in (0..300).chain([511, 512, 513, 4095, 4096, 4097, 8191]) {
        let samples = music(2, 16, len);
        for (level, exhaustive) in [(0, false), (8, false), (8, true)] {
            if exhaustive && len > 40 {
                continue;
            }
            let stream = encode(&samples, 2, 16, level, exhaustive);
            assert!(decode(&stream, samples.len()) == samples, "{len}");
        }
    }
}

#[test]
fn extremes_of_every_width() {
    for bits in [4, 8, 16, 24, 31, 32] {
        let (least, most) = (i32::MIN >> (32 - bits), i32::MAX >> (32 - bits));
        for pattern in [
            &[least, most][..],
            &[least, least, most, most],
            &[least, 0, most, 0, -1],
            &[least],
            &[most, least, least, most, 0, 0, 0, least],
        ] {
            let samples: Vec<i32> = pattern.iter().copied().cycle().take(2 * 4096 + 6).collect();
            for channels in [1, 2] {
                let stream = encode(&samples, channels, bits, 8, false);
                assert!(
                    decode(&stream, samples.len()) == samples,
                    "{bits} {pattern:?}"
                );
            }
        }
    }
}

#[test]
fn what_no_stream_holds_is_refused() {
    let info = |channels, bits_per_sample| StreamInfo {
        channels,
        bits_per_sample,
    };
    for (info, level) in [
        (info(0, 16), 5),
        (info(9, 16), 5),
        (info(2, 3), 5),
        (info(2, 33), 5),
        (info(2, 16), 9),
    ] {
        assert!(Encoder::new(info, level, false).is_err());
    }
    let mut encoder = Encoder::new(info(2, 16), 5, false).unwrap();
    assert!(encoder.push(&[1, 2, 3]).is_err());
    assert!(encoder.push(&[32_768, 0]).is_err());
    assert!(encoder.push(&vec![0; 2 * RUN + 2]).is_err());
    encoder.push(&[]).unwrap();
    encoder.push(&[32_767, -32_768]).unwrap();
    let stream = encoder.finish();
    assert_eq!(decode(&stream, 2), [32_767, -32_768]);
}
