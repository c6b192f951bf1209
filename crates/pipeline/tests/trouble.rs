//! The pipeline when files change under it, an encoder or a writer fails, or somebody stops it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use sinterfs_model::{Kind, Quiet, Stage};
use sinterfs_pipeline::{Report, build};
use support::packing::{BLOCK, mixed, options, pack, pack_observed};
use support::{Faults, File, Image, Memory, MemoryWriter, Mock, Part, data, text};

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
fn a_file_that_is_read_at_the_second_attempt_is_told() {
    for name in ["a", "b"] {
        let bytes = text(200_000, 1);
        let mut files = [("a", data(bytes.clone())), ("b", data(bytes.clone()))];
        let faulty = files.iter_mut().find(|(path, _)| *path == name).unwrap();
        faulty.1.broken_from = Some(100);
        faulty.1.mends_at = Some(1);
        let source = Mock::new(files);
        let observer = Memory::default();
        let (image, report) = pack_observed(&source, &options(2), &observer);
        for path in ["a", "b"] {
            assert!(image.contents()[path] == bytes, "{path}");
        }
        assert_eq!(
            (report.unreadable, report.changed, report.retried),
            (0, 0, 1)
        );
        let warned = observer.warned();
        let begin = format!("{name}: read whole at another attempt only");
        assert!(
            warned.len() == 1 && warned[0].starts_with(&begin),
            "{warned:?}"
        );
    }
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

fn failing(faults: Faults, threads: usize) -> sinterfs_model::Error {
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

impl sinterfs_model::Source for Panicking {
    fn scan(
        &self,
        observer: &dyn sinterfs_model::Observer,
    ) -> sinterfs_model::Result<sinterfs_model::Tree> {
        self.0.scan(observer)
    }

    fn open(
        &self,
        tree: &sinterfs_model::Tree,
        file: sinterfs_model::NodeId,
    ) -> sinterfs_model::Result<Box<dyn sinterfs_model::FileContent>> {
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
