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

use sinterfs_codec::Bytes;
use sinterfs_codec::stream::StreamFormat;
use sinterfs_codec::unit::{UnitCodec, encode};
use sinterfs_codec::{Decoder, Encoding, brotli, lz4, xz, zstd};
use sinterfs_model::{Error, Kind};

fn names(error: &Error, codec: &str, feature: &str) {
    assert_eq!(error.kind(), Kind::Unsupported, "{error}");
    let text = error.to_string();
    let feature = format!("`{feature}`");
    assert!(text.contains(codec) && text.contains(&feature), "{text}");
}

#[test]
fn blocks_name_codec_and_feature() {
    names(&zstd::decode(b"x", 9).unwrap_err(), "zstd", "zstd");
    names(&zstd::decoded_len(b"x").unwrap_err(), "zstd", "zstd");
    names(&xz::decode(b"x", 9).unwrap_err(), "xz", "lzma");
    names(&lz4::decode(b"x", 9).unwrap_err(), "lz4", "lz4");
    names(&brotli::decode(b"x", 9).unwrap_err(), "brotli", "brotli");
    let stream = Bytes::from(vec![0; 9]);
    names(&Decoder::brotli(stream, 9).unwrap_err(), "brotli", "brotli");
}

#[test]
fn units_name_codec_and_feature() {
    let codecs = [
        (UnitCodec::Zlib, "zlib", "deflate"),
        (UnitCodec::Lzma, "lzma", "lzma"),
        (UnitCodec::Lzo, "lzo", "lzo"),
        (UnitCodec::Xz, "xz", "lzma"),
        (UnitCodec::Lz4, "lz4", "lz4"),
        (UnitCodec::Zstd, "zstd", "zstd"),
        (UnitCodec::Deflate, "deflate", "deflate"),
        (UnitCodec::MicroLzma, "microlzma", "lzma"),
    ];
    for (codec, name, feature) in codecs {
        names(&codec.decode(b"x", &mut [0; 9]).unwrap_err(), name, feature);
    }
    names(&encode::zlib(b"x", 6).unwrap_err(), "zlib", "deflate");
    names(&encode::lzo(b"x").unwrap_err(), "lzo", "lzo");
}

#[test]
fn encodings_and_streams_name_codec_and_feature() {
    for (text, name) in [("zstd", "zstd"), ("lz4", "lz4"), ("brotli", "brotli")] {
        let encoding: Encoding = text.parse().unwrap();
        names(&encoding.encode(b"content").unwrap_err(), name, name);
    }
    let gzip = StreamFormat::Gzip.decode(&b"x"[..]);
    names(&gzip.map(drop).unwrap_err(), "gzip", "streams");
    // these are ours
    let lzma2: Encoding = "lzma2".parse().unwrap();
    assert!(lzma2.encode(b"content").is_ok());
}
