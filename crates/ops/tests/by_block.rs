//! Extracts images whose files consist of pieces from all over the image: no block is read twice, and what
//! comes out is right.

#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::path::PathBuf;

use model::{Image, Ino, Quiet};
use sinterfs_ops::{ExtractOptions, extract, verify};
use support::{Notes, assert_all_same, assert_same, paths_in_image};
use testkit::{Builder, Id, MemImage, Piece, meta, noise};

fn target() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out");
    (dir, target)
}

/// Files that are made of pieces of each other, all over the image: what each has in it, with holes.
fn woven() -> (MemImage, Vec<Id>) {
    const FILES: usize = 40;
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let mut files: Vec<Id> = Vec::new();
    for number in 0..FILES {
        let mut pieces = Vec::new();
        if number % 3 == 0 {
            pieces.push(Piece::Hole(5000));
        }
        for back in [1, 7, 20, 33] {
            pieces.push(Piece::Data(noise((number * 50 + back) as u64, 1500)));
            let other = number.checked_sub(back).and_then(|n| files.get(n));
            pieces.extend(other.map(|&file| Piece::Again(file, 1..2)));
        }
        if number % 4 == 0 {
            pieces.push(Piece::Hole(3000));
        }
        let name = format!("f{:02}", number * 7 % FILES);
        files.push(b.file(Builder::ROOT, name.as_bytes(), meta(0o640, 1, 2), &pieces));
    }
    (b.finish(0), files)
}

#[test]
fn far_references_take_no_block_twice() {
    let (image, _) = woven();
    let blocks = image.info().totals.stored.div_ceil(4096);
    let sequential = ExtractOptions {
        threads: 1,
        ..Default::default()
    };
    let (_guard, target) = target();
    extract(&image, &target, &sequential, &Quiet).unwrap();
    let touched = image.touched();
    assert!(
        touched.is_sorted() && touched.len() as u64 == blocks,
        "{touched:?}"
    );
    assert_all_same(&image, &target);
    // nor does a verification
    let before = image.touched().len();
    verify(&image, 1, &Quiet).unwrap();
    let again = image.touched().split_off(before);
    assert!(again.is_sorted(), "{again:?}");

    for (threads, sparse, cached) in [
        (1, false, 0),
        (3, true, 0),
        (3, false, 4096),
        (2, true, 1 << 30),
    ] {
        let (_guard, target) = self::target();
        let notes = Notes::default();
        let options = ExtractOptions {
            threads,
            sparse,
            cached,
            ..Default::default()
        };
        let report = extract(&image, &target, &options, &notes).unwrap();
        assert_eq!((report.files, report.failed), (40, 0));
        assert_eq!(
            *notes.done.lock().unwrap(),
            notes.expected.lock().unwrap()[0].1
        );
        assert_all_same(&image, &target);
    }
}

#[test]
fn a_damaged_block_costs_the_files_that_refer_to_it() {
    let (image, files) = woven();
    image.damage(image.ino(files[12]), 6000);
    let whole = |ino: Ino| {
        let mut data = vec![0; image.inode(ino).unwrap().size as usize];
        image.read_at(ino, 0, &mut data).is_ok()
    };
    for threads in [1, 3] {
        let (_guard, target) = target();
        let notes = Notes::default();
        let options = ExtractOptions {
            threads,
            ..Default::default()
        };
        let report = extract(&image, &target, &options, &notes).unwrap();
        let mut lost = 0;
        for (path, ino) in paths_in_image(&image) {
            match whole(ino) {
                true => assert_same(&image, ino, &target.join(path)),
                false => {
                    assert!(!target.join(path).exists());
                    lost += 1;
                }
            }
        }
        assert!(lost > 2 && lost < 20, "{lost}");
        assert_eq!((report.failed, report.files), (lost, 40 - lost));
        assert_eq!(notes.warnings().len() as u64, lost);
    }
}
