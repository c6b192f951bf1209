//! Streams of the programs themselves, and streams that end too soon.

#![allow(clippy::disallowed_methods, reason = "a test fails without threads")]

use std::io::{BufReader, Cursor, Write};
use std::process::{Command, Stdio};

use super::*;

const PROGRAMS: [(&str, &[&str], StreamFormat); 8] = [
    ("gzip", &["-c"], StreamFormat::Gzip),
    ("zstd", &["-c"], StreamFormat::Zstd),
    ("xz", &["-c"], StreamFormat::Xz),
    ("bzip2", &["-c"], StreamFormat::Bzip2),
    ("xz", &["-c", "--format=lzma"], StreamFormat::Lzma),
    ("lz4", &["-c", "-l"], StreamFormat::Lz4),
    ("lz4", &["-c"], StreamFormat::Lz4Frame),
    (
        "lz4",
        &["-c", "-9", "-B4", "-BD", "-BX"],
        StreamFormat::Lz4Frame,
    ),
];

/// Compresses with the program itself; `None` where it is missing.
fn compress(program: &str, options: &[&str], content: &[u8]) -> Option<Vec<u8>> {
    let mut command = Command::new(program);
    command
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        sinterfs_testkit::skip(&format!("no {program}"));
        return None;
    };
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(content).unwrap());
        Some(child.wait_with_output().unwrap().stdout)
    })
}

fn decode(compression: StreamFormat, stream: &[u8]) -> std::io::Result<Vec<u8>> {
    // a small buffer, so that every step stops somewhere
    let stream = BufReader::with_capacity(7, Cursor::new(stream.to_vec()));
    let mut content = Vec::new();
    let mut decoder = compression.decode(stream).unwrap();
    decoder.read_to_end(&mut content).map(|_| content)
}

#[test]
fn what_programs_wrote_comes_back() {
    let content: Vec<u8> = (0..300_000_u64)
        .flat_map(|i| (i * i % 1009).to_le_bytes())
        .collect();
    for (program, options, compression) in PROGRAMS {
        let Some(stream) = compress(program, options, &content) else {
            continue;
        };
        assert_eq!(StreamFormat::detect(&stream), Some(compression));
        assert!(
            decode(compression, &stream).unwrap() == content,
            "{program}"
        );
        let twice = [&stream[..], &stream].concat();
        assert!(
            decode(compression, &twice).unwrap() == content.repeat(2),
            "{program}"
        );
        for len in [stream.len() - 1, stream.len() / 2, 5] {
            assert!(
                decode(compression, &stream[..len]).is_err(),
                "{program} {len}"
            );
        }
        let empty = compress(program, options, b"").unwrap();
        assert_eq!(decode(compression, &empty).unwrap(), b"", "{program}");
    }
    assert_eq!(StreamFormat::detect(b"hsqs\0\0"), None);
    assert_eq!(StreamFormat::detect(b""), None);
}

/// The output of each program for its own content.
fn streams() -> Vec<(StreamFormat, Vec<u8>, Vec<u8>)> {
    let made = PROGRAMS.iter().zip(0_u64..);
    let made = made.filter_map(|(&(program, options, format), number)| {
        let content: Vec<u8> = (0..5000)
            .flat_map(|i| (i * i % (97 + number)).to_le_bytes())
            .collect();
        let stream = compress(program, options, &content)?;
        Some((format, content, stream))
    });
    made.collect()
}

#[test]
fn streams_of_several_formats_follow_each_other() {
    let streams = streams();
    for (first, before, one) in &streams {
        for (second, after, two) in &streams {
            for zeros in [0, 1, 2, 3, 4, 509] {
                // as by the kernel, a number that may be a length of LZ4 is taken for one
                let is_block = match second {
                    StreamFormat::Gzip => zeros == 0,
                    StreamFormat::Lzma => zeros == 1 || zeros == 2,
                    _ => false,
                };
                if *first == StreamFormat::Lz4 && is_block {
                    continue;
                }
                let joined = [one, &vec![0; zeros][..], two, &vec![0; zeros][..]].concat();
                let found = decode(*first, &joined);
                let expected = [&before[..], after].concat();
                assert!(
                    found.is_ok_and(|found| found == expected),
                    "{first:?} {zeros} {second:?}"
                );
            }
        }
    }
}

#[test]
fn errors_say_which_stream_is_damaged() {
    let streams = streams();
    let Some((first, _, one)) = streams.first() else {
        return;
    };
    for (format, _, stream) in &streams {
        let at = one.len() + 4;
        let mut damaged = stream.clone();
        let middle = damaged.len() / 2;
        damaged.drain(middle..middle + 9);
        for rest in [&stream[..middle], &damaged] {
            let found = decode(*first, &[one, &[0; 4][..], rest].concat());
            let error = found.unwrap_err().downcast::<sinterfs_model::Error>();
            let error = error.unwrap();
            assert_eq!(error.kind(), sinterfs_model::Kind::Corrupt);
            let place = error.place().unwrap();
            // a block of LZ4 follows the beginning of its frame
            let blocks = [0, 4, 7].map(|block| (at + block) as u64);
            let is_lz4 = matches!(format, StreamFormat::Lz4 | StreamFormat::Lz4Frame);
            let expected = if is_lz4 { &blocks[..] } else { &blocks[..1] };
            assert!(expected.contains(&place.offset.unwrap()), "{error}");
        }
        let found = decode(*format, &[stream, &b"something else"[..]].concat());
        let error = found.unwrap_err().downcast::<sinterfs_model::Error>();
        let place = error.unwrap().place().unwrap().offset;
        assert_eq!(place, Some(stream.len() as u64), "{format:?}");
    }
}

#[test]
fn plain_bytes_behind_streams_are_passed_on() {
    for (format, content, stream) in streams() {
        let bytes = [&stream[..], &[0; 3], b"070701\0rest\0"].concat();
        let stream = BufReader::with_capacity(7, Cursor::new(bytes));
        let is_plain = |start: &[u8]| start.starts_with(b"070701");
        let mut decoder = format.decode_until(stream, 0, is_plain).unwrap();
        let mut found = Vec::new();
        decoder.read_to_end(&mut found).unwrap();
        assert_eq!(found, [&content[..], b"070701\0rest\0"].concat());
    }
}

#[test]
fn lzma_is_recognised_by_all_that_it_has() {
    let mut start = [0_u8; START];
    start[..5].copy_from_slice(&[0x5d, 0, 0, 0x80, 0]);
    start[5..13].fill(0xff);
    assert_eq!(StreamFormat::detect(&start), Some(StreamFormat::Lzma));
    for (at, byte) in [(0, 0x5e), (1, 1), (3, 0x90), (3, 0), (12, 1), (13, 1)] {
        let mut other = start;
        other[at] = byte;
        assert_eq!(StreamFormat::detect(&other), None, "{at} {byte:#x}");
    }
    assert_eq!(StreamFormat::detect(&start[..13]), None);
}

#[test]
fn frames_of_lz4_are_compared_with_their_checksums() {
    let content: Vec<u8> = (0..90_000_u64)
        .flat_map(|i| (i * i % 1013).to_le_bytes())
        .collect();
    for options in [&["-c", "-B4", "-BX"][..], &["-c", "-B4", "--content-size"]] {
        let Some(stream) = compress("lz4", options, &content) else {
            return;
        };
        assert!(decode(StreamFormat::Lz4Frame, &stream).unwrap() == content);
        let mut harmless = 0;
        for at in (4..stream.len()).step_by(stream.len() / 300) {
            let mut damaged = stream.clone();
            damaged[at] ^= 0x10;
            // without sums of blocks, another distance may lead to the same bytes
            if let Ok(found) = decode(StreamFormat::Lz4Frame, &damaged) {
                assert!(found == content, "{options:?} {at}");
                harmless += 1;
            }
        }
        let most = if options.contains(&"-BX") { 0 } else { 9 };
        assert!(harmless <= most, "{options:?} {harmless}");
    }
}
