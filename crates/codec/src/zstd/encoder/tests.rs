//! What libzstd makes of our frames, that no input is too hard, and that the bytes stay the same.

#![allow(
    clippy::unwrap_used,
    reason = "a failed step of a test should end it where it is"
)]

use proptest::prelude::*;
use sinterfs_testkit::noise;
use sinterfs_workers::WorkerPermits;

use super::*;
use crate::shapes::{hard_inputs, prose};
use crate::zstd::frame::{decode, decoded_len};

/// Encodes, decodes by libzstd, and returns the length of the frame.
fn round_trip(block: &[u8], effort: u32, window: Option<u32>) -> usize {
    let frame = encode(block, effort, window, &WorkerPermits::default()).unwrap();
    assert_eq!(decoded_len(&frame).unwrap(), block.len() as u64);
    let same = decode(&frame, block.len() as u64).unwrap() == block;
    assert!(same, "{} bytes, {effort}, {window:?}", block.len());
    // as it is, in blocks with headers of 3 bytes, which are of 128 KiB but at the ends of noise
    let bound = block.len() + block.len() / 4096 + 32;
    let bound = bound + window.map_or(0, |log| 3 * (block.len() >> log.min(17)));
    assert!(frame.len() <= bound, "{} in {}", block.len(), frame.len());
    frame.len()
}

#[test]
fn short_blocks() {
    for effort in EFFORTS {
        for len in 0..70 {
            round_trip(&vec![7; len], effort, None);
            round_trip(&noise(3, len), effort, None);
            round_trip(&prose(len, 3), effort, None);
        }
    }
}

#[test]
fn every_period() {
    for period in 1..=300 {
        let pattern = noise(77, period);
        let block: Vec<u8> = pattern.iter().copied().cycle().take(7001).collect();
        for effort in EFFORTS {
            let len = round_trip(&block, effort, None);
            assert!(len < period + 100, "period {period} effort {effort}: {len}");
        }
    }
}

#[test]
fn lengths_around_the_borders_of_blocks() {
    let text = prose((1 << 19) + 300, 5);
    let noise = noise(5, (1 << 19) + 300);
    for border in [1 << 8, 0x1_0100, 1 << 17, 1 << 18, 1 << 19] {
        for len in border - 1..=border + 1 {
            round_trip(&vec![0; len], 2, None);
            round_trip(&text[..len], 1, None);
            round_trip(&noise[..len], 2, None);
        }
    }
}

#[test]
fn compressible_and_other_parts_in_turn() {
    let mut block = Vec::new();
    for seed in 1..8 {
        block.extend(prose(150_000, seed));
        block.extend(noise(seed, 40_000 * seed as usize % 170_000));
        block.extend(vec![seed as u8; 3000]);
    }
    // the first block as it is, too
    let (text, other) = block.split_at(150_000);
    let turned = [other, text].concat();
    for effort in EFFORTS {
        round_trip(&block, effort, None);
        round_trip(&turned, effort, None);
    }
}

/// Bytes of few values in no order: only literals are worth anything.
fn literals(len: usize, values: u8) -> Vec<u8> {
    let skewed = |byte: u8| (u16::from(byte) * u16::from(byte) / 256) as u8 % values;
    noise(21, len).into_iter().map(skewed).collect()
}

#[test]
fn literals_alone() {
    for values in [2, 3, 4, 100, 255] {
        for len in [
            1, 2, 5, 31, 32, 1022, 1023, 1024, 4095, 4096, 16_384, 300_000,
        ] {
            round_trip(&literals(len, values), 2, None);
        }
    }
}

#[test]
fn noise_is_stored_in_little_room() {
    let noise = noise(11, 1 << 20);
    for effort in EFFORTS {
        let frame = round_trip(&noise, effort, None);
        assert!(frame < noise.len() + 200, "{frame}");
    }
    // the same noise again is a match, and no noise any more
    let frame = round_trip(&noise.repeat(2), 2, None);
    assert!(frame < noise.len() + 3000, "{frame}");
}

#[test]
fn matches_stay_within_the_window() {
    // libzstd refuses offsets above the window, if the content is longer
    let once = noise(1, 6000);
    let block = [
        &once[..],
        &once,
        &prose(9000, 1),
        &once[..3000],
        &once[..3000],
        &prose(300_000, 7),
        &noise(7, 300_000),
    ]
    .concat();
    let mut before = usize::MAX;
    for window in [10, 11, 12, 13, 14, 17, 18, 20, 26] {
        for effort in EFFORTS {
            let len = round_trip(&block, effort, Some(window));
            if effort == DEFAULT_EFFORT {
                assert!(len <= before, "{window}: {len}");
                before = len;
            }
        }
    }
}

#[test]
fn repeats_from_far_away() {
    let once = noise(8, 300_000);
    let block = [
        &once[..],
        &prose(1 << 20, 3),
        &once,
        &vec![0; 1 << 19],
        &once,
    ]
    .concat();
    let len = round_trip(&block, 2, None);
    let alone = round_trip(&once, 2, None) + round_trip(&prose(1 << 20, 3), 2, None);
    assert!(len < alone + 300, "{len} {alone}");
}

#[test]
fn blocks_longer_than_the_table_are_shared_by_threads() {
    let text = prose(300_000, 4);
    let block = [&text[..], &noise(2, 70_000), &text, &vec![0; 200_000]].concat();
    let mut encoder = Encoder::new(1 << 16, 10_000);
    for effort in EFFORTS {
        let settings = Settings {
            effort: effort::of_level(effort),
            window: 16,
        };
        let frame = encoder.encode(&block, settings, &WorkerPermits::default());
        assert!(decode(&frame, block.len() as u64).unwrap() == block);
        for idle in [1, 6] {
            let permits = WorkerPermits::new(idle, 0);
            let shared = encoder.encode(&block, settings, &permits);
            assert!(shared == frame, "{idle}");
        }
    }
}

#[test]
fn whole_blocks_are_the_same_by_any_number_of_threads() {
    let block = [prose(9 << 20, 4), noise(2, 1 << 20), prose(9 << 20, 4)].concat();
    let alone = encode(&block, 1, None, &WorkerPermits::default()).unwrap();
    assert!(decode(&alone, block.len() as u64).unwrap() == block);
    let shared = encode(&block, 1, None, &WorkerPermits::new(3, 0)).unwrap();
    assert!(shared == alone);
}

#[test]
fn hard_inputs_take_no_more_than_others() {
    for block in hard_inputs(3 << 20) {
        for effort in EFFORTS {
            round_trip(&block, effort, None);
        }
    }
}

#[test]
fn the_bytes_stay_the_same() {
    let block = [
        prose(100_000, 1),
        noise(1, 5000),
        literals(50_000, 200),
        prose(200_000, 2),
        vec![0; 1000],
    ]
    .concat();
    let digests: Vec<u64> = EFFORTS
        .map(|effort| encode(&block, effort, None, &WorkerPermits::default()).unwrap())
        .map(|frame| fnv(&frame))
        .collect();
    assert_eq!(digests, GOLDEN);
}

/// Digests of frames: to be changed with the encoder, never by chance.
const GOLDEN: [u64; 3] = [
    2_866_584_025_250_781_654,
    11_186_783_160_561_863_059,
    15_861_853_948_008_829_377,
];

/// The 64-bit hash of Fowler, Noll and Vo.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_parts_in_any_order(
        parts in prop::collection::vec((0..5u8, 1..9000usize, 0..1000u64), 1..12),
        effort in EFFORTS,
        window in prop::option::of(10..20u32),
    ) {
        let mut block: Vec<u8> = Vec::new();
        for (kind, len, seed) in parts {
            match kind {
                0 => block.extend(noise(seed + 1, len)),
                1 => block.extend(prose(len, seed + 1)),
                2 => block.extend(vec![seed as u8; len]),
                3 => block.extend(literals(len, seed as u8 | 2)),
                _ => {
                    let start = seed as usize * block.len() / 1000;
                    let end = block.len().min(start + len);
                    block.extend_from_within(start..end);
                }
            }
        }
        round_trip(&block, effort, window);
    }
}
