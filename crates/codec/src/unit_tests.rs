//! Units of other encoders decode; damaged, cut and too long ones are refused.

use std::io::Write;

use liblzma::stream::{Action, Check, Filters, LzmaOptions, Stream};
use sinterfs_model::Kind;
use sinterfs_testkit::noise;

use crate::CodecId;

/// Text that repeats, then bytes that do not.
fn content(len: usize) -> Vec<u8> {
    let text = b"a unit of a file, and again ".iter().copied().cycle();
    let mut bytes: Vec<u8> = text.take(len * 3 / 4).collect();
    bytes.extend(noise(7, len - bytes.len()));
    bytes
}

fn lzma_stream(mut encoder: Stream, raw: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(raw.len() * 2 + 4096);
    encoder
        .process_vec(raw, &mut encoded, Action::Finish)
        .unwrap();
    encoded
}

/// Encodes with libraries that are not the decoder's own where there are such.
fn encoded(codec: CodecId, raw: &[u8]) -> Vec<u8> {
    let options = LzmaOptions::new_preset(6).unwrap();
    match codec {
        CodecId::Zlib => {
            let mut encoder =
                flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(9));
            encoder.write_all(raw).unwrap();
            encoder.finish().unwrap()
        }
        CodecId::Lzma => lzma_stream(Stream::new_lzma_encoder(&options).unwrap(), raw),
        CodecId::Lzo => lzokay::compress::compress(raw).unwrap(),
        CodecId::Xz => {
            let mut filters = Filters::new();
            filters.x86().lzma2(&options);
            lzma_stream(
                Stream::new_stream_encoder(&filters, Check::Crc32).unwrap(),
                raw,
            )
        }
        CodecId::Lz4 => {
            let mut encoded = Vec::new();
            lzzzz::lz4::compress_to_vec(raw, &mut encoded, 1).unwrap();
            encoded
        }
        CodecId::Lz4Frame => {
            let mut encoded = Vec::new();
            let preferences = lzzzz::lz4f::Preferences::default();
            lzzzz::lz4f::compress_to_vec(raw, &mut encoded, &preferences).unwrap();
            encoded
        }
        CodecId::Bzip2 => {
            let mut encoder =
                ::bzip2::write::BzEncoder::new(Vec::new(), ::bzip2::Compression::best());
            encoder.write_all(raw).unwrap();
            encoder.finish().unwrap()
        }
        CodecId::Zstd => {
            let mut encoded = vec![0; zstd_safe::compress_bound(raw.len())];
            let len = zstd_safe::compress(&mut encoded[..], raw, 15).unwrap();
            encoded.truncate(len);
            encoded
        }
        CodecId::Deflate => {
            let mut encoder =
                flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(9));
            encoder.write_all(raw).unwrap();
            encoder.finish().unwrap()
        }
        CodecId::MicroLzma => {
            // the header of .lzma is 13 bytes, the first of them the properties
            let stream = lzma_stream(Stream::new_lzma_encoder(&options).unwrap(), raw);
            let mut micro = stream[13..].to_vec();
            assert_eq!(micro[0], 0);
            micro[0] = !stream[0];
            micro
        }
        other => panic!("{other} has no streams of units"),
    }
}

const ALL: [CodecId; 10] = [
    CodecId::Zlib,
    CodecId::Lzma,
    CodecId::Lzo,
    CodecId::Xz,
    CodecId::Lz4,
    CodecId::Lz4Frame,
    CodecId::Bzip2,
    CodecId::Zstd,
    CodecId::Deflate,
    CodecId::MicroLzma,
];

#[test]
fn units_come_back() {
    for codec in ALL {
        for len in [1, 100, 8192, 1 << 20] {
            let raw = content(len);
            let stream = encoded(codec, &raw);
            // only the room limits MicroLZMA's output
            let spares = if codec == CodecId::MicroLzma { 1 } else { 2 };
            for spare in [0, 77].into_iter().take(spares) {
                let mut room = vec![0xaa; len + spare];
                let found = codec.decode(&stream, &mut room).unwrap();
                assert_eq!(found, len, "{codec:?}");
                assert!(room[..len] == raw, "{codec:?} {len}");
            }
        }
    }
}

#[test]
fn parts_come_back() {
    let codecs = [
        CodecId::Lz4,
        CodecId::Zstd,
        CodecId::Deflate,
        CodecId::MicroLzma,
    ];
    for codec in codecs {
        let raw = content(1 << 20);
        let stream = encoded(codec, &raw);
        for len in [1, 100, 8192, 700_000, 1 << 20] {
            let mut room = vec![0xaa; len];
            codec.decode_part(&stream, &mut room).unwrap();
            assert!(room == raw[..len], "{codec:?} {len}");
        }
        let mut room = vec![0; (1 << 20) + 1];
        let error = codec.decode_part(&stream, &mut room).unwrap_err();
        assert_eq!(error.kind(), Kind::Corrupt, "{codec:?}: {error}");
        let half = &stream[..stream.len() / 2];
        let error = codec.decode_part(half, &mut room).unwrap_err();
        assert_eq!(error.kind(), Kind::Corrupt, "{codec:?}: {error}");
    }
    let error = CodecId::Xz.decode_part(&[1], &mut [0]).unwrap_err();
    assert_eq!(error.kind(), Kind::Unsupported);
}

#[test]
fn more_than_the_room_is_refused() {
    let raw = content(8193);
    for codec in ALL {
        let stream = encoded(codec, &raw);
        let mut room = vec![0; 8192];
        let error = codec.decode(&stream, &mut room).unwrap_err();
        assert_eq!(error.kind(), Kind::Corrupt, "{codec:?}: {error}");
        assert!(codec.decode(&stream, &mut []).is_err(), "{codec:?}");
    }
}

#[test]
fn a_stream_that_is_cut_is_refused() {
    let raw = content(8192);
    for codec in ALL {
        let stream = encoded(codec, &raw);
        let mut room = vec![0; 8192];
        for len in [0, 1, 10, stream.len() / 2, stream.len() - 1] {
            // LZ4 has no end: a part can be a block, but a shorter one
            match codec.decode(&stream[..len], &mut room) {
                Ok(found) => assert!(codec == CodecId::Lz4 && found < raw.len(), "{codec:?}"),
                Err(error) => assert_eq!(error.kind(), Kind::Corrupt, "{codec:?}: {error}"),
            }
        }
    }
}

#[test]
fn damage_never_panics() {
    let raw = content(4096);
    for codec in ALL {
        let stream = encoded(codec, &raw);
        let mut room = vec![0; 8192];
        for at in 0..stream.len() {
            let mut damaged = stream.clone();
            damaged[at] ^= 1 << (at % 8);
            let _ = codec.decode(&damaged, &mut room);
        }
    }
}

#[test]
fn a_giant_dictionary_is_refused() {
    let mut stream = encoded(CodecId::Lzma, &content(100));
    stream[1..5].copy_from_slice(&(1u32 << 30).to_le_bytes());
    let error = CodecId::Lzma.decode(&stream, &mut [0; 100]).unwrap_err();
    assert_eq!(error.kind(), Kind::Limit, "{error}");
}
