//! What a build without codecs says of their blocks; compiled only without any of them:
//! `cargo test -p sinterfs-codec --no-default-features --test missing_codecs`.
#![cfg(not(any(
    feature = "brotli",
    feature = "deflate",
    feature = "lz4",
    feature = "lzma",
    feature = "lzo",
    feature = "streams",
    feature = "zstd"
)))]
#![allow(missing_docs)]

use sinterfs_codec::stream::StreamFormat;
use sinterfs_codec::{Bytes, CODECS, CodecId, Decoder, Encoding};
use sinterfs_model::{Error, Kind};

fn names(error: &Error, codec: &str, feature: &str) {
    assert_eq!(error.kind(), Kind::Unsupported, "{error}");
    let text = error.to_string();
    let feature = format!("`{feature}`");
    assert!(text.contains(codec) && text.contains(&feature), "{text}");
}

const MISSING: [(CodecId, &str, &str); 11] = [
    (CodecId::Zstd, "zstd", "zstd"),
    (CodecId::Xz, "xz", "lzma"),
    (CodecId::Lz4, "lz4", "lz4"),
    (CodecId::Lz4Hc, "lz4hc", "lz4"),
    (CodecId::Lz4Frame, "lz4", "lz4"),
    (CodecId::Brotli, "brotli", "brotli"),
    (CodecId::Lzma, "lzma", "lzma"),
    (CodecId::Zlib, "zlib", "deflate"),
    (CodecId::Deflate, "deflate", "deflate"),
    (CodecId::Lzo, "lzo", "lzo"),
    (CodecId::Bzip2, "bzip2", "streams"),
];

#[test]
fn decoders_name_codec_and_feature() {
    for (codec, name, feature) in MISSING {
        assert!(CODECS.iter().all(|(id, _)| *id != codec), "{codec}");
        names(&codec.codec().err().unwrap(), name, feature);
        names(&codec.decode(b"x", &mut [0; 9]).unwrap_err(), name, feature);
        let stream = Bytes::from(vec![0; 9]);
        names(&Decoder::new(codec, stream, 9).unwrap_err(), name, feature);
        names(&Encoding::at_level(codec, 1).unwrap_err(), name, feature);
    }
    // encoded by our encoder, decoded by a library
    let micro = CodecId::MicroLzma.decode(b"x", &mut [0; 9]).unwrap_err();
    names(&micro, "microlzma", "lzma");
}

#[test]
fn text_and_streams_name_codec_and_feature() {
    for (text, name, feature) in [
        ("zstd", "zstd", "zstd"),
        ("lz4", "lz4", "lz4"),
        ("brotli", "brotli", "brotli"),
        ("lzma", "xz", "lzma"),
    ] {
        names(&text.parse::<Encoding>().unwrap_err(), name, feature);
    }
    let gzip = StreamFormat::Gzip.decode(&b"x"[..]);
    names(&gzip.map(drop).unwrap_err(), "gzip", "streams");
    // these are ours
    let lzma2: Encoding = "lzma2".parse().unwrap();
    assert!(lzma2.encode(b"content").is_ok());
}
