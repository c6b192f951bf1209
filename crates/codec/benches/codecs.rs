//! How fast codecs are, by raw bytes a second.

#![allow(clippy::unwrap_used, reason = "a benchmark")]

use divan::Bencher;
use divan::counter::BytesCount;
use sinterfs_codec::{CodecId, Encoding};

fn main() {
    divan::main();
}

/// Bytes of the block that is coded.
const BLOCK: usize = 4 << 20;

const CODECS: &[&str] = &[
    "lz4",
    "lz4hc:level=9",
    "zstd:level=1",
    "zstd:level=9",
    "zstd:level=19",
    "lzma:level=1",
    "lzma:level=6",
    "brotli:quality=5",
];

/// Makes made-up words, the frequent ones much more frequent, as in text.
fn text() -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let words: Vec<Vec<u8>> = (0..4000)
        .map(|_| {
            let len = 2 + next() % 9;
            (0..len).map(|_| b'a' + (next() >> 20) as u8 % 26).collect()
        })
        .collect();
    let mut text = Vec::with_capacity(BLOCK + 16);
    while text.len() < BLOCK {
        let random = next();
        let range = (words.len() >> (random % 10)).max(1);
        text.extend_from_slice(&words[(random >> 32) as usize % range]);
        text.push(b' ');
    }
    text.truncate(BLOCK);
    text
}

fn decode(codec: &str, stream: &[u8]) -> Vec<u8> {
    let len = BLOCK as u64;
    let codec = match codec.split(':').next().unwrap() {
        "lz4" | "lz4hc" => CodecId::Lz4,
        "zstd" => CodecId::Zstd,
        "lzma" => CodecId::Xz,
        _ => CodecId::Brotli,
    };
    codec.codec().unwrap().decode(stream, len).unwrap()
}

#[divan::bench(args = CODECS)]
fn decoding(bencher: Bencher<'_, '_>, codec: &str) {
    let raw = text();
    let stream = codec.parse::<Encoding>().unwrap().encode(&raw).unwrap();
    assert!(decode(codec, &stream) == raw);
    bencher
        .counter(BytesCount::new(BLOCK))
        .bench(|| decode(codec, divan::black_box(&stream)));
}

#[divan::bench(args = CODECS, max_time = 5)]
fn encoding(bencher: Bencher<'_, '_>, codec: &str) {
    let raw = text();
    let encoding: Encoding = codec.parse().unwrap();
    bencher
        .counter(BytesCount::new(BLOCK))
        .bench(|| encoding.encode(divan::black_box(&raw)).unwrap());
}
