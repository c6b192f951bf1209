//! What is encoded decodes again, by libraries that are not the encoder's where there are some.

use std::io::Read;

use proptest::prelude::*;
use sinterfs_testkit::noise;

use super::*;
use crate::Bcj;
use crate::unit::UnitCodec;

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

fn xz_options(converters: &[Bcj]) -> XzOptions<'_> {
    XzOptions {
        level: 6,
        extreme: false,
        dictionary: 1 << 17,
        converters,
    }
}

#[test]
fn zlib_streams_decode() {
    for raw in samples() {
        for level in ZLIB_LEVELS {
            let encoded = zlib(&raw, level).unwrap().unwrap();
            let mut decoded = Vec::new();
            let mut decoder = flate2::read::ZlibDecoder::new(&encoded[..]);
            decoder.read_to_end(&mut decoded).unwrap();
            assert_eq!(decoded, raw, "level {level}");
        }
    }
    assert!(zlib(b"abc", 0).is_err());
    assert!(zlib(b"abc", 13).is_err());
}

#[test]
fn lz4_and_micro_lzma_fill_the_room() {
    let text = samples().remove(1);
    let mixed = [&text[..30_000], &noise(1, 5000), &text[..30_000]].concat();
    for raw in [text, mixed] {
        for room in [64, 600, 4096, 20_000] {
            let filled = [
                (UnitCodec::Lz4, lz4_fill(&raw, room).unwrap()),
                (UnitCodec::Lz4, lz4_hc_fill(&raw, room, 9).unwrap()),
                (
                    UnitCodec::MicroLzma,
                    micro_lzma::fill(&raw, room, 3, 1 << 20),
                ),
                (UnitCodec::MicroLzma, micro_lzma::fill(&raw, room, 7, 4096)),
            ];
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
    for raw in samples() {
        let stream = micro_lzma::encode(&raw, 6, 1 << 20).unwrap();
        let mut decoded = vec![0; raw.len()];
        UnitCodec::MicroLzma.decode(&stream, &mut decoded).unwrap();
        assert!(decoded == raw && stream.len() < raw.len());
    }
    assert!(micro_lzma::encode(&noise(1, 5000), 6, 1 << 20).is_none());
    assert!(micro_lzma::encode(b"abcdef", 6, 1 << 20).is_none());
    assert_eq!(micro_lzma::fill(b"", 100, 1, 4096), (0, Vec::new()));
}

#[test]
fn lzo_streams_decode_and_the_tables_carry_nothing_over() {
    for raw in samples() {
        let encoded = lzo(&raw).unwrap().unwrap();
        let mut decoded = vec![0; raw.len()];
        let len = lzokay::decompress::decompress(&encoded, &mut decoded).unwrap();
        assert_eq!((len, &decoded), (raw.len(), &raw));
        lzo(&noise(1, 70_000)).unwrap();
        assert_eq!(lzo(&raw).unwrap().unwrap(), encoded);
    }
}

#[test]
fn xz_streams_decode_and_have_a_crc32() {
    for raw in samples() {
        let encoded = xz(&raw, xz_options(&[])).unwrap().unwrap();
        assert_eq!(encoded[6..8], [0, 1], "the stream's flags");
        assert_eq!(unxz(&encoded), raw);
    }
}

#[test]
fn a_converter_is_used_only_where_it_helps() {
    let [_, text, code, _] = &samples()[..] else {
        panic!("four samples");
    };
    let all = [Bcj::Arm, Bcj::X86, Bcj::PowerPc];
    let plain = xz(code, xz_options(&[])).unwrap().unwrap();
    let tried = xz(code, xz_options(&all)).unwrap().unwrap();
    assert!(tried.len() < plain.len());
    assert_eq!(unxz(&tried), *code);
    let plain = xz(text, xz_options(&[])).unwrap();
    assert_eq!(xz(text, xz_options(&all)).unwrap(), plain);
}

#[test]
fn lzma_streams_tell_their_length() {
    for raw in samples() {
        let encoded = lzma(&raw, 6, 1 << 17).unwrap().unwrap();
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
        assert_eq!(zlib(&raw, 9).unwrap(), None);
        assert_eq!(lzo(&raw).unwrap(), None);
        assert_eq!(xz(&raw, xz_options(&[Bcj::X86])).unwrap(), None);
        assert_eq!(lzma(&raw, 6, 1 << 17).unwrap(), None);
        assert_eq!(lz4(&raw, 0).unwrap(), None);
        assert_eq!(lz4_hc(&raw, 12).unwrap(), None);
        assert_eq!(zstd(&raw, 22).unwrap(), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn anything_survives_lzo(raw in proptest::collection::vec(0u8..4, 0..20_000)) {
        if let Some(encoded) = lzo(&raw).unwrap() {
            let mut decoded = vec![0; raw.len()];
            lzokay::decompress::decompress(&encoded, &mut decoded).unwrap();
            prop_assert_eq!(decoded, raw);
        }
    }
}
