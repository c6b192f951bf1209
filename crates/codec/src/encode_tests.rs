//! Encoded blocks decode again, where possible by libraries other than the encoder's.

use std::io::Read;

use proptest::prelude::*;
use sinterfs_testkit::noise;

use crate::{Choice, CodecId, Dialect, Encoding, Readers, zlib};

fn at_level(codec: CodecId, level: i32) -> Encoding {
    Encoding::at_level(codec, level).unwrap()
}

/// Encodes for readers that are prepared for 128 KiB.
fn unit(encoding: &Encoding, raw: &[u8]) -> Option<Vec<u8>> {
    encoding.encode_unit(raw, Some(1 << 17)).unwrap()
}

fn xz(options: &str) -> Encoding {
    let dialect = Dialect {
        format: None,
        readers: Readers::Kernels,
        choices: &[Choice {
            names: &["xz"],
            codec: CodecId::Xz,
            level: Some(6),
        }],
    };
    dialect.parse(options).unwrap()
}

fn samples() -> Vec<Vec<u8>> {
    let text = b"All that is gold does not glitter, not all those who wander are lost. ";
    let mut code: Vec<u8> = Vec::new();
    for n in 0..3000u32 {
        code.push(0xe8);
        code.extend((1_000_000 - n * 5).to_le_bytes());
    }
    vec![
        vec![b'a'; 8192],
        text.repeat(1900),
        code,
        (0..=255).cycle().take(4097).collect(),
    ]
}

fn unxz(stream: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut decoder = liblzma::read::XzDecoder::new(stream);
    decoder.read_to_end(&mut out).unwrap();
    out
}

#[test]
fn zlib_streams_decode() {
    for raw in samples() {
        for level in zlib::LEVELS {
            let encoded = unit(&at_level(CodecId::Zlib, level), &raw).unwrap();
            let mut decoded = Vec::new();
            let mut decoder = flate2::read::ZlibDecoder::new(&encoded[..]);
            decoder.read_to_end(&mut decoded).unwrap();
            assert_eq!(decoded, raw, "level {level}");
        }
    }
}

#[test]
fn lz4_and_micro_lzma_fill_the_room() {
    let text = samples().remove(1);
    let mixed = [&text[..30_000], &noise(1, 5000), &text[..30_000]].concat();
    for raw in [text, mixed] {
        for room in [64, 600, 4096, 20_000] {
            let filled = [
                (CodecId::Lz4, CodecId::Lz4, 0, 1 << 20),
                (CodecId::Lz4, CodecId::Lz4Hc, 9, 1 << 20),
                (CodecId::MicroLzma, CodecId::MicroLzma, 3, 1 << 20),
                (CodecId::MicroLzma, CodecId::MicroLzma, 7, 4096),
            ];
            let filled = filled.map(|(reader, codec, level, window)| {
                let encoding = at_level(codec, level);
                (
                    reader,
                    encoding.fill_unit(&raw, room, Some(window)).unwrap(),
                )
            });
            for (codec, (taken, stream)) in filled {
                assert!(stream.len() <= room && taken <= raw.len(), "{codec:?}");
                assert!(taken == raw.len() || stream.len() + 24 > room, "{codec:?}");
                let mut decoded = vec![0; taken];
                assert_eq!(codec.decode(&stream, &mut decoded).unwrap(), taken);
                assert_eq!(decoded, raw[..taken], "{codec:?} {room}");
            }
        }
    }
}

#[test]
fn micro_lzma_is_smaller_or_nothing() {
    let micro = at_level(CodecId::MicroLzma, 6);
    for raw in samples() {
        let stream = unit(&micro, &raw).unwrap();
        let mut decoded = vec![0; raw.len()];
        CodecId::MicroLzma.decode(&stream, &mut decoded).unwrap();
        assert!(decoded == raw && stream.len() < raw.len());
    }
    assert!(unit(&micro, &noise(1, 5000)).is_none());
    assert!(unit(&micro, b"abcdef").is_none());
    let empty = micro.fill_unit(b"", 100, Some(4096)).unwrap();
    assert_eq!(empty, (0, Vec::new()));
}

#[test]
fn lzo_streams_decode_and_the_tables_carry_nothing_over() {
    let lzo = at_level(CodecId::Lzo, 0);
    for raw in samples() {
        let encoded = unit(&lzo, &raw).unwrap();
        let mut decoded = vec![0; raw.len()];
        let len = lzokay::decompress::decompress(&encoded, &mut decoded).unwrap();
        assert_eq!((len, &decoded), (raw.len(), &raw));
        unit(&lzo, &noise(1, 70_000));
        assert_eq!(unit(&lzo, &raw).unwrap(), encoded);
    }
}

#[test]
fn xz_streams_decode_and_have_a_crc32() {
    for raw in samples() {
        let encoded = unit(&xz("xz"), &raw).unwrap();
        assert_eq!(encoded[6..8], [0, 1], "the stream's flags");
        assert_eq!(unxz(&encoded), raw);
    }
}

#[test]
fn a_converter_is_used_only_where_it_helps() {
    let [_, text, code, _] = &samples()[..] else {
        panic!("four samples");
    };
    let (none, all) = (xz("xz"), xz("xz:bcj=arm,x86,powerpc"));
    let plain = unit(&none, code).unwrap();
    let tried = unit(&all, code).unwrap();
    assert!(tried.len() < plain.len());
    assert_eq!(unxz(&tried), *code);
    let plain = unit(&none, text);
    assert_eq!(unit(&all, text), plain);
}

#[test]
fn lzma_streams_tell_their_length() {
    for raw in samples() {
        let encoded = unit(&at_level(CodecId::Lzma, 6), &raw).unwrap();
        assert_eq!(encoded[5..13], (raw.len() as u64).to_le_bytes());
        let decoder = liblzma::stream::Stream::new_lzma_decoder(1 << 30).unwrap();
        let mut decoded = Vec::new();
        liblzma::read::XzDecoder::new_stream(&encoded[..], decoder)
            .read_to_end(&mut decoded)
            .unwrap();
        assert_eq!(decoded, raw);
    }
}

#[test]
fn what_does_not_get_smaller_is_left_alone() {
    for raw in [noise(1, 10_000), noise(1, 1), Vec::new()] {
        for (codec, level) in [
            (CodecId::Zlib, 9),
            (CodecId::Deflate, 9),
            (CodecId::Lzo, 0),
            (CodecId::Xz, 6),
            (CodecId::Lzma, 6),
            (CodecId::Lz4, 0),
            (CodecId::Lz4Hc, 12),
            (CodecId::Zstd, 22),
            (CodecId::MicroLzma, 6),
        ] {
            assert_eq!(unit(&at_level(codec, level), &raw), None, "{codec}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn anything_survives_lzo(raw in proptest::collection::vec(0u8..4, 0..20_000)) {
        let lzo = at_level(CodecId::Lzo, 0);
        if let Some(encoded) = unit(&lzo, &raw) {
            let mut decoded = vec![0; raw.len()];
            lzokay::decompress::decompress(&encoded, &mut decoded).unwrap();
            prop_assert_eq!(decoded, raw);
        }
    }
}
