//! Output of the encoders of XPRESS and LZX decodes to the same bytes, and random input ends
//! in an error or in bytes.

use sinterfs_testkit::noise;

use crate::lzx::{LzxEncoder, LzxWindow};
use crate::shapes::prose;
use crate::xpress::XpressEncoder;
use crate::{lzms, lzx, xpress};

/// Blocks of up to 200,000 bytes.
fn blocks() -> Vec<Vec<u8>> {
    let mut calls = noise(3, 70_000);
    for at in (0..calls.len() - 5).step_by(23) {
        calls[at] = 0xe8;
        let target = (at as u32 % 1000) << 3;
        calls[at + 1..at + 5].copy_from_slice(&target.to_le_bytes());
    }
    vec![
        vec![7],
        b"ab".to_vec(),
        vec![0; 200_000],
        b"abc".repeat(30_000),
        prose(200_000, 5),
        noise(9, 40_000),
        [prose(33_000, 1), noise(2, 5_000), prose(33_000, 1)].concat(),
        calls,
    ]
}

#[test]
fn lzx_round_trips() {
    let mut encoder = LzxEncoder::default();
    for block in blocks() {
        for (size, level) in [(1 << 15, 1), (1 << 15, 9), (1 << 17, 4), (1 << 21, 6)] {
            let window = LzxWindow::for_chunk(size).unwrap();
            for chunk in block.chunks(size) {
                let stream = encoder.encode(chunk, window, level).unwrap();
                let mut decoded = vec![1; chunk.len()];
                lzx::decode(&stream, window, &mut decoded).unwrap();
                assert!(decoded == chunk, "{} bytes in {size}", chunk.len());
            }
        }
    }
    let window = LzxWindow::for_chunk(1 << 15).unwrap();
    assert!(encoder.encode(&[0; 40_000], window, 5).is_none());
}

#[test]
fn xpress_round_trips() {
    let mut encoder = XpressEncoder::default();
    for block in blocks() {
        for (size, level) in [(1 << 12, 9), (1 << 15, 1), (1 << 16, 6)] {
            for chunk in block.chunks(size) {
                let stream = encoder.encode(chunk, level).unwrap();
                let mut decoded = vec![1; chunk.len()];
                xpress::decode(&stream, &mut decoded).unwrap();
                assert!(decoded == chunk, "{} bytes in {size}", chunk.len());
            }
        }
    }
    assert!(encoder.encode(&[0; 70_000], 5).is_none());
}

#[test]
fn damaged_streams_end_in_errors_or_bytes() {
    let window = LzxWindow::for_chunk(1 << 15).unwrap();
    let content = prose(8_000, 4);
    let of_lzx = LzxEncoder::default().encode(&content, window, 5).unwrap();
    let of_xpress = XpressEncoder::default().encode(&content, 5).unwrap();
    let mut output = vec![0; content.len()];
    for seed in 1..400 {
        let random = noise(seed, of_lzx.len());
        let damaged = |stream: &[u8]| {
            let mut damaged = stream.to_vec();
            let at = usize::from(random[0]) * 7 % damaged.len();
            damaged[at] = random[1];
            damaged
        };
        let _ = lzx::decode(&damaged(&of_lzx), window, &mut output);
        let _ = xpress::decode(&damaged(&of_xpress), &mut output);
        for stream in [&random[..], &random[..4], &random[..300], &[]] {
            let _ = lzx::decode(stream, window, &mut output);
            let _ = xpress::decode(stream, &mut output);
            let _ = lzms::decode(stream, &mut output);
        }
    }
    for stream in [&of_lzx[..of_lzx.len() / 2], &[]] {
        assert!(lzx::decode(stream, window, &mut output).is_err());
    }
    let half = &of_xpress[..of_xpress.len() / 2];
    assert!(xpress::decode(half, &mut output).is_err());
    assert!(lzms::decode(&[0; 7], &mut output).is_err());
}
