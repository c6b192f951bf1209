//! Payloads of every compression id.

use proptest::prelude::*;
use sinterfs_model::{ByteOrder, Kind, Padding, RawImage, Waveform};

use super::*;

const LIMIT: u64 = 1 << 30;

fn encode(encoding: &Encoding, category: Category, raw: &[u8]) -> Result<(u16, Vec<u8>)> {
    super::encode(encoding, category, raw, &WorkerPermits::default())
}

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
            let (id, payload) = encode(&encoding, Category::Default, &raw).unwrap();
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
        let (id, payload) = encode(&encoding.parse().unwrap(), Category::Default, &noise).unwrap();
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
        let (id, mut stored) = encode(&encoding.parse().unwrap(), Category::Default, &text(5000)).unwrap();
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

/// Bytes of samples of which some are noise and some a slope, without anything in their padding.
fn waveform_bytes(waveform: Waveform, frames: usize) -> Vec<u8> {
    let mut state = 5u64;
    let mut bytes = Vec::new();
    for index in 0..frames * usize::from(waveform.channels) {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let noise = (state >> 32) as u32 >> 4;
        let sample = (if index / 5000 % 2 == 0 {
            noise
        } else {
            (index as u32) << 16
        }) >> (32 - waveform.bits);
        let spare = 8 * u32::from(waveform.bytes) - u32::from(waveform.bits);
        let value = match waveform.padding {
            Padding::Low => u64::from(sample) << spare,
            Padding::High if waveform.signed => {
                let wide = u64::from(sample) << (64 - waveform.bits);
                (wide.cast_signed() >> (64 - waveform.bits)).cast_unsigned()
            }
            Padding::High => sample.into(),
        };
        let value = value.to_le_bytes();
        let value = &value[..waveform.bytes.into()];
        match waveform.order {
            ByteOrder::Little => bytes.extend_from_slice(value),
            ByteOrder::Big => bytes.extend(value.iter().rev()),
        }
    }
    bytes
}

fn waveforms() -> Vec<Waveform> {
    let mut all = Vec::new();
    for (bits, bytes) in [
        (8, 1),
        (5, 1),
        (12, 2),
        (16, 2),
        (20, 3),
        (24, 3),
        (24, 4),
        (32, 4),
    ] {
        for (order, signed) in [
            (ByteOrder::Little, true),
            (ByteOrder::Big, true),
            (ByteOrder::Little, false),
            (ByteOrder::Big, false),
        ] {
            for (padding, channels) in [(Padding::Low, 1), (Padding::High, 2), (Padding::Low, 3)] {
                all.push(Waveform {
                    channels,
                    bits,
                    bytes,
                    order,
                    signed,
                    padding,
                });
            }
        }
    }
    all
}

#[test]
fn waveforms_of_every_form_come_back() {
    for waveform in waveforms() {
        for frames in [0, 1, 9000] {
            let raw = waveform_bytes(waveform, frames);
            for level in [0, 8] {
                let flac = Encoding::from(Flac {
                    level,
                    exhaustive: false,
                });
                let category = Category::Waveform(waveform);
                let (id, payload) = encode(&flac, category, &raw).unwrap();
                if frames > 1 {
                    assert_eq!(id, id::FLAC, "{waveform:?}");
                    let bits = Fields::bits(&payload);
                    assert_eq!(bits, u64::from(waveform.bits), "{waveform:?}");
                }
                assert!(decode(id, &payload, LIMIT).unwrap() == raw, "{waveform:?}");
                if id == id::FLAC {
                    assert_eq!(samples(id, &payload).unwrap(), Some(category));
                }
            }
        }
    }
}

/// What the header of a FLAC payload states.
struct Fields;

impl Fields {
    fn bits(payload: &[u8]) -> u64 {
        let (_, rest) = header::size(payload).unwrap();
        header::Fields::read(rest).unwrap().0.get(2)
    }
}

#[test]
fn padding_that_holds_something_is_kept() {
    let flac = Encoding::from(Flac {
        level: 4,
        exhaustive: false,
    });
    for waveform in waveforms() {
        if waveform.bits == 8 * waveform.bytes {
            continue;
        }
        let mut raw = waveform_bytes(waveform, 9000);
        // one bit of one sample, near the end
        let sample = raw.len() - 5 * usize::from(waveform.bytes);
        let low = match waveform.order {
            ByteOrder::Little => 0,
            ByteOrder::Big => usize::from(waveform.bytes) - 1,
        };
        let high = usize::from(waveform.bytes) - 1 - low;
        match waveform.padding {
            Padding::Low => raw[sample + low] ^= 1,
            Padding::High => raw[sample + high] ^= 0x80,
        }
        let (id, payload) = encode(&flac, Category::Waveform(waveform), &raw).unwrap();
        assert_eq!(id, id::FLAC, "{waveform:?}");
        assert_eq!(Fields::bits(&payload), 8 * u64::from(waveform.bytes));
        assert!(decode(id, &payload, LIMIT).unwrap() == raw, "{waveform:?}");
    }
}

#[test]
fn images_of_every_form_come_back() {
    for (components, order) in [
        (1, ByteOrder::Big),
        (2, ByteOrder::Big),
        (2, ByteOrder::Little),
    ] {
        // the category may be wrong about low bits
        for (promised, real) in [(0, 0), (0, 3), (3, 0)] {
            let image = RawImage {
                components,
                unused_lsb: promised,
                order,
            };
            let raw: Vec<u8> = (0..20_000u32)
                .flat_map(|index| {
                    let value = (((index * index) >> 7) as u16 % 700) << real;
                    match order {
                        ByteOrder::Big => value.to_be_bytes(),
                        ByteOrder::Little => value.to_le_bytes(),
                    }
                })
                .collect();
            let mut sizes = Vec::new();
            for text in ["ricepp", "ricepp:block_size=128", "ricepp:block_size=16"] {
                let ricepp = text.parse().unwrap();
                let (id, payload) = encode(&ricepp, Category::Fits(image), &raw).unwrap();
                assert_eq!(id, id::RICEPP);
                assert!(decode(id, &payload, LIMIT).unwrap() == raw, "{image:?}");
                sizes.push(payload.len());
            }
            assert!(sizes[0] <= sizes[1].min(sizes[2]), "{sizes:?}");
        }
    }
}

#[test]
fn codecs_of_samples_are_for_samples() {
    let waveform = Category::Waveform(waveforms()[0]);
    let image = Category::Fits(RawImage {
        components: 1,
        unused_lsb: 0,
        order: ByteOrder::Big,
    });
    for (text, category, len) in [
        ("flac", Category::Default, 100),
        ("flac", image, 100),
        ("ricepp", waveform, 100),
        ("ricepp", Category::Incompressible, 100),
        ("ricepp", image, 101),
        ("flac", Category::Waveform(waveforms()[2]), 100),
    ] {
        let error = encode(&text.parse().unwrap(), category, &vec![0; len]).unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid, "{text} {category:?}");
    }
    // codecs of bytes are for everything
    for category in [waveform, image] {
        let (id, _) = encode(&"zstd:level=1".parse().unwrap(), category, &[0; 100]).unwrap();
        assert_eq!(id, id::ZSTD);
    }
}
