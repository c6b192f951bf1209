//! Bounds on open blocks, and content with a granularity.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use sinterfs_model::{ByteOrder, Padding, Waveform};

use sinterfs_testkit::noise;

use super::*;
use crate::anchors::{Finder, Spacing};
use sinterfs_platform::Scratch;

#[test]
fn open_blocks_are_bounded() {
    const SIZE: usize = 1 << 10;
    let total = 1 << 20;
    let options = SolidOptions {
        block_size: SIZE as u32,
        codec_window: u64::MAX,
        total,
        read_cost: ReadCost::Free,
        price_factors: Vec::new(),
        retention: Retention {
            max_blocks: 2,
            max_bytes: u64::MAX,
            lookback: 0,
            scratch: Scratch::new(std::env::temp_dir()),
        },
        base: None,
    };
    let mut segmenter = Solid::new(options, |_| Ok(())).unwrap();
    for round in 0..400u64 {
        let category = Category::Waveform(Waveform {
            channels: 1 + (round % 100) as u8,
            bits: 8,
            bytes: 1,
            order: ByteOrder::Little,
            signed: true,
            padding: Padding::Low,
        });
        segmenter.data(&noise(round, 100), &[], category).unwrap();
        segmenter.end();
        let open = segmenter.open.iter();
        let bytes: usize = open.map(|open| segmenter.blocks.open_len(open.1)).sum();
        assert!(bytes <= OPEN_BLOCKS * SIZE && segmenter.open.len() <= OPEN);
    }
    let result = segmenter.finish().unwrap();
    assert_eq!(result.lists.len(), 400);
}

#[test]
fn frames_are_never_cut() {
    let category = Category::Waveform(Waveform {
        channels: 2,
        bits: 24,
        bytes: 3,
        order: ByteOrder::Little,
        signed: true,
        padding: Padding::Low,
    });
    let first = noise(1, 60_000);
    // the same bytes again, but two bytes off a frame, and once more within other noise
    let second = [&noise(2, 8)[..], &first[100..50_002], &noise(3, 2)[..]].concat();
    let third = [&noise(4, 12_000)[..], &second, &noise(5, 40_000 * 6)[..]].concat();
    let whole = |len: usize| len / 6 * 6;
    let mut segments = Vec::new();
    let total = 1 << 20;
    let options = SolidOptions {
        block_size: 16 << 10,
        codec_window: u64::MAX,
        total,
        read_cost: ReadCost::Free,
        price_factors: Vec::new(),
        retention: Retention {
            max_blocks: 2,
            max_bytes: u64::MAX,
            lookback: 8,
            scratch: Scratch::new(std::env::temp_dir()),
        },
        base: None,
    };
    let mut segmenter = Solid::new(options, |segment: Segment| {
        segments.push(segment.data);
        Ok(())
    })
    .unwrap();
    let contents = [first, second, third];
    let spacing = Spacing::for_content(total);
    for content in &contents {
        let (frames, rest) = content.split_at(whole(content.len()));
        for piece in frames.chunks(6 * 5000) {
            let anchors = Finder::new(spacing).find(piece);
            segmenter.data(piece, &anchors, category).unwrap();
        }
        segmenter.data(rest, &[], Category::Default).unwrap();
        segmenter.end();
    }
    let result = segmenter.finish().unwrap();
    assert!(result.matched > 90_000, "{}", result.matched);
    let mut start = 0;
    for (content, list) in contents.iter().zip(&result.lists) {
        let extents = &result.extents[start..list.end as usize];
        start = list.end as usize;
        let mut found = Vec::new();
        for extent in extents {
            let MapExtent::Data { block, offset, len } = *extent else {
                panic!("a hole");
            };
            // a match may go on into what is behind the frames
            let end = found.len() + len as usize;
            assert!(len % 6 == 0 || end >= whole(content.len()));
            let data = &segments[block.0 as usize];
            found.extend_from_slice(&data[offset as usize..(offset + len) as usize]);
        }
        assert!(&found == content);
    }
    let tails = contents.iter().map(|content| content.len() % 6).sum();
    for data in &segments {
        let frames = data.len() % 6 == 0 && data.len() <= 16 << 10;
        assert!(frames || data.len() == tails, "{}", data.len());
    }
}
