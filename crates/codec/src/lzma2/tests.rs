//! What liblzma makes of our streams, and that no input is too hard.

#![allow(
    clippy::unwrap_used,
    reason = "a failed step of a test should end it where it is"
)]

use proptest::prelude::*;
use sinterfs_testkit::noise;
use sinterfs_workers::WorkerPermits;

use super::encoder::encode;
use super::*;
use crate::shapes::{hard_inputs, prose};
use crate::{Bcj, CodecId};

const PLAIN: Lzma2Options = Lzma2Options {
    level: 6,
    dict: None,
    lc: 3,
    lp: 0,
    pb: 2,
};

fn unxz(stream: &[u8], limit: u64) -> sinterfs_model::Result<Vec<u8>> {
    CodecId::Xz.codec().unwrap().decode(stream, limit)
}

/// Encodes, decodes by liblzma, and gives the length of the stream.
fn round_trip(block: &[u8], options: Lzma2Options) -> usize {
    let stream = encode(block, options, &[], &WorkerPermits::default()).unwrap();
    let xz = CodecId::Xz.codec().unwrap();
    assert_eq!(xz.decoded_len(&stream).unwrap(), Some(block.len() as u64));
    let decoded = unxz(&stream, block.len() as u64).unwrap();
    let same = decoded == block;
    assert!(same, "{} bytes, {options:?}", block.len());
    stream.len()
}

fn at_level(level: u32) -> Lzma2Options {
    Lzma2Options { level, ..PLAIN }
}

#[test]
fn short_blocks() {
    for level in 1..=9 {
        for len in 0..40 {
            round_trip(&vec![7; len], at_level(level));
            round_trip(&noise(3, len), at_level(level));
            round_trip(&prose(len, 3), at_level(level));
        }
    }
}

#[test]
fn every_period() {
    for period in 1..=300 {
        let pattern = noise(77, period);
        let block: Vec<u8> = pattern.iter().copied().cycle().take(7001).collect();
        for level in [1, 4, 6, 9] {
            let len = round_trip(&block, at_level(level));
            assert!(len < period + 200, "period {period} level {level}: {len}");
        }
    }
}

#[test]
fn lengths_around_the_borders_of_chunks() {
    let text = prose((1 << 21) + 300, 5);
    for len in (1 << 21) - 1..=(1 << 21) + 1 {
        round_trip(&vec![0; len], at_level(6));
        round_trip(&text[..len], at_level(1));
    }
    round_trip(&text, at_level(6));
    let noise = noise(5, (1 << 17) + 1);
    for len in [
        (1 << 16) - 1,
        1 << 16,
        (1 << 16) + 1,
        1 << 17,
        (1 << 17) + 1,
    ] {
        let stream = round_trip(&noise[..len], at_level(6));
        assert!(stream < len + 100, "{len}: {stream}");
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
    // the first chunk stored, too
    let (text, other) = block.split_at(150_000);
    let turned = [other, text].concat();
    for level in 1..=9 {
        round_trip(&block, at_level(level));
        round_trip(&turned, at_level(level));
    }
}

#[test]
fn noise_is_stored_in_little_room() {
    let noise = noise(11, 1 << 20);
    for level in [1, 6] {
        let stream = round_trip(&noise, at_level(level));
        assert!(stream < noise.len() + 200, "{stream}");
    }
    // the same noise again is a match, and no noise any more
    let twice = noise.repeat(2);
    let stream = round_trip(&twice, at_level(6));
    assert!(stream < noise.len() + 3000, "{stream}");
    // as frequent as each other, but in an order
    let ramp: Vec<u8> = (0..1 << 18).map(|n: u32| (n * 7) as u8).collect();
    assert!(round_trip(&ramp, at_level(1)) < 1000);
}

#[test]
fn every_setting_of_bits() {
    let block = [prose(30_000, 9), noise(9, 3000), vec![0; 1000]].concat();
    for lc in 0..=4 {
        for lp in 0..=4 - lc {
            for pb in 0..=4 {
                round_trip(
                    &block,
                    Lzma2Options {
                        lc,
                        lp,
                        pb,
                        ..PLAIN
                    },
                );
            }
        }
    }
}

#[test]
fn matches_stay_within_the_dictionary() {
    // liblzma refuses distances above the dictionary
    let once = noise(1, 6000);
    let block = [
        &once[..],
        &once,
        &prose(9000, 1),
        &once[..3000],
        &once[..3000],
    ]
    .concat();
    for dict in 12..=14 {
        for level in [1, 6, 9] {
            let options = Lzma2Options {
                dict: Some(dict),
                ..at_level(level)
            };
            round_trip(&block, options);
        }
    }
}

#[test]
fn blocks_longer_than_the_table() {
    let text = prose(300_000, 4);
    let block = [&text[..], &noise(2, 70_000), &text, &vec![0; 200_000]].concat();
    let properties = model::Properties {
        lc: 3,
        lp: 0,
        pb: 2,
    };
    let mut encoder = encoder::Encoder::new(1 << 16, 10_000);
    let dict = container::Dictionary::for_block(1 << 16, None);
    for level in [1, 6, 9] {
        let settings = slice::Settings {
            effort: effort::of_level(level),
            properties,
            reach: dict.bytes(),
        };
        let mut encode = |permits: &WorkerPermits| {
            let mut stream = container::start(dict, None);
            encoder.encode(&block, settings, permits, &mut stream);
            container::finish(&mut stream, &block);
            stream
        };
        let stream = encode(&WorkerPermits::default());
        assert!(unxz(&stream, block.len() as u64).unwrap() == block);
        for idle in [1, 6] {
            let permits = WorkerPermits::new(idle, 0);
            assert!(encode(&permits) == stream, "{idle}");
            assert_eq!(
                std::iter::from_fn(|| permits.try_take().map(std::mem::forget)).count(),
                idle
            );
        }
    }
}

#[test]
fn hard_inputs_take_no_more_than_others() {
    for block in hard_inputs(3 << 20) {
        for level in [1, 6, 9] {
            round_trip(&block, at_level(level));
        }
    }
}

/// Bytes with many instructions that a converter looks for, and many lookalikes.
fn code(bcj: Bcj, len: usize, seed: u64) -> Vec<u8> {
    let mut code = Vec::with_capacity(len + 16);
    for bytes in noise(seed, 2 * len + 64).as_chunks::<8>().0 {
        let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let kind = bytes[7] & 3;
        let sign = [0, 0xff, bytes[6], 0][usize::from(kind)];
        match bcj {
            Bcj::X86 => {
                code.extend([0xe8 | bytes[5] & 1, bytes[0], sign, bytes[1], sign]);
                code.resize(code.len() + usize::from(bytes[4] & 3), 0xe9);
            }
            Bcj::Arm => code.extend((word & 0x00ff_ffff | 0xeb00_0000).to_le_bytes()),
            Bcj::ArmThumb => code.extend((word & 0x07ff_07ff | 0xf800_f000).to_le_bytes()),
            Bcj::Arm64 => code.extend(match kind {
                0 => (word & 0x03ff_ffff | 0x9400_0000).to_le_bytes(),
                1 => (word & 0x600f_ffff | 0x9000_0000).to_le_bytes(),
                2 => (word & 0x60ff_ffff | 0x90f0_0000).to_le_bytes(),
                _ => word.to_le_bytes(),
            }),
            Bcj::PowerPc => code.extend((word & 0x03ff_fffc | 0x4800_0001).to_be_bytes()),
            Bcj::Sparc => code.extend(match kind {
                0 => (word & 0x003f_ffff | 0x4000_0000).to_be_bytes(),
                1 => (word & 0x003f_ffff | 0x7fc0_0000).to_be_bytes(),
                _ => word.to_be_bytes(),
            }),
            Bcj::Ia64 => {
                // a template with branches, and three instructions of which some are calls
                let mut bundle = u128::from(0x10 | word & 15);
                for slot in 0..3 {
                    let call = u128::from(word.rotate_left(slot * 9)) & !(7 << 9) | 5 << 37;
                    bundle |= call << (5 + 41 * slot);
                }
                code.extend(bundle.to_le_bytes());
            }
            Bcj::RiscV => code.extend(match kind {
                0 => (word & 0xffff_f280 | 0xef).to_le_bytes(),
                // auipc of some register, and a load by it
                1 => (word & 0xffff_ff80 | 0x17).to_le_bytes(),
                2 => (word & 0xfff0_7f80 | (word >> 8 & 31) << 15 | 3).to_le_bytes(),
                _ => (word & 0xf800_0000 | 0x0000_3117 | word & 0x00ff_c000).to_le_bytes(),
            }),
        }
    }
    code.truncate(len);
    code
}

#[test]
fn converters_are_undone_by_the_decoder() {
    use Bcj::{Arm, Arm64, ArmThumb, Ia64, PowerPc, RiscV, Sparc, X86};
    let kinds = [X86, PowerPc, Ia64, Arm, ArmThumb, Arm64, RiscV, Sparc];
    for bcj in kinds {
        for of in kinds {
            for len in (0..20).chain([1000, 65_537]) {
                let block = code(of, len, 1 + len as u64);
                let mut converted = block.clone();
                bcj::convert(bcj, &mut converted);
                let changed = converted != block;
                assert!(changed || len < 1000 || bcj != of, "{bcj} changes nothing");
                let stream = encoder::stream(
                    &block,
                    &converted,
                    at_level(1),
                    Some(bcj),
                    &WorkerPermits::default(),
                );
                let decoded = unxz(&stream, len as u64).unwrap();
                assert!(decoded == block, "{bcj} of {len} bytes of {of}");
            }
        }
    }
}

/// A program of calls, of which most go to a few functions.
fn program(len: usize, seed: u64) -> Vec<u8> {
    let noise = noise(seed, len);
    let mut code = Vec::with_capacity(len + 16);
    for bytes in noise.as_chunks::<8>().0 {
        if code.len() >= len {
            break;
        }
        let function = u32::from(bytes[0] & 63) * 5077;
        code.extend(&bytes[1..1 + usize::from(bytes[7] & 3)]);
        code.push(0xe8);
        code.extend(function.wrapping_sub(code.len() as u32).to_le_bytes());
    }
    code
}

#[test]
fn a_converter_is_used_where_it_gains() {
    let filters = |stream: &[u8]| stream[13] + 1;
    let calls = program(300_000, 5);
    let filtered = encode(
        &calls,
        PLAIN,
        &[Bcj::Arm, Bcj::X86],
        &WorkerPermits::default(),
    )
    .unwrap();
    assert_eq!(filters(&filtered), 2);
    assert_eq!(filtered[14], bcj::id(Bcj::X86));
    assert!(
        filtered.len()
            < encode(&calls, PLAIN, &[], &WorkerPermits::default())
                .unwrap()
                .len()
    );
    assert!(unxz(&filtered, 1 << 20).unwrap() == calls);

    // the same code again and again: its calls are alike until they are converted
    let versions = calls[..100_001].repeat(8);
    let plain = encode(&versions, PLAIN, &[Bcj::X86], &WorkerPermits::default()).unwrap();
    assert_eq!(filters(&plain), 1);
    let text = prose(100_000, 3);
    let plain = encode(
        &text,
        PLAIN,
        &[Bcj::X86, Bcj::Arm64],
        &WorkerPermits::default(),
    )
    .unwrap();
    assert_eq!(filters(&plain), 1);
}

#[test]
fn checksums_are_those_of_the_standards() {
    assert_eq!(crc::crc32(b"123456789"), 0xcbf4_3926);
    assert_eq!(crc::crc64(b"123456789"), 0x995d_c9bb_df19_39fa);
    let bytes = noise(1, 1000);
    for len in 0..40 {
        // one way of splitting into words against another
        let stream = encode(&bytes[..len], PLAIN, &[], &WorkerPermits::default()).unwrap();
        assert!(unxz(&stream, 1000).is_ok());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_block_of_repeats(
        parts in prop::collection::vec((any::<u64>(), 1usize..3000, 0usize..4), 0..40),
        level in 1u32..=9,
        lc in 0u32..=4,
        pb in 0u32..=4,
    ) {
        let mut block: Vec<u8> = Vec::new();
        for (seed, len, kind) in parts {
            match kind {
                0 => block.extend(noise(seed | 1, len)),
                1 => block.extend(prose(len, seed | 1)),
                2 => block.extend(vec![seed as u8; len]),
                _ => {
                    // some bytes of before, nearly
                    let start = seed as usize % block.len().max(1);
                    let end = block.len().min(start + len);
                    let mut copy = block[start..end].to_vec();
                    if let Some(byte) = copy.get_mut(len / 2) {
                        *byte ^= 1;
                    }
                    block.extend(copy);
                }
            }
        }
        round_trip(&block, Lzma2Options { lc, pb, ..at_level(level) });
    }
}
