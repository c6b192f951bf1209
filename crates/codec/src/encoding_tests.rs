//! Encodings as text, round trips, exact lengths.

#![allow(clippy::disallowed_methods, reason = "a test fails without threads")]

use sinterfs_model::{Kind, Result};

use crate::{Bcj, CODECS, Choice, CodecId, Dialect, Encoding, Readers};

const ALL: [&str; 31] = [
    "none",
    "zstd:level=-5",
    "zstd:level=1",
    "zstd:level=19:window=27:long",
    "zstd:level=3:window=10",
    "zstd:optimal=1",
    "zstd:optimal=2:window=10",
    "zstd:optimal=3:window=26",
    "lzma:level=0",
    "lzma:level=6:dict=12",
    "lzma:level=1:extreme:dict=30:binary=x86",
    "lzma:level=2:binary=powerpc",
    "lzma:level=2:binary=ia64",
    "lzma:level=2:binary=arm",
    "lzma:level=2:binary=armthumb",
    "lzma:level=2:binary=arm64",
    "lzma:level=2:binary=riscv",
    "lzma:level=2:binary=sparc",
    "lzma2:level=1",
    "lzma2:level=4:dict=12",
    "lzma2:level=6",
    "lzma2:level=6:dict=26:lc=0:lp=4:pb=0",
    "lzma2:level=7:lc=2:lp=2:pb=4:binary=auto",
    "lzma2:level=9:lc=4:binary=x86",
    "lz4",
    "lz4:level=-9",
    "lz4hc:level=2",
    "lz4hc:level=3",
    "lz4hc:level=9",
    "lz4hc:level=12",
    "brotli:quality=5:lgwin=30",
];

fn encoding(text: &str) -> Encoding {
    text.parse().unwrap()
}

fn decode(encoding: &Encoding, stream: &[u8], len: u64) -> Result<Vec<u8>> {
    let codec = match encoding.codec() {
        CodecId::Lzma2 => CodecId::Xz,
        codec => codec,
    };
    by(codec, stream, len)
}

fn by(codec: CodecId, stream: &[u8], len: u64) -> Result<Vec<u8>> {
    codec.codec().unwrap().decode(stream, len)
}

fn decoded_len(codec: CodecId, stream: &[u8]) -> Option<u64> {
    codec.codec().unwrap().decoded_len(stream).unwrap()
}

/// Bytes that compress, but not to nothing; calls and jumps of x86 here and there.
fn sample(len: usize) -> Vec<u8> {
    let mut state = 1u32;
    let mut bytes = Vec::with_capacity(len + 16);
    while bytes.len() < len {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        match state >> 30 {
            0 => bytes.extend(format!("line {} of many\n", state >> 20).bytes()),
            1 => bytes.extend([0xe8, (state >> 8) as u8, 0, 0, 0]),
            2 => bytes.extend(state.to_le_bytes()),
            _ => bytes.extend([0; 7]),
        }
    }
    bytes.truncate(len);
    bytes
}

fn round_trip(text: &str, len: usize) {
    let raw = sample(len);
    let encoding = encoding(text);
    let stream = encoding.encode(&raw).unwrap();
    let decoded = decode(&encoding, &stream, len as u64).unwrap();
    assert!(decoded == raw, "{text} of {len} bytes");
}

#[test]
fn round_trip_of_every_encoding() {
    for text in ALL {
        for len in [0, 1, 15, 4097, 65_536, 300_001] {
            round_trip(text, len);
        }
    }
}

#[test]
fn round_trip_of_large_blocks() {
    for text in [
        "zstd:level=3:long",
        "lzma:level=0",
        "lz4",
        "lz4hc:level=3",
        "brotli:quality=3",
    ] {
        round_trip(text, 5_000_001);
    }
}

/// Blocks that share bytes, so that leftovers of an earlier one in a context would be seen.
fn related_blocks() -> Vec<Vec<u8>> {
    let long = sample(200_000);
    let mut blocks = vec![
        long.clone(),
        long[1..].to_vec(),
        sample(70_000),
        long[99_999..].to_vec(),
    ];
    // the first four bytes again, each time before another fifth: a table of zeros points there
    let mut starts: Vec<u8> = (0..40)
        .flat_map(|fifth| [b'a', b'b', b'c', b'd', fifth])
        .collect();
    starts.extend(sample(70_000));
    blocks.push(starts);
    for len in [20, 100, 1000, 5000, 60_000, 65_548] {
        blocks.extend((0..2).map(|skip| long[skip * 7..skip * 7 + len].to_vec()));
    }
    blocks
}

#[test]
fn what_a_thread_encoded_before_does_not_show() {
    let blocks = related_blocks();
    for text in ALL {
        let encoding = encoding(text);
        let alone = |block: &Vec<u8>| {
            std::thread::scope(|scope| {
                scope
                    .spawn(|| encoding.encode(block).unwrap())
                    .join()
                    .unwrap()
            })
        };
        let alone: Vec<Vec<u8>> = blocks.iter().map(alone).collect();
        for round in 0..2 {
            for (index, block) in blocks.iter().enumerate() {
                assert!(
                    encoding.encode(block).unwrap() == alone[index],
                    "{text} {round} {index}"
                );
            }
        }
    }
}

#[test]
fn the_text_form_round_trips() {
    for text in ALL {
        assert_eq!(encoding(text).to_string(), text);
    }
    for (text, canonical) in [
        ("null", "none"),
        ("zstd", "zstd:level=22"),
        ("zstd:long:wlog=20:level=3", "zstd:level=3:window=20:long"),
        ("zstd:optimal", "zstd:optimal=2"),
        ("zstd:wlog=20:optimal=1", "zstd:optimal=1:window=20"),
        ("lzma", "lzma:level=9"),
        ("lzma:dict_size=20", "lzma:level=9:dict=20"),
        ("lzma2", "lzma2:level=6"),
        ("lzma2:pb=2:lp=2:lc=2", "lzma2:level=6:lc=2:lp=2"),
        ("lz4:level=0", "lz4"),
        ("lz4hc", "lz4hc:level=9"),
        ("brotli", "brotli:quality=11:lgwin=22"),
    ] {
        assert_eq!(encoding(text).to_string(), canonical);
        assert_eq!(encoding(canonical), encoding(text));
    }
}

#[test]
fn bad_text_tells_what_is_allowed() {
    for (text, told) in [
        (
            "",
            "supported: none, zstd, lzma, lzma2, lz4, lz4hc, brotli, flac, ricepp)",
        ),
        ("gzip:level=9", "unknown name `gzip`"),
        ("zstd:level=23", "level=-131072..22"),
        ("zstd:level", "level=-131072..22"),
        ("zstd:level=", "level=-131072..22"),
        ("zstd:window=32", "window|wlog=10..31"),
        ("zstd:window=20:wlog=20", "given twice"),
        ("zstd:level=1:level=1", "given twice"),
        ("zstd:long=1", "takes no value"),
        (
            "zstd:fast",
            "allowed: level=-131072..22, window|wlog=10..31, long",
        ),
        ("zstd:", "unknown option ``"),
        ("zstd:optimal=4", "expected optimal=1..3"),
        ("zstd:optimal=", "expected optimal=1..3"),
        (
            "zstd:optimal:level=3",
            "unknown option `level` of zstd (allowed: optimal[=1..3], window|wlog=10..26)",
        ),
        ("zstd:optimal:long", "unknown option `long`"),
        ("zstd:optimal:window=27", "window|wlog=10..26"),
        ("lzma:dict=31", "12..30"),
        (
            "lzma:binary=mips",
            "x86|powerpc|ia64|arm|armthumb|arm64|riscv|sparc",
        ),
        ("lzma2:level=0", "1..9"),
        ("lzma2:dict=27", "12..26"),
        ("lzma2:pb=5", "0..4"),
        ("lzma2:binary=no", "auto|x86|"),
        ("lzma2:lc=3:lp=2", "lc + lp of up to 4"),
        ("lz4:level=1", "-65536..0"),
        ("lz4hc:level=13", "0..12"),
        ("brotli:quality=12", "0..11"),
        ("none:level=1", "it has none"),
    ] {
        let error = text.parse::<Encoding>().unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid);
        assert!(error.to_string().contains(told), "{text}: {error}");
    }
}

#[test]
fn a_level_that_is_given_apart_is_checked() {
    for (codec, level) in [
        (CodecId::Zstd, 23),
        (CodecId::Xz, 10),
        (CodecId::Lz4, 1),
        (CodecId::Lz4Hc, 0),
        (CodecId::Zlib, 13),
    ] {
        let error = Encoding::at_level(codec, level).unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid, "{error}");
    }
}

#[test]
fn a_format_has_names_and_levels_of_its_own() {
    let dialect = Dialect {
        format: Some("TestFS"),
        readers: Readers::Kernels,
        choices: &[
            Choice {
                names: &["gzip", "zlib"],
                codec: CodecId::Zlib,
                level: Some(7),
            },
            Choice {
                names: &["xz"],
                codec: CodecId::Xz,
                level: None,
            },
        ],
    };
    let parse = |text: &str| dialect.parse(text);
    assert_eq!(parse("zlib").unwrap().to_string(), "gzip:level=7");
    assert_eq!(dialect.usual(CodecId::Zlib), parse("gzip").unwrap());
    let xz = parse("xz:dict=64k:bcj=arm,x86").unwrap();
    assert_eq!(xz.to_string(), "xz:level=9:dict=65536:bcj=arm,x86");
    assert_eq!(xz.dictionary(), Some(65536));
    assert_eq!(xz.converters(), [Bcj::Arm, Bcj::X86]);
    let error = parse("brotli").unwrap_err().to_string();
    assert!(
        error.contains("TestFS has no `brotli` (supported: gzip, xz)"),
        "{error}"
    );
}

#[test]
fn every_codec_has_one_row() {
    for (index, (id, _)) in CODECS.iter().enumerate() {
        assert!(
            !CODECS[..index].iter().any(|(other, _)| other == id),
            "{id}"
        );
        assert!(id.codec().is_ok(), "{id}");
    }
    assert_eq!(CODECS.len(), 16, "every codec is built in");
}

#[test]
fn the_promised_length_is_kept_exactly() {
    let raw = sample(100_000);
    for text in ALL.into_iter().filter(|&text| text != "none") {
        let encoding = encoding(text);
        let stream = encoding.encode(&raw).unwrap();
        let short = decode(&encoding, &stream, 99_999).unwrap_err();
        assert!(
            matches!(short.kind(), Kind::Limit | Kind::Corrupt),
            "{text}: {short}"
        );
        let sized = text.starts_with("zstd") || text.starts_with("lzma");
        assert_eq!(decode(&encoding, &stream, 100_001).is_ok(), sized, "{text}");
        for cut in [0, 1, stream.len() / 2, stream.len() - 1] {
            assert!(
                decode(&encoding, &stream[..cut], 100_000).is_err(),
                "{text} cut at {cut}"
            );
        }
    }
}

#[test]
fn sizes_are_told_without_decoding() {
    let raw = sample(70_000);
    let zstd = encoding("zstd").encode(&raw).unwrap();
    assert_eq!(decoded_len(CodecId::Zstd, &zstd), Some(70_000));
    let xz = encoding("lzma:level=1").encode(&raw).unwrap();
    assert_eq!(decoded_len(CodecId::Xz, &xz), Some(70_000));
}

#[test]
fn xz_streams_in_a_row_and_padding_are_one_content() {
    let one = encoding("lzma:level=1").encode(b"one").unwrap();
    let two = encoding("lzma:level=1").encode(b"two!").unwrap();
    let row = [&one[..], &[0; 8], &two, &[0; 4]].concat();
    assert_eq!(decoded_len(CodecId::Xz, &row), Some(7));
    assert_eq!(by(CodecId::Xz, &row, 7).unwrap(), b"onetwo!");
    assert_eq!(by(CodecId::Xz, &row, 6).unwrap_err().kind(), Kind::Limit);
}

#[test]
fn huge_claims_fail_before_memory_is_taken() {
    // a zstd frame header that claims 2^60 bytes: magic, descriptor (8-byte size, single segment)
    let frame = [
        &[0x28, 0xb5, 0x2f, 0xfd, 0xe0][..],
        &(1u64 << 60).to_le_bytes(),
    ]
    .concat();
    assert_eq!(
        by(CodecId::Zstd, &frame, 1 << 30).unwrap_err().kind(),
        Kind::Limit
    );
    assert_eq!(
        by(CodecId::Zstd, &frame, u64::MAX).unwrap_err().kind(),
        Kind::Limit
    );
    assert_eq!(
        by(CodecId::Lz4, &[0; 100], 1 << 30).unwrap_err().kind(),
        Kind::Corrupt
    );
    assert_eq!(
        by(CodecId::Brotli, &[0; 100], 1 << 60).unwrap_err().kind(),
        Kind::Limit
    );
}

#[test]
fn the_xz_dictionary_fits_the_input() {
    let stream = encoding("lzma:level=9").encode(&sample(5000)).unwrap();
    // block header: size, flags, filter LZMA2 (0x21), one property: dictionary 8 KiB (2)
    assert_eq!(stream[12..17], [2, 0, 0x21, 1, 2]);
}

#[test]
fn codecs_of_samples_have_text_and_refuse_plain_bytes() {
    for (text, same) in [
        ("flac", "flac:level=8"),
        ("flac:level=3:exhaustive", "flac:level=3:exhaustive"),
        ("ricepp", "ricepp"),
        ("ricepp:block_size=16", "ricepp:block_size=16"),
    ] {
        assert_eq!(encoding(text).to_string(), same);
        assert_eq!(encoding(same), encoding(text));
        let error = encoding(text).encode(&[0; 100]).unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid);
    }
    for text in [
        "flac:level=9",
        "flac:exhaustive=1",
        "ricepp:block_size=0",
        "ricepp:level=1",
    ] {
        assert!(text.parse::<Encoding>().is_err(), "{text}");
    }
}
