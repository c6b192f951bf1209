//! What the programs themselves wrote, and streams that end too soon.

#![allow(clippy::disallowed_methods, reason = "a test fails without threads")]

use std::io::{BufReader, Cursor, Write};
use std::process::{Command, Stdio};

use super::*;

const PROGRAMS: [(&str, StreamFormat); 4] = [
    ("gzip", StreamFormat::Gzip),
    ("zstd", StreamFormat::Zstd),
    ("xz", StreamFormat::Xz),
    ("bzip2", StreamFormat::Bzip2),
];

/// Compresses with the program itself; `None` where it is missing.
fn compress(program: &str, content: &[u8]) -> Option<Vec<u8>> {
    let mut command = Command::new(program);
    command
        .arg("-c")
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
    for (program, compression) in PROGRAMS {
        let Some(stream) = compress(program, &content) else {
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
        let empty = compress(program, b"").unwrap();
        assert_eq!(decode(compression, &empty).unwrap(), b"", "{program}");
    }
    assert_eq!(StreamFormat::detect(b"hsqs\0\0"), None);
    assert_eq!(StreamFormat::detect(b""), None);
}
