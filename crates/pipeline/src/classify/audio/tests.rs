//! Headers of every kind, sound and not.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use sinterfs_model::{ByteOrder, Padding, Waveform};

use super::super::probe::tests::Counted;
use super::*;

/// Looks into a file of which so many bytes were read already.
fn look(file: &[u8], head: usize) -> Option<Audio> {
    let file = Counted(file.to_vec(), AtomicU32::new(0));
    let head = file.0[..head.min(file.0.len())].to_vec();
    find(&mut Probe::new(&head, file.0.len() as u64, &file))
}

fn chunk(name: &[u8; 4], size: u32, data: &[u8]) -> Vec<u8> {
    [&name[..], &size.to_le_bytes(), data].concat()
}

/// A format chunk's data: format, channels, bytes of a frame, bits.
fn fmt(format: u16, channels: u16, frame: u16, bits: u16) -> Vec<u8> {
    let mut data = format.to_le_bytes().to_vec();
    data.extend(channels.to_le_bytes());
    data.extend(44_100u32.to_le_bytes());
    data.extend((44_100 * u32::from(frame)).to_le_bytes());
    data.extend(frame.to_le_bytes());
    data.extend(bits.to_le_bytes());
    data
}

fn extensible(channels: u16, frame: u16, bits: u16, valid: u16, guid: &[u8]) -> Vec<u8> {
    let mut data = fmt(0xfffe, channels, frame, bits);
    data.extend(22u16.to_le_bytes());
    data.extend(valid.to_le_bytes());
    data.extend(3u32.to_le_bytes());
    data.extend(guid);
    data
}

const PCM_GUID: [u8; 16] = [
    1, 0, 0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71,
];

fn riff(magic: &[u8; 4], chunks: &[Vec<u8>]) -> Vec<u8> {
    [&magic[..], &[0xff; 4], b"WAVE", &chunks.concat()].concat()
}

fn wav(format: &[u8], samples: u32) -> Vec<u8> {
    let size = format.len() as u32;
    riff(
        b"RIFF",
        &[
            chunk(b"fmt ", size, format),
            chunk(b"data", samples, &vec![1; samples as usize]),
            chunk(b"LIST", 4, b"INFO"),
        ],
    )
}

fn form(channels: u8, bits: u8, bytes: u8, order: ByteOrder, signed: bool) -> Waveform {
    Waveform {
        channels,
        bits,
        bytes,
        order,
        signed,
        padding: Padding::Low,
    }
}

fn told(file: &[u8]) -> Option<(Range<u64>, Waveform)> {
    let found = look(file, 1 << 20);
    // what was read already makes no difference
    for head in [4, 13, 60] {
        assert_eq!(look(file, head), found);
    }
    found.map(|audio| (audio.range, audio.waveform))
}

use ByteOrder::{Big, Little};

#[test]
fn wav_of_every_width() {
    for (channels, frame, bits, waveform) in [
        (1, 1, 8, form(1, 8, 1, Little, false)),
        (2, 4, 16, form(2, 16, 2, Little, true)),
        (2, 4, 12, form(2, 12, 2, Little, true)),
        (1, 3, 24, form(1, 24, 3, Little, true)),
        (6, 18, 20, form(6, 20, 3, Little, true)),
        (8, 32, 32, form(8, 32, 4, Little, true)),
        (1, 4, 24, form(1, 24, 4, Little, true)),
    ] {
        let file = wav(&fmt(1, channels, frame, bits), 1200);
        assert_eq!(told(&file), Some((44..1244, waveform)));
    }
    let file = wav(&extensible(2, 8, 32, 24, &PCM_GUID), 1200);
    assert_eq!(told(&file), Some((68..1268, form(2, 24, 4, Little, true))));
    let file = wav(&extensible(2, 6, 24, 0, &PCM_GUID), 1200);
    assert_eq!(told(&file), Some((68..1268, form(2, 24, 3, Little, true))));
}

#[test]
fn what_flac_does_not_hold_is_left_alone() {
    let mut other = PCM_GUID;
    other[0] = 3;
    let mut ambisonic = PCM_GUID;
    ambisonic[15] = 0x72;
    for format in [
        fmt(3, 1, 4, 32),
        fmt(85, 2, 1, 0),
        fmt(1, 9, 18, 16),
        fmt(1, 0, 0, 16),
        fmt(1, 2, 4, 17),
        fmt(1, 2, 3, 12),
        fmt(1, 1, 1, 3),
        fmt(1, 1, 8, 64),
        fmt(1, 1, 2, 16)[..14].to_vec(),
        extensible(2, 4, 16, 16, &other),
        extensible(2, 4, 16, 16, &ambisonic),
        extensible(2, 4, 16, 2, &PCM_GUID),
        fmt(0xfffe, 2, 4, 16),
    ] {
        assert_eq!(told(&wav(&format, 1200)), None, "{format:?}");
    }
}

#[test]
fn wav_with_odd_and_lying_chunks() {
    let format = chunk(b"fmt ", 16, &fmt(1, 2, 4, 16));
    let waveform = form(2, 16, 2, Little, true);
    let data = |size: u32| chunk(b"data", size, &[7; 400]);
    // odd sizes are padded
    let note = chunk(b"note", 3, b"abc\0");
    let file = riff(b"RIFF", &[note, format.clone(), data(400)]);
    assert_eq!(told(&file), Some((56..456, waveform)));
    // sizes beyond the end, as streams have them
    for size in [401, 1 << 31, u32::MAX] {
        let file = riff(b"RIFF", &[format.clone(), data(size)]);
        assert_eq!(told(&file), Some((44..444, waveform)));
    }
    let none = riff(b"RIFF", &[format.clone(), data(0)]);
    assert_eq!(told(&none), None);
    let twisted = riff(b"RIFF", &[data(400), format.clone()]);
    assert_eq!(told(&twisted), None);
    let far = riff(
        b"RIFF",
        &[chunk(b"junk", u32::MAX, &[]), format.clone(), data(400)],
    );
    assert_eq!(told(&far), None);
    let endless = riff(b"RIFF", &vec![chunk(b"junk", 0, &[]); 1000]);
    assert_eq!(told(&endless), None);
    let whole = riff(b"RIFF", &[format, data(400)]);
    for len in 0..45 {
        assert_eq!(told(&whole[..len]), None, "{len}");
    }
    assert_eq!(told(&whole[..45]), Some((44..45, waveform)));
    assert_eq!(told(b"RIFF\0\0\0\0AVI LIST"), None);
}

#[test]
fn wav_of_64_bits() {
    let waveform = form(1, 16, 2, Little, true);
    let format = chunk(b"fmt ", 16, &fmt(1, 1, 2, 16));
    let ds64 = |len: u64| {
        let sizes = [9u64.to_le_bytes(), len.to_le_bytes(), 0u64.to_le_bytes()].concat();
        chunk(b"ds64", 28, &[&sizes[..], &[0; 4]].concat())
    };
    let data = chunk(b"data", u32::MAX, &[0; 800]);
    for magic in [b"RF64", b"BW64"] {
        let file = riff(magic, &[ds64(600), format.clone(), data.clone()]);
        assert_eq!(told(&file), Some((80..680, waveform)));
        let file = riff(magic, &[ds64(u64::MAX), format.clone(), data.clone()]);
        assert_eq!(told(&file), Some((80..880, waveform)));
    }
    // more reads than are made in a file whose chunks are far apart
    let mut apart = Vec::new();
    for _ in 0..40 {
        apart.push(chunk(b"junk", 100, &[0; 100]));
    }
    apart.extend([format, data]);
    assert_eq!(look(&riff(b"RIFF", &apart), 12), None);
    assert!(look(&riff(b"RIFF", &apart), 1 << 20).is_some());
}

#[test]
fn wave64() {
    let guid = |name: &[u8; 4]| {
        let tail = [
            0xf3, 0xac, 0xd3, 0x11, 0x8c, 0xd1, 0, 0xc0, 0x4f, 0x8e, 0xdb, 0x8a,
        ];
        [&name[..], &tail].concat()
    };
    let chunk = |name: &[u8; 4], size: u64, data: &[u8]| {
        [&guid(name)[..], &size.to_le_bytes(), data].concat()
    };
    let head = [
        0x2e, 0x91, 0xcf, 0x11, 0xa5, 0xd6, 0x28, 0xdb, 4, 0xc1, 0, 0,
    ];
    let head = [&b"riff"[..], &head, &[0; 8], &guid(b"wave")].concat();
    let format = chunk(b"fmt ", 40, &fmt(1, 2, 4, 16));
    let waveform = form(2, 16, 2, Little, true);
    let odd = chunk(b"junk", 25, &[0; 8]);
    let file = [
        &head[..],
        &odd,
        &format,
        &chunk(b"data", 24 + 400, &[1; 500]),
    ]
    .concat();
    assert_eq!(told(&file), Some((136..536, waveform)));
    for size in [u64::MAX, 1 << 63, 24 + 501] {
        let file = [&head[..], &format, &chunk(b"data", size, &[1; 500])].concat();
        assert_eq!(told(&file), Some((104..604, waveform)));
    }
    for size in [0, 23, 24] {
        let file = [&head[..], &format, &chunk(b"data", size, &[1; 500])].concat();
        assert_eq!(told(&file), None);
    }
    let endless = [&head[..], &chunk(b"junk", 24, &[]).repeat(1000)].concat();
    assert_eq!(told(&endless), None);
    assert_eq!(
        told(&[&head[..], &chunk(b"junk", u64::MAX - 3, &[])].concat()),
        None
    );
    assert_eq!(told(&head), None);
}

fn aiff(kind: &[u8; 4], chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut file = [&b"FORM"[..], &[0; 4], kind].concat();
    for (name, data) in chunks {
        file.extend_from_slice(&name[..]);
        file.extend((data.len() as u32).to_be_bytes());
        file.extend(data);
        file.resize(file.len().next_multiple_of(2), 0);
    }
    file
}

fn comm(channels: u16, frames: u32, bits: u16, compression: &[u8]) -> Vec<u8> {
    let mut data = channels.to_be_bytes().to_vec();
    data.extend(frames.to_be_bytes());
    data.extend(bits.to_be_bytes());
    data.extend([0x40, 0x0e, 0xac, 0x44, 0, 0, 0, 0, 0, 0]);
    data.extend(compression);
    data
}

fn ssnd(offset: u32, samples: usize) -> Vec<u8> {
    let mut data = offset.to_be_bytes().to_vec();
    data.extend([0; 4]);
    data.resize(8 + offset as usize + samples, 5);
    data
}

#[test]
fn aiff_and_aiff_c() {
    let waveform = form(2, 16, 2, Big, true);
    let common = comm(2, 100, 16, b"");
    let file = aiff(
        b"AIFF",
        &[(b"COMM", common.clone()), (b"SSND", ssnd(0, 400))],
    );
    assert_eq!(told(&file), Some((54..454, waveform)));
    let file = aiff(
        b"AIFF",
        &[
            (b"NAME", vec![b'x'; 3]),
            (b"SSND", ssnd(6, 400)),
            (b"COMM", common),
        ],
    );
    assert_eq!(told(&file), Some((46..446, waveform)));
    // fewer frames are declared than there are, and more
    let file = aiff(
        b"AIFF",
        &[(b"COMM", comm(2, 10, 16, b"")), (b"SSND", ssnd(0, 400))],
    );
    assert_eq!(told(&file), Some((54..94, waveform)));
    let file = aiff(
        b"AIFF",
        &[
            (b"COMM", comm(2, u32::MAX, 16, b"")),
            (b"SSND", ssnd(0, 400)),
        ],
    );
    assert_eq!(told(&file), Some((54..454, waveform)));
    for (compression, bits, waveform) in [
        (b"NONE\0\0", 24, Some(form(2, 24, 3, Big, true))),
        (b"twos\0\0", 16, Some(waveform)),
        (b"sowt\0\0", 16, Some(form(2, 16, 2, Little, true))),
        (b"sowt\0\0", 8, Some(form(2, 8, 1, Little, true))),
        (b"NONE\0\0", 12, Some(form(2, 12, 2, Big, true))),
        (b"NONE\0\0", 33, None),
        (b"fl32\0\0", 32, None),
        (b"ulaw\0\0", 16, None),
    ] {
        let common = comm(2, 1 << 20, bits, compression);
        let file = aiff(b"AIFC", &[(b"COMM", common), (b"SSND", ssnd(0, 120))]);
        assert_eq!(
            told(&file).map(|found| found.1),
            waveform,
            "{compression:?}"
        );
        assert_eq!(told(&file).map(|found| found.0), waveform.map(|_| 60..180));
    }
    let short = aiff(b"AIFF", &[(b"COMM", vec![0; 17]), (b"SSND", ssnd(0, 400))]);
    assert_eq!(told(&short), None);
    let far = aiff(
        b"AIFF",
        &[(b"COMM", comm(2, 100, 16, b"")), (b"SSND", vec![0xff; 20])],
    );
    assert_eq!(told(&far), None);
    assert_eq!(
        told(&aiff(b"8SVX", &[(b"COMM", comm(2, 100, 16, b""))])),
        None
    );
}

fn caf(flags: u32, frame: u32, channels: u32, bits: u32, size: i64) -> Vec<u8> {
    let mut file = b"caff\0\x01\0\0desc".to_vec();
    file.extend(32i64.to_be_bytes());
    file.extend(44_100f64.to_be_bytes());
    file.extend(b"lpcm");
    for number in [flags, frame, 1, channels, bits] {
        file.extend(number.to_be_bytes());
    }
    file.extend(b"free");
    file.extend(4i64.to_be_bytes());
    file.extend([0; 4]);
    file.extend(b"data");
    file.extend(size.to_be_bytes());
    file.extend([0; 4]);
    file.extend([9; 600]);
    file
}

#[test]
fn core_audio() {
    for (flags, frame, channels, bits, waveform) in [
        (0, 4, 2, 16, Some(form(2, 16, 2, Big, true))),
        (2, 4, 2, 16, Some(form(2, 16, 2, Little, true))),
        (2, 3, 1, 24, Some(form(1, 24, 3, Little, true))),
        (0, 1, 1, 8, Some(form(1, 8, 1, Little, true))),
        (1, 4, 1, 32, None),
        (0, 4, 0, 16, None),
        (0, 5, 2, 16, None),
        (0, 4, 2, 3, None),
    ] {
        let expected = waveform.map(|waveform| (84..384, waveform));
        assert_eq!(told(&caf(flags, frame, channels, bits, 304)), expected);
        let expected = waveform.map(|waveform| (84..684, waveform));
        for size in [-1, 604, i64::MAX] {
            assert_eq!(told(&caf(flags, frame, channels, bits, size)), expected);
        }
    }
    for size in [-2, i64::MIN, 0, 3, 4] {
        assert_eq!(told(&caf(0, 4, 2, 16, size)), None, "{size}");
    }
}

#[test]
fn sun_audio() {
    let file = |start: u32, len: u32, encoding: u32, channels: u32| {
        let numbers = [start, len, encoding, 8000, channels].map(u32::to_be_bytes);
        [&b".snd"[..], numbers.as_flattened(), &[3; 300]].concat()
    };
    assert_eq!(
        told(&file(24, 200, 3, 2)),
        Some((24..224, form(2, 16, 2, Big, true)))
    );
    assert_eq!(
        told(&file(32, u32::MAX, 5, 1)),
        Some((32..324, form(1, 32, 4, Big, true)))
    );
    for (encoding, channels) in [(0, 1), (1, 1), (6, 1), (27, 1), (3, 0), (3, 9)] {
        assert_eq!(told(&file(24, 200, encoding, channels)), None);
    }
    assert_eq!(told(&file(u32::MAX, 200, 3, 1)), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn invented_headers(
        kind in 0usize..6,
        changes in prop::collection::vec((0usize..120, any::<u8>()), 0..12),
        head in 4usize..200,
    ) {
        let mut file = match kind {
            0 => wav(&fmt(1, 2, 4, 16), 100),
            1 => riff(b"RF64", &[chunk(b"ds64", 28, &[255; 28]), chunk(b"fmt ", 16, &fmt(1, 2, 4, 16)), chunk(b"data", u32::MAX, &[0; 50])]),
            2 => aiff(b"AIFC", &[(b"COMM", comm(2, 100, 16, b"sowt")), (b"SSND", ssnd(0, 60))]),
            3 => caf(0, 4, 2, 16, 60),
            4 => wav(&extensible(2, 8, 32, 24, &PCM_GUID), 90),
            _ => b".snd\0\0\0\x18\0\0\0\x40\0\0\0\x03\0\0\x10\0\0\0\0\x02aaaaaaaaaaaaaa".to_vec(),
        };
        for (at, byte) in changes {
            if let Some(place) = file.get_mut(at) {
                *place = byte;
            }
        }
        let counted = Counted(file.clone(), AtomicU32::new(0));
        let start = &file[..head.min(file.len())];
        if let Some(found) = find(&mut Probe::new(start, file.len() as u64, &counted)) {
            prop_assert!(found.range.start < found.range.end);
            prop_assert!(found.range.end <= file.len() as u64);
            prop_assert!((1..=32).contains(&found.waveform.frame()));
        }
        prop_assert!(counted.1.load(Ordering::Relaxed) <= 32);
    }
}
