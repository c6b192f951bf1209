//! Decoders on damaged and invented input: never a panic, never more than the limit, never a hang.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::Index;
use sinterfs_codec::Bytes;
use sinterfs_codec::{CodecId, Decoder, Encoding, flac, ricepp};
use sinterfs_model::{Error, Kind, Result};

type Decode = fn(&[u8], u64) -> Result<Vec<u8>>;

fn zstd(stream: &[u8], len: u64) -> Result<Vec<u8>> {
    CodecId::Zstd.codec()?.decode(stream, len)
}

fn xz(stream: &[u8], len: u64) -> Result<Vec<u8>> {
    CodecId::Xz.codec()?.decode(stream, len)
}

fn lz4(stream: &[u8], len: u64) -> Result<Vec<u8>> {
    CodecId::Lz4.codec()?.decode(stream, len)
}

fn brotli(stream: &[u8], len: u64) -> Result<Vec<u8>> {
    CodecId::Brotli.codec()?.decode(stream, len)
}

/// What is decoded, and how long its content may be.
const LIMIT: u64 = 100_000;

const CODECS: [(&str, Decode); 4] = [
    ("zstd:level=5", zstd),
    ("lzma:level=1:binary=x86", xz),
    ("lz4hc:level=9", lz4),
    ("brotli:quality=9:lgwin=26", brotli),
];

fn content(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::new();
    while bytes.len() < len {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        match state >> 62 {
            0 => bytes.extend(format!("number {} of all;", state >> 50).bytes()),
            1 => bytes.extend([(state >> 32) as u8; 9]),
            _ => bytes.extend(&state.to_le_bytes()[..5]),
        }
    }
    bytes.truncate(len);
    bytes
}

/// One change of a byte string.
#[derive(Debug, Clone)]
enum Change {
    Set(Index, u8),
    Flip(Index, u8),
    Cut(Index),
    Insert(Index, Vec<u8>),
    Copy(Index, Index, usize),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        4 => (any::<Index>(), 0u8..8).prop_map(|(at, bit)| Change::Flip(at, bit)),
        1 => any::<Index>().prop_map(Change::Cut),
        1 => (any::<Index>(), prop::collection::vec(any::<u8>(), 1..9))
            .prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        1 => (any::<Index>(), any::<Index>(), 1usize..64)
            .prop_map(|(from, to, len)| Change::Copy(from, to, len)),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    if bytes.is_empty() {
        return;
    }
    let len = bytes.len();
    match change {
        Change::Set(at, byte) => bytes[at.index(len)] = *byte,
        Change::Flip(at, bit) => bytes[at.index(len)] ^= 1 << bit,
        Change::Cut(at) => bytes.truncate(at.index(len)),
        Change::Insert(at, new) => drop(bytes.splice(at.index(len)..at.index(len), new.clone())),
        Change::Copy(from, to, count) => {
            let from = from.index(len);
            let part = bytes[from..len.min(from + count)].to_vec();
            let to = to.index(len);
            bytes.splice(to..len.min(to + part.len()), part);
        }
    }
}

/// Decodes with the right length, and with all lengths around it, and checks what every result
/// must be.
fn check(decode: Decode, stream: &[u8], len: u64) {
    for limit in [len, LIMIT, 0] {
        let start = Instant::now();
        match decode(stream, limit) {
            Ok(decoded) => assert!(decoded.len() as u64 <= limit),
            Err(error) => assert!(
                matches!(
                    error.kind(),
                    Kind::Corrupt | Kind::Limit | Kind::Unsupported
                ),
                "{error:?}"
            ),
        }
        assert!(start.elapsed() < Duration::from_secs(10), "too slow");
    }
}

/// What can be decoded step by step.
const STEPWISE: [(&str, Decode, CodecId); 3] = [
    ("zstd:level=1:window=12", zstd, CodecId::Zstd),
    ("lzma:level=0", xz, CodecId::Xz),
    ("brotli:quality=1", brotli, CodecId::Brotli),
];

/// Checks that decoding step by step comes to the same end as decoding at once. (A stream without
/// content has no step that could fail.)
fn check_steps(codec: CodecId, decode: Decode, stream: &[u8], len: u64) {
    let whole = decode(stream, len);
    let mut decoder = match Decoder::new(codec, Bytes::from(stream.to_vec()), len) {
        Ok(decoder) => decoder.unwrap(),
        Err(error) => return assert!(whole.is_err(), "{error}"),
    };
    let mut done = Ok(());
    while done.is_ok() && !decoder.is_finished() {
        let before = decoder.decoded().len();
        done = decoder.advance();
        assert_eq!(done.is_ok(), decoder.decoded().len() > before);
    }
    assert!(decoder.decoded().len() as u64 <= decoder.len());
    assert_eq!(done.is_ok(), whole.is_ok() || decoder.is_empty());
    if let Ok(whole) = whole {
        assert!(decoder.into_decoded() == whole);
    }
}

fn decode_flac(stream: &[u8], limit: u64) -> Result<Vec<u8>> {
    let mut decoder = flac::Decoder::new(stream)?;
    let (mut all, mut samples) = (Vec::new(), Vec::new());
    while (all.len() as u64) < limit {
        decoder.next_frame(&mut samples)?;
        all.extend(samples.iter().map(|&sample| sample as u8));
    }
    all.truncate(usize::try_from(limit).unwrap());
    Ok(all)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn damaged_streams(
        changes in prop::collection::vec(change(), 1..6),
        len in 0usize..20_000,
        seed in any::<u64>(),
    ) {
        let raw = content(len, seed);
        for (encoding, decode) in CODECS {
            let encoding: Encoding = encoding.parse().unwrap();
            let mut stream = encoding.encode(&raw).unwrap();
            changes.iter().for_each(|change| apply(&mut stream, change));
            check(decode, &stream, len as u64);
        }
    }

    #[test]
    fn damaged_streams_step_by_step(
        changes in prop::collection::vec(change(), 0..3),
        len in 0usize..400_000,
        seed in any::<u64>(),
    ) {
        let raw = content(len, seed);
        for (encoding, decode, codec) in STEPWISE {
            let encoding: Encoding = encoding.parse().unwrap();
            let mut stream = encoding.encode(&raw).unwrap();
            changes.iter().for_each(|change| apply(&mut stream, change));
            check_steps(codec, decode, &stream, len as u64);
        }
    }

    #[test]
    fn invented_streams(bytes in prop::collection::vec(any::<u8>(), 0..500), len in 0..LIMIT) {
        for (_, decode) in CODECS {
            check(decode, &bytes, len);
        }
        check(decode_flac, &bytes, len);
        // behind what a decoder expects first
        check(zstd, &[&[0x28, 0xb5, 0x2f, 0xfd][..], &bytes].concat(), len);
        check(xz, &[b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46", &bytes[..]].concat(), len);
        check(decode_flac, &[b"fLaC", &bytes[..]].concat(), len);
    }

    #[test]
    fn invented_rice_codes(
        bytes in prop::collection::vec(any::<u8>(), 0..500),
        len in 0..LIMIT,
        block_size in 0usize..600,
        components in 0usize..4,
        unused_lsb in 0u32..20,
        big_endian in any::<bool>(),
    ) {
        let packing = ricepp::Packing { block_size, components, unused_lsb, big_endian };
        if let Ok(decoded) = ricepp::decode(&bytes, len, packing) {
            prop_assert_eq!(decoded.len() as u64, len);
        }
    }
}

/// CRC-32 as .xz has it.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ ((crc & 1) * 0xedb8_8320)
        })
    })
}

#[test]
fn an_xz_dictionary_above_the_cap_is_refused() {
    let mut stream = "lzma:level=0"
        .parse::<Encoding>()
        .unwrap()
        .encode(&[7; 5000])
        .unwrap();
    // block header behind the 12 bytes of the stream header: size 2 (12 bytes), flags, LZMA2,
    // 1 property (the dictionary), padding, CRC32
    assert_eq!(stream[12..16], [2, 0, 0x21, 1]);
    for (dictionary, kind) in [
        (36, None),
        (37, Some(Kind::Limit)),
        (40, Some(Kind::Limit)),
        (41, Some(Kind::Unsupported)),
    ] {
        stream[16] = dictionary;
        let crc = crc32(&stream[12..20]).to_le_bytes();
        stream[20..24].copy_from_slice(&crc);
        let result = xz(&stream, 5000);
        assert_eq!(result.as_ref().err().map(Error::kind), kind, "{result:?}");
    }
}

#[test]
fn an_xz_index_that_tells_less_than_is_there() {
    let mut stream = "lzma:level=0"
        .parse::<Encoding>()
        .unwrap()
        .encode(&[7; 5000])
        .unwrap();
    // index: 0, one record, unpadded size, 5000 (2 bytes), padding, CRC32; then the footer of 12
    let index = stream.len() - 12 - 12;
    let Some(at) = (index..stream.len() - 12).find(|&at| stream[at..at + 2] == [0x88, 0x27]) else {
        panic!("no record of 5000 bytes in {:x?}", &stream[index..]);
    };
    stream[at] = 0x87;
    let crc_at = stream.len() - 16;
    let crc = crc32(&stream[index..crc_at]).to_le_bytes();
    stream[crc_at..crc_at + 4].copy_from_slice(&crc);
    let codec = CodecId::Xz.codec().unwrap();
    assert_eq!(codec.decoded_len(&stream).unwrap(), Some(4999));
    assert_eq!(xz(&stream, LIMIT).unwrap_err().kind(), Kind::Corrupt);
}

#[test]
fn small_input_that_grows_without_end_stops_at_the_limit() {
    let zeros = vec![0; 50 << 20];
    for (encoding, decode) in CODECS {
        let encoding: Encoding = encoding
            .replace("quality=9", "quality=3")
            .replace("level=9", "level=3")
            .parse()
            .unwrap();
        let stream = encoding.encode(&zeros).unwrap();
        assert!(stream.len() < 300_000, "{encoding}: {}", stream.len());
        for limit in [0, 1, LIMIT, (50 << 20) - 1] {
            assert!(decode(&stream, limit).is_err(), "{encoding} {limit}");
        }
        assert!(decode(&stream, 50 << 20).unwrap() == zeros);
    }
}
