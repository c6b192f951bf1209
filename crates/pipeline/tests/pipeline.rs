//! The pipeline from a made-up source to a writer in memory.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use sinterfs_model::{Category, Kind, Quiet};
use sinterfs_pipeline::{Categorizers, Options, Order, build};
use sinterfs_testkit::noise;
use support::packing::{BLOCK, mixed, options, pack};
use support::{File, MemoryWriter, Mock, Part, data, text};
#[test]
fn every_file_comes_back_with_every_order_and_lookback() {
    let source = mixed();
    for order in [
        Order::Similarity,
        Order::Path,
        Order::ReversePath,
        Order::None,
    ] {
        for lookback in [Some(0), Some(1), Some(9), None] {
            let options = Options {
                threads: 2,
                order,
                lookback,
                ..Options::default()
            };
            let (image, report) = pack(&source, &options);
            assert!(
                image.contents() == source.contents(),
                "{order:?} {lookback:?}"
            );
            assert_eq!(
                (report.unreadable, report.changed, report.left_out),
                (0, 0, 0)
            );
            assert_eq!(report.tree.files, source.files.len() as u64);
        }
    }
}

#[test]
fn threads_do_not_change_the_image() {
    let source = mixed();
    let (one, report) = pack(&source, &options(1));
    for threads in [2, 8] {
        for _ in 0..3 {
            let (more, mut other) = pack(&source, &options(threads));
            assert!(one.dump() == more.dump(), "{threads} threads");
            other.memory = report.memory;
            assert_eq!(report, other);
        }
    }
}

#[test]
fn memory_does_not_change_the_image() {
    let source = mixed();
    let (all, report) = pack(&source, &options(2));
    // only a few blocks stay in memory
    let memory = Some(35 << 20);
    let few = Options {
        memory,
        ..options(2)
    };
    let (little, other) = pack(&source, &few);
    assert!(all.blocks.len() > 100, "{}", all.blocks.len());
    assert!(all.dump() == little.dump());
    assert!(other.memory <= 35 << 20 && other.memory < report.memory);
    assert_eq!(other.matched_bytes, report.matched_bytes);
    assert!(little.contents() == source.contents());

    let too_little = Options {
        memory: Some(1 << 20),
        ..options(2)
    };
    let (writer, _) = MemoryWriter::new(BLOCK);
    let error = build(&source, writer, &too_little, &Quiet).unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
    let nowhere = Options {
        memory,
        scratch: "/nonexistent/directory".into(),
        ..options(2)
    };
    let (writer, _) = MemoryWriter::new(BLOCK);
    let error = build(&source, writer, &nowhere, &Quiet).unwrap_err();
    assert_eq!(error.kind(), Kind::Io);
}

#[test]
fn holes_stay_holes_and_are_part_of_equality() {
    let (image, report) = pack(&mixed(), &options(2));
    let files = image.files();
    let layout = [
        (false, 100_000),
        (true, 5000),
        (false, 1 << 20),
        (true, 70_000),
        (false, 5),
    ];
    for index in 0..3 {
        assert_eq!(files[&format!("sparse/{index}")].1, layout);
        assert!(
            files[&format!("sparse/{index}.dense")]
                .1
                .iter()
                .all(|part| part.0)
        );
        assert_eq!(
            files[&format!("sparse/{index}.hole")].1,
            [(false, 9_000_000)]
        );
    }
    assert_eq!(report.hole_bytes, 100_000 + (1 << 20) + 5 + 9_000_000);
}

#[test]
fn equal_files_share_a_list_and_are_stored_once() {
    let source =
        Mock::new((0..20).map(|index| (format!("{index}"), data(text(200_000, index % 2)))));
    for order in [Order::Similarity, Order::Path] {
        let (image, report) = pack(
            &source,
            &Options {
                order,
                ..options(2)
            },
        );
        assert_eq!(image.stored(), 400_000);
        assert_eq!(report.duplicates, 18);
        assert_eq!(report.duplicate_bytes, 18 * 200_000);
        // two contents and the empty list
        assert_eq!(image.map.list_count(), 3);
        assert!(image.contents() == source.contents());
    }
}

#[test]
fn a_file_is_read_twice_at_most() {
    let source = mixed();
    pack(&source, &options(2));
    let data: usize = source
        .files
        .values()
        .flat_map(|file| &file.parts)
        .map(|part| match part {
            Part::Data(bytes) => bytes.len(),
            Part::Hole(_) => 0,
        })
        .sum();
    assert_eq!(
        source.bytes_read.load(std::sync::atomic::Ordering::Relaxed),
        2 * data
    );
    assert!(
        source
            .opened
            .lock()
            .unwrap()
            .values()
            .all(|&count| count <= 2)
    );
}

#[test]
fn a_repeated_middle_is_stored_once() {
    // beyond a block, so that most matches are with other blocks
    let middle = text(50_000, 1);
    let files = (0..20).map(|index| {
        let bytes = [
            text(2000, 100 + index),
            middle.clone(),
            text(2000, 200 + index),
        ]
        .concat();
        (format!("{index:02}"), data(bytes))
    });
    let source = Mock::new(files);
    let (image, report) = pack(&source, &options(2));
    assert!(image.contents() == source.contents());
    let least = 50_000 + 20 * 4000;
    assert!(
        image.stored() < least + 20 * 1000,
        "{} of {least}",
        image.stored()
    );
    assert_eq!(report.matched_bytes as usize + image.stored(), 20 * 54_000);
    let extents = image.files().len() * 5;
    let all: usize = (0..image.map.list_count())
        .map(|list| image.map.list(list).len())
        .sum();
    assert!(all < extents, "{all} extents");
}

#[test]
fn a_part_repeated_within_one_file_is_stored_once() {
    let part = noise(5, 100_000);
    let bytes = [part.clone(), text(10, 1), part.clone(), text(11, 2), part].concat();
    let source = Mock::new([("file", data(bytes))]);
    let (image, _) = pack(&source, &options(1));
    assert!(image.contents() == source.contents());
    assert!(image.stored() < 103_000, "{}", image.stored());
}

#[test]
fn matches_go_on_over_pieces() {
    let long = noise(5, 5 << 20);
    let source = Mock::new([
        ("a", data(long.clone())),
        ("b", data([b"x".to_vec(), long].concat())),
    ]);
    let (image, _) = pack(&source, &options(2));
    assert!(image.contents() == source.contents());
    assert!(image.stored() < (5 << 20) + 1000, "{}", image.stored());
}

#[test]
fn constant_and_periodic_content_is_no_trap() {
    let source = Mock::new([
        ("zeros", data(vec![0; 20 << 20])),
        ("ones", data(vec![1; 20 << 20])),
        ("period", data(noise(1, 3000).repeat(5000))),
        ("short", data(noise(1, 100).repeat(100_000))),
    ]);
    let start = std::time::Instant::now();
    let (image, _) = pack(&source, &options(2));
    assert!(image.contents() == source.contents());
    assert!(
        start.elapsed().as_secs() < 60,
        "quadratic: {:?}",
        start.elapsed()
    );
}

/// A WAV file of so many channels of 24 bits with chunks before and after, and what is in its
/// waveform.
fn wav(channels: u16, samples: &[u8]) -> Vec<u8> {
    let mut file = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0".to_vec();
    file.extend(channels.to_le_bytes());
    file.extend([0; 8]);
    file.extend((channels * 3).to_le_bytes());
    file.extend(24u16.to_le_bytes());
    file.extend(b"data");
    file.extend((samples.len() as u32).to_le_bytes());
    file.extend(samples);
    file.extend(b"LIST\x04\0\0\0INFO");
    file
}

#[test]
fn waveforms_are_cut_out_of_their_files_in_whole_frames() {
    let long = noise(9, 3 << 20);
    let files = [
        // 5 bytes are no frame
        ("a.wav", wav(2, &[&long[..], b"12345"].concat())),
        ("b.wav", wav(1, &noise(2, 30_000))),
        ("c.wav", wav(2, &noise(3, 60_000))),
        (
            "d.wav",
            wav(2, &[&noise(4, 12)[..], &long[6000..2 << 20]].concat()),
        ),
        ("short.wav", wav(2, &noise(5, 600))),
        ("text.wav", text(5000, 6)),
    ];
    let mut sparse = data(Vec::new());
    let whole = wav(2, &long);
    sparse.parts = vec![
        Part::Data(whole[..1000].to_vec()),
        Part::Hole(4096),
        Part::Data(whole[5096..].to_vec()),
    ];
    let mut all: Vec<(&str, File)> = files
        .into_iter()
        .map(|(name, bytes)| (name, data(bytes)))
        .collect();
    all.push(("sparse.wav", sparse));
    let source = Mock::new(all);
    for order in [Order::Similarity, Order::Path] {
        for categorizers in [Categorizers::ALL, Categorizers::NONE] {
            let options = Options {
                order,
                categorizers,
                ..options(2)
            };
            let (image, _) = pack(&source, &options);
            assert!(image.contents() == source.contents());
            let mut bytes = [0; 2];
            for (category, block) in &image.blocks {
                if let Category::Waveform(waveform) = category {
                    assert_eq!((waveform.bits, waveform.bytes), (24, 3));
                    assert_eq!(block.len() % waveform.frame() as usize, 0);
                    bytes[usize::from(waveform.channels) - 1] += block.len();
                }
            }
            if categorizers == Categorizers::NONE {
                assert_eq!(bytes, [0, 0]);
                assert!(
                    image
                        .blocks
                        .iter()
                        .all(|block| block.0 == Category::Default)
                );
                continue;
            }
            assert_eq!(bytes[0], 30_000);
            // what repeats in d.wav and sparse.wav is stored once, but for what frames cost
            let least = (3 << 20) + 60_000;
            assert!((least..least + 8000).contains(&bytes[1]), "{bytes:?}");
        }
    }
}

#[test]
fn a_waveform_that_shrinks_ends_in_whole_frames() {
    let long = noise(9, 1_500_000);
    let mut file = data(wav(2, &long));
    let shorter = wav(2, &long)[..1_200_001].to_vec();
    file.later = Some((1, vec![Part::Data(shorter)]));
    let source = Mock::new([("a.wav", file)]);
    let (image, report) = pack(&source, &options(1));
    assert_eq!(report.unreadable + report.changed, 1);
    let stored = &image.contents()["a.wav"];
    assert!(wav(2, &long).starts_with(stored));
    for (category, block) in &image.blocks {
        assert_eq!(block.len() % category.granularity() as usize, 0);
    }
}

#[test]
fn compressed_content_has_its_own_stream() {
    let source = Mock::new([
        ("a", data(text(100_000, 1))),
        ("b.gz", data(noise(2, 100_000))),
        ("c", data(text(100_000, 3))),
    ]);
    for order in [Order::Similarity, Order::Path] {
        let (image, _) = pack(
            &source,
            &Options {
                order,
                ..options(2)
            },
        );
        let sum = |category| -> usize {
            image
                .blocks
                .iter()
                .filter(|block| block.0 == category)
                .map(|block| block.1.len())
                .sum()
        };
        assert_eq!(sum(Category::Incompressible), 100_000);
        assert_eq!(sum(Category::Text), 200_000);
    }
}

#[test]
fn an_empty_tree_is_an_image() {
    let (image, report) = pack(&Mock::default(), &options(4));
    assert!(image.blocks.is_empty());
    assert_eq!(report.tree.directories, 1);
}

mod random {
    use super::*;
    use proptest::prelude::*;

    fn part() -> impl Strategy<Value = Part> {
        prop_oneof![
            3 => (0..40_000usize, 0..6u64).prop_map(|(len, seed)| Part::Data(text(len, seed))),
            2 => (0..40_000usize, 0..6u64).prop_map(|(len, seed)| Part::Data(noise(seed, len))),
            1 => (0..5000usize).prop_map(|len| Part::Data(vec![0; len])),
            1 => proptest::collection::vec(any::<u8>(), 0..40).prop_map(Part::Data),
            1 => (1..100_000u64).prop_map(Part::Hole),
        ]
    }

    fn tree() -> impl Strategy<Value = Vec<(String, File)>> {
        let file = proptest::collection::vec(part(), 0..6).prop_map(|parts| File {
            parts,
            ..File::default()
        });
        proptest::collection::btree_map("[a-c]{1,2}/[a-z]{1,3}(\\.[a-c])?", file, 0..30)
            .prop_map(|files| files.into_iter().collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        #[test]
        fn any_tree_comes_back(files in tree(), block_size in 1u32..100_000, lookback in prop::option::of(0u32..5)) {
            let block_size = block_size.max(700);
            let source = Mock::new(files);
            let mut dumps = Vec::new();
            for threads in [1, 3] {
                let (writer, image) = MemoryWriter::new(block_size);
                let options = Options { threads, lookback, ..Options::default() };
                let report = build(&source, writer, &options, &Quiet).unwrap();
                let image = image.lock().unwrap();
                prop_assert!(image.contents() == source.contents());
                prop_assert_eq!(report.changed + report.unreadable, 0);
                dumps.push(image.dump());
            }
            prop_assert!(dumps[0] == dumps[1]);
        }
    }
}
