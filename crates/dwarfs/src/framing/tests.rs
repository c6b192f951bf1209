//! Payloads of every compression id.

use model::Kind;
use proptest::prelude::*;

use super::*;

const LIMIT: u64 = 1 << 30;

fn text(len: usize) -> Vec<u8> {
    (0..)
        .flat_map(|i: u32| format!("line {} of many\n", i * i % 977).into_bytes())
        .take(len)
        .collect()
}

#[test]
fn round_trip_of_every_encoding() {
    for (encoding, expected) in [
        ("none", id::NONE),
        ("lzma:level=1", id::LZMA),
        ("lzma:level=1:binary=x86", id::LZMA),
        ("lzma2:level=4", id::LZMA),
        ("zstd:level=3", id::ZSTD),
        ("lz4", id::LZ4),
        ("lz4hc:level=9", id::LZ4),
        ("brotli:quality=4:lgwin=26", id::BROTLI),
    ] {
        let encoding: Encoding = encoding.parse().unwrap();
        for len in [0, 1, 1000, 65_536, 1_000_003] {
            let raw = text(len);
            let (id, payload) = encode(&encoding, &raw).unwrap();
            assert_eq!(
                id,
                if len > 1 { expected } else { id::NONE },
                "{encoding} of {len} bytes"
            );
            assert_eq!(decoded_len(id, &payload, LIMIT).unwrap(), len as u64);
            assert!(decode(id, &payload, LIMIT).unwrap() == raw);
            assert!(decode(id, &payload, len as u64).unwrap() == raw);
            if let Some(below) = (len as u64).checked_sub(1) {
                assert_eq!(decode(id, &payload, below).unwrap_err().kind(), Kind::Limit);
                assert_eq!(
                    decoded_len(id, &payload, below).unwrap_err().kind(),
                    Kind::Limit
                );
            }
        }
    }
}

#[test]
fn bytes_that_gain_nothing_are_kept() {
    let mut state = 1u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    })
    .take(10_000)
    .collect();
    for encoding in [
        "lzma:level=1",
        "lzma2:level=4",
        "zstd:level=3",
        "lz4",
        "lz4hc",
        "brotli:quality=4",
    ] {
        let (id, payload) = encode(&encoding.parse().unwrap(), &noise).unwrap();
        assert_eq!(id, id::NONE, "{encoding}");
        assert!(payload == noise);
    }
}

#[test]
fn lz4_payload_byte_by_byte() {
    let stored = [
        20, 0, 0, 0,    // 20 bytes decoded
        0x16, // one literal, a match of 6 + 4
        b'a', 1, 0,    // the literal, the distance
        0x90, // nine literals, the end
        b'b', b'c', b'd', b'e', b'f', b'g', b'h', b'i', b'j',
    ];
    for id in [id::LZ4, id::LZ4HC] {
        assert_eq!(decode(id, &stored, LIMIT).unwrap(), b"aaaaaaaaaaabcdefghij");
    }
}

#[test]
fn unknown_ids_and_damaged_payloads_are_errors() {
    assert_eq!(
        decode(8, b"abc", LIMIT).unwrap_err().kind(),
        Kind::Unsupported
    );
    assert_eq!(
        decoded_len(8, b"abc", LIMIT).unwrap_err().kind(),
        Kind::Unsupported
    );
    for id in 1..8 {
        assert_eq!(
            decode(id, b"", LIMIT).unwrap_err().kind(),
            Kind::Corrupt,
            "{id}"
        );
        assert!(decode(id, b"\xff\xff\xff", LIMIT).is_err(), "{id}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn invented_payloads(compression in 0u16..9, bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let limit = 100_000;
        let told = decoded_len(compression, &bytes, limit);
        if let Ok(decoded) = decode(compression, &bytes, limit) {
            prop_assert_eq!(told.unwrap(), decoded.len() as u64);
            prop_assert!(decoded.len() as u64 <= limit);
        }
    }

    #[test]
    fn invented_headers(
        compression in 6u16..8,
        len in 0u64..200_000,
        fields in prop::collection::vec((0u8..8, 0u8..8, 0u8..128), 0..7),
        stream in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut stored = header::write_size(len);
        for (delta, kind, value) in fields {
            stored.push(delta << 4 | kind);
            if kind > 2 {
                stored.push(value);
            }
        }
        stored.push(0);
        if compression == id::FLAC {
            stored.extend(b"fLaC\x80\0\0\x22");
        }
        stored.extend(stream);
        if let Ok(decoded) = decode(compression, &stored, 100_000) {
            prop_assert_eq!(decoded.len() as u64, len);
        }
    }

    #[test]
    fn damaged_payloads(
        encoding in 0usize..4,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let encoding = ["lzma:level=0", "zstd:level=1", "lz4", "brotli:quality=2"][encoding];
        let (id, mut stored) = encode(&encoding.parse().unwrap(), &text(5000)).unwrap();
        prop_assert_ne!(id, id::NONE);
        for (at, byte) in changes {
            let at = at.index(stored.len());
            stored[at] = byte;
        }
        if let Ok(decoded) = decode(id, &stored, 6000) {
            prop_assert!(decoded.len() <= 6000);
        }
    }
}
