//! What comes back: content, holes and sparse files, on any number of threads and in order.

use std::fs;
use std::os::unix::fs::MetadataExt;

use sinterfs_model::Quiet;
use sinterfs_ops::{ExtractOptions, Follow, Overwrite, extract, resolve};
use sinterfs_testkit::{Builder, Piece, meta, noise, sample, skip};

use crate::support::{self, Notes, assert_all_same, assert_same, is_root};
use crate::{relative, some_paths, target};

#[test]
fn everything_comes_back_on_any_number_of_threads() {
    if !is_root() {
        return skip("owners and devices need root");
    }
    let image = sample(5);
    for threads in [1, 2, 7] {
        let (_guard, target) = target();
        let notes = Notes::default();
        let options = ExtractOptions {
            threads,
            ..Default::default()
        };
        let report = extract(&image, &target, &options, &notes).unwrap();
        assert_eq!(notes.warnings(), [""; 0]);
        assert_all_same(&image, &target);
        assert_eq!((report.failed, report.imperfect, report.kept), (0, 0, 0));
        assert_eq!(
            (report.symlinks, report.specials, report.directories),
            (6, 4, 5)
        );
        assert_eq!(report.links, 3);
        let expected = notes.expected.lock().unwrap()[0].1;
        assert_eq!(*notes.done.lock().unwrap(), expected);
        assert_eq!(report.bytes, expected.bytes);
    }
}

#[test]
fn holes_stay_holes_unless_asked_otherwise() {
    let image = sample(0);
    for sparse in [true, false] {
        let (_guard, target) = target();
        let options = ExtractOptions {
            sparse,
            ..some_paths(&["docs/hole-only", "docs/sparse"])
        };
        extract(&image, &target, &options, &Quiet).unwrap();
        let only = fs::metadata(target.join("docs/hole-only")).unwrap();
        assert_eq!(only.len(), 5 << 20);
        let some = fs::metadata(target.join("docs/sparse")).unwrap();
        if sparse {
            assert_eq!(only.blocks(), 0);
            assert!(some.blocks() * 512 < 200_000, "{} blocks", some.blocks());
        } else {
            assert!(only.blocks() * 512 >= 5 << 20);
        }
        let ino = resolve(&image, b"docs/sparse", Follow::Nothing).unwrap();
        assert!(fs::read(target.join("docs/sparse")).unwrap() == support::content(&image, ino));
    }
}

#[test]
fn a_large_file_is_written_by_several_threads() {
    let mut b = Builder::new(meta(0o755, 0, 0), 1 << 20);
    let data = noise(1, 70 << 20);
    let pieces = [
        Piece::Data(data.clone()),
        Piece::Hole(30 << 20),
        Piece::Data(noise(2, 40 << 20)),
    ];
    let file = b.file(Builder::ROOT, b"large", meta(0o644, 7, 8), &pieces);
    let small = b.file(
        Builder::ROOT,
        b"small",
        meta(0o644, 7, 8),
        &[Piece::Data(vec![7; 9])],
    );
    let image = b.finish(0);
    for threads in [1, 3] {
        let (_guard, target) = target();
        let options = ExtractOptions {
            threads,
            overwrite: Overwrite::Replace,
            ..Default::default()
        };
        for _ in 0..2 {
            let report = extract(&image, &target, &options, &Quiet).unwrap();
            assert_eq!((report.files, report.failed), (2, 0));
            assert_same(&image, image.ino(file), &target.join("large"));
        }
    }
    image.damage(image.ino(file), 60 << 20);
    image.damage(image.ino(file), 110 << 20);
    for threads in [1, 3] {
        let (_guard, target) = target();
        let notes = Notes::default();
        let options = ExtractOptions {
            threads,
            ..Default::default()
        };
        let report = extract(&image, &target, &options, &notes).unwrap();
        assert_eq!(
            (report.files, report.failed),
            (1, 1),
            "{:?}",
            notes.warnings()
        );
        assert_eq!(relative(&target), ["small"]);
        assert_same(&image, image.ino(small), &target.join("small"));
    }
}

#[test]
fn blocks_are_read_in_order() {
    let image = sample(0);
    let (_guard, target) = target();
    let options = ExtractOptions {
        threads: 1,
        ..Default::default()
    };
    extract(&image, &target, &options, &Quiet).unwrap();
    let touched = image.touched();
    assert!(touched.is_sorted(), "{touched:?}");
}

#[test]
fn a_deep_tree_is_no_problem() {
    const DEPTH: usize = 1600;
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let mut dir = Builder::ROOT;
    for level in 0..DEPTH {
        b.file(dir, b"a", meta(0o644, 5, 6), &[Piece::Data(vec![1; 3])]);
        b.file(dir, b"z", meta(0o644, 5, 6), &[Piece::Data(vec![2; 3])]);
        dir = b.dir(dir, b"dd", meta(0o755, level as i64, 9));
    }
    let image = b.finish(0);
    let (guard, target) = target();
    let notes = Notes::default();
    let report = extract(&image, &target, &ExtractOptions::default(), &notes).unwrap();
    assert_eq!(notes.warnings(), [""; 0]);
    assert_eq!(
        (report.files, report.directories),
        (2 * DEPTH as u64, DEPTH as u64)
    );
    let near = ["dd"; 500].join("/");
    assert_eq!(fs::metadata(target.join(near)).unwrap().mtime(), 499);
    // Removing by path would be too deep for what removes the temporary directory.
    let done = std::process::Command::new("rm")
        .arg("-rf")
        .arg(guard.path())
        .status()
        .unwrap();
    assert!(done.success());
}
