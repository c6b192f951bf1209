//! The pipeline from a made-up source to a writer in memory.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use model::{Category, Kind, Quiet, Stage};
use sinterfs_build::{Categorizers, Options, Order, Report, build};
use support::{Faults, File, Image, Memory, MemoryWriter, Mock, Part, data, noise, text};

const BLOCK: u32 = 64 << 10;

fn options(threads: usize) -> Options {
    Options {
        threads,
        ..Options::default()
    }
}

fn pack(source: &Mock, options: &Options) -> (Image, Report) {
    pack_observed(source, options, &Quiet)
}

fn pack_observed(
    source: &Mock,
    options: &Options,
    observer: &dyn model::Observer,
) -> (Image, Report) {
    let (writer, image) = MemoryWriter::new(BLOCK);
    let report = build(source, writer, options, observer).unwrap();
    let image = std::mem::take(&mut *image.lock().unwrap());
    (image, report)
}

/// A tree with everything that content can be.
fn mixed() -> Mock {
    let middle = text(30_000, 99);
    let around = |seed| [text(3000, seed), middle.clone(), text(3000, seed + 50)].concat();
    let mut files: Vec<(String, File)> = Vec::new();
    for index in 0..40 {
        files.push((
            format!("dir{}/text{index}.txt", index % 5),
            data(text(1 + index * 977, index as u64)),
        ));
        files.push((
            format!("dir{}/same{index}", index % 7),
            data(text(5000, (index % 3) as u64 + 500)),
        ));
        files.push((
            format!("noise/{index}.gz"),
            data(noise(index * 1311, index as u64)),
        ));
        files.push((format!("middle/{index}"), data(around(index as u64))));
    }
    for index in 0..3 {
        let large = [
            text(1_500_000, 7),
            noise(1 << 20, 8 + index),
            text(700_000, 7),
        ]
        .concat();
        files.push((format!("large/{index}"), data(large)));
        files.push((format!("empty/{index}"), data("")));
        let parts = vec![
            Part::Hole(100_000),
            Part::Data(text(5000, 3)),
            Part::Hole(1 << 20),
            Part::Data(text(70_000, 4)),
            Part::Hole(5),
        ];
        files.push((
            format!("sparse/{index}"),
            File {
                parts: parts.clone(),
                ..File::default()
            },
        ));
        let zeros = Mock::new([(
            "x",
            File {
                parts,
                ..File::default()
            },
        )])
        .files["x"]
            .bytes();
        files.push((format!("sparse/{index}.dense"), data(zeros)));
        files.push((
            format!("sparse/{index}.hole"),
            File {
                parts: vec![Part::Hole(9_000_000)],
                ..File::default()
            },
        ));
    }
    Mock::new(files)
}

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
    let part = noise(100_000, 5);
    let bytes = [part.clone(), text(10, 1), part.clone(), text(11, 2), part].concat();
    let source = Mock::new([("file", data(bytes))]);
    let (image, _) = pack(&source, &options(1));
    assert!(image.contents() == source.contents());
    assert!(image.stored() < 103_000, "{}", image.stored());
}

#[test]
fn matches_go_on_over_pieces() {
    let long = noise(5 << 20, 5);
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
        ("period", data(noise(3000, 1).repeat(5000))),
        ("short", data(noise(100, 1).repeat(100_000))),
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

/// A WAV file of so many channels of 24 bits with chunks before and after, and what is in its waveform.
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
    let long = noise(3 << 20, 9);
    let files = [
        // 5 bytes are no frame
        ("a.wav", wav(2, &[&long[..], b"12345"].concat())),
        ("b.wav", wav(1, &noise(30_000, 2))),
        ("c.wav", wav(2, &noise(60_000, 3))),
        (
            "d.wav",
            wav(2, &[&noise(12, 4)[..], &long[6000..2 << 20]].concat()),
        ),
        ("short.wav", wav(2, &noise(600, 5))),
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
    let long = noise(1_500_000, 9);
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
        ("b.gz", data(noise(100_000, 2))),
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

fn troubled(file: File) -> (Image, Report, Vec<String>) {
    let same = file.bytes();
    let source = Mock::new([
        ("a", file),
        ("b", data(same.clone())),
        ("c", data(same)),
        ("d", data("d")),
    ]);
    let observer = Memory::default();
    let (image, report) = pack_observed(&source, &options(2), &observer);
    let contents = image.contents();
    for path in ["b", "c", "d"] {
        assert!(contents[path] == source.files[path].bytes(), "{path}");
    }
    let warned = observer.warned();
    (image, report, warned)
}

#[test]
fn a_vanished_file_is_stored_empty() {
    for at in [0, 1] {
        let file = File {
            vanishes_at: Some(at),
            ..data(text(200_000, 1))
        };
        let (image, report, warned) = troubled(file);
        assert_eq!(image.contents()["a"], b"");
        assert_eq!((report.unreadable, report.changed), (1, 0), "{at}");
        assert_eq!(warned, ["a: vanished"]);
    }
}

#[test]
fn a_broken_file_is_stored_as_far_as_it_can_be_read() {
    let bytes = text((2 << 20) + 5, 1);
    let file = File {
        broken_from: Some((1 << 20) + 100),
        ..data(bytes.clone())
    };
    let (image, report, warned) = troubled(file);
    assert!(image.contents()["a"] == bytes[..1 << 20]);
    assert_eq!((report.unreadable, report.changed), (1, 0));
    assert!(
        warned.len() == 1 && warned[0].starts_with("a: cannot read"),
        "{warned:?}"
    );
}

#[test]
fn a_file_that_shrinks_grows_or_changes_is_stored_as_read() {
    let bytes = text(3 << 20, 1);
    let shorter = bytes[..(1 << 20) + 77].to_vec();
    let longer = [bytes.clone(), text(100, 2)].concat();
    let mut other = bytes.clone();
    other[2 << 20] ^= 1;
    for from in [0, 1] {
        for (later, expected) in [
            (&shorter, &shorter),
            (&longer, &bytes),
            (&other, &other),
            (&vec![], &vec![]),
        ] {
            let later = Some((from, vec![Part::Data(later.clone())]));
            let touched_at = Some(from);
            let file = File {
                later,
                touched_at,
                ..data(bytes.clone())
            };
            let (image, report, warned) = troubled(file);
            assert!(
                image.contents()["a"] == *expected,
                "{} {from}",
                expected.len()
            );
            assert_eq!((report.unreadable, report.changed), (0, 1));
            assert!(
                warned.len() == 1 && warned[0].contains("changed"),
                "{warned:?}"
            );
        }
    }
}

#[test]
fn a_duplicate_that_changes_becomes_its_own() {
    let bytes = text(3 << 20, 1);
    let mut other = bytes.clone();
    other[(3 << 20) - 1] ^= 1;
    // unnoticeable by size and time
    let liar = File {
        later: Some((1, vec![Part::Data(other.clone())])),
        ..data(bytes.clone())
    };
    let holes = vec![
        Part::Data(bytes[..100].to_vec()),
        Part::Hole((3 << 20) - 100),
    ];
    let sparse = File {
        later: Some((1, holes.clone())),
        ..data(bytes.clone())
    };
    let gone = File {
        vanishes_at: Some(1),
        ..data(bytes.clone())
    };
    let source = Mock::new([
        ("a", data(bytes.clone())),
        ("b", liar),
        ("c", data(bytes.clone())),
        ("d", sparse),
        ("e", gone),
    ]);
    let observer = Memory::default();
    let (image, report) = pack_observed(&source, &options(2), &observer);
    let contents = image.contents();
    assert!(contents["a"] == bytes && contents["b"] == other && contents["c"] == bytes);
    assert_eq!(
        image.files()["d"].1,
        [(true, 100), (false, (3 << 20) - 100)]
    );
    assert_eq!(contents["e"], b"");
    assert_eq!((report.duplicates, report.unreadable), (1, 1));
    assert_eq!(observer.warned(), ["e: vanished"]);
}

#[test]
fn many_duplicates_of_a_large_file_are_compared() {
    let bytes = text(2_500_000, 1);
    let mut last = bytes.clone();
    last[2_400_000] ^= 1;
    let mut files: Vec<_> = (0..100)
        .map(|index| (format!("{index:03}"), data(bytes.clone())))
        .collect();
    files[70].1.later = Some((1, vec![Part::Data(last.clone())]));
    let source = Mock::new(files);
    let (image, report) = pack(&source, &options(2));
    let contents = image.contents();
    assert!(contents["070"] == last && contents["099"] == bytes);
    assert_eq!(report.duplicates, 98);
}

fn failing(faults: Faults, threads: usize) -> model::Error {
    let (writer, _) = MemoryWriter::with(BLOCK, faults);
    build(&mixed(), writer, &options(threads), &Quiet).unwrap_err()
}

#[test]
fn an_encoder_error_ends_the_build() {
    for threads in [1, 2, 8] {
        for at in [0, 5, 30] {
            let faults = Faults {
                fail_encode_at: Some(at),
                ..Faults::default()
            };
            assert_eq!(failing(faults, threads).kind(), Kind::Unsupported);
            let faults = Faults {
                panic_encode_at: Some(at),
                ..Faults::default()
            };
            assert!(failing(faults, threads).what().contains("told to panic"));
        }
    }
}

#[test]
fn a_full_disk_ends_the_build() {
    for threads in [1, 8] {
        for at in [0, 20] {
            let faults = Faults {
                fail_put_at: Some(at),
                ..Faults::default()
            };
            let error = failing(faults, threads);
            assert_eq!(error.kind(), Kind::Io);
            assert_eq!(
                error.io_source().and_then(std::io::Error::raw_os_error),
                Some(28)
            );
            let faults = Faults {
                panic_put_at: Some(at),
                ..Faults::default()
            };
            assert!(failing(faults, threads).what().contains("told to panic"));
        }
    }
}

#[test]
fn the_observer_can_stop_every_stage() {
    for stage in [
        Stage::Dedupe,
        Stage::Segment,
        Stage::Compress,
        Stage::Commit,
    ] {
        for threads in [1, 8] {
            let observer = Memory::stopping_in(stage, 3);
            let (writer, image) = MemoryWriter::new(BLOCK);
            let error = build(&mixed(), writer, &options(threads), &observer).unwrap_err();
            assert_eq!(error.kind(), Kind::Cancelled, "{stage:?} {threads}");
            assert!(image.lock().unwrap().tree.is_none());
        }
    }
}

struct Panicking(Mock, bool);

impl model::Source for Panicking {
    fn scan(&self, observer: &dyn model::Observer) -> model::Result<model::Tree> {
        self.0.scan(observer)
    }

    fn open(
        &self,
        tree: &model::Tree,
        file: model::NodeId,
    ) -> model::Result<Box<dyn model::FileContent>> {
        let content = self.0.open(tree, file)?;
        let second = self
            .0
            .opened
            .lock()
            .unwrap()
            .values()
            .any(|&count| count > 1);
        assert!(!(second || self.1), "the source was told to panic");
        Ok(content)
    }
}

#[test]
fn a_panic_of_the_source_is_an_error() {
    for at_once in [true, false] {
        for threads in [1, 8] {
            let (writer, _) = MemoryWriter::new(BLOCK);
            let source = Panicking(mixed(), at_once);
            let error = build(&source, writer, &options(threads), &Quiet).unwrap_err();
            assert!(error.what().contains("told to panic"), "{error}");
        }
    }
}

mod random {
    use super::*;
    use proptest::prelude::*;

    fn part() -> impl Strategy<Value = Part> {
        prop_oneof![
            3 => (0..40_000usize, 0..6u64).prop_map(|(len, seed)| Part::Data(text(len, seed))),
            2 => (0..40_000usize, 0..6u64).prop_map(|(len, seed)| Part::Data(noise(len, seed))),
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
