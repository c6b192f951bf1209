//! Extracts images whose files consist of pieces from all over the image, below a directory and as
//! archives: no block is needed again after it was released, few are needed at once, and what comes
//! out is right.

#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Mutex;

use sinterfs_model::{Image, Ino, Quiet, Result};
use sinterfs_ops::{
    Archive, ArchiveFormat, ArchiveOptions, ArchiveOrder, ExtractOptions, extract, verify,
};
use sinterfs_testkit::{Builder, Id, MemImage, Piece, meta, noise};
use support::{Notes, assert_all_same, assert_same, paths_in_image};

fn target() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out");
    (dir, target)
}

/// Files that are made of pieces of each other, all over the image: what each has in it, with
/// holes.
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
fn a_block_is_released_when_the_last_job_that_reads_it_is_done() {
    let (image, _) = woven();
    let blocks = image.info().totals.stored.div_ceil(4096) as usize;
    for threads in [1, 2, 5] {
        let (_guard, target) = target();
        let options = ExtractOptions {
            threads,
            cached: 8 * 4096,
            ..Default::default()
        };
        image.take_kept();
        extract(&image, &target, &options, &Quiet).unwrap();
        let extracted = image.take_kept();
        verify(&image, threads, &Quiet).unwrap();
        for kept in [extracted, image.take_kept()] {
            assert_eq!(kept.missed.len(), blocks, "{threads} threads");
            assert!(kept.now.is_empty(), "{threads} threads: {kept:?}");
            // a job may read the end of one block and the beginning of the next
            assert!(kept.most <= 2 * threads, "{threads} threads: {kept:?}");
        }
    }
}

/// Writes an archive; returns how many bytes were needed when their blocks were no longer kept.
fn archive(image: &MemImage, options: &ArchiveOptions, keep: bool) -> (Vec<u8>, u64) {
    let mut out = Vec::new();
    let mut archive = Archive::plan(image, options, &Quiet).unwrap();
    if keep {
        archive.keep_in(tempfile::tempfile().unwrap());
    }
    archive.write(&mut out).unwrap();
    (out, archive.later_bytes())
}

#[test]
fn an_archive_needs_no_block_twice_and_few_at_once() {
    let (image, files) = woven();
    let blocks = image.info().totals.stored.div_ceil(4096) as usize;
    let bytes = |blocks: usize| blocks as u64 * 4096;
    for order in [ArchiveOrder::Path, ArchiveOrder::Image] {
        for format in [ArchiveFormat::Tar, ArchiveFormat::Cpio] {
            let all = ArchiveOptions {
                order,
                ..ArchiveOptions::of(format)
            };
            let (expected, none) = archive(&image, &all, false);
            assert_eq!(none, 0);
            for (threads, ahead, held) in [(1, 2, 3), (2, 2, 3), (3, 1, 8), (4, 7, 0), (2, 3, 20)] {
                let options = ArchiveOptions {
                    threads,
                    ahead: bytes(ahead),
                    held: bytes(held),
                    ..all.clone()
                };
                image.take_kept();
                let (bytes, later) = archive(&image, &options, true);
                let (case, kept) = ((order, format, threads, held), image.take_kept());
                assert!(bytes == expected, "{case:?}");
                assert!(later > 0 || held == 20, "{case:?}");
                assert_eq!(kept.missed.len(), blocks, "{case:?}");
                // besides: what is being decoded, and what is being written
                let most = ahead + held + threads + 2;
                assert!(kept.most <= most, "{case:?}: {} blocks", kept.most);
                assert!(archive(&image, &options, false).0 == expected, "{case:?}");
            }
        }
    }
    // what can't be read is the same, however little is kept
    image.damage(image.ino(files[12]), 6000);
    image.damage(image.ino(files[31]), 100);
    let all = ArchiveOptions::of(ArchiveFormat::Tar);
    let (expected, _) = archive(&image, &all, false);
    for (threads, held) in [(1, 0), (1, 6), (3, 0), (3, 6)] {
        let options = ArchiveOptions {
            threads,
            held: bytes(held),
            ahead: bytes(3),
            ..all.clone()
        };
        assert!(archive(&image, &options, true).0 == expected);
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
            if whole(ino) {
                assert_same(&image, ino, &target.join(path));
            } else {
                assert!(!target.join(path).exists());
                lost += 1;
            }
        }
        assert!(lost > 2 && lost < 20, "{lost}");
        assert_eq!((report.failed, report.files), (lost, 40 - lost));
        assert_eq!(notes.warnings().len() as u64, lost);
    }
}

/// An image that fails a test if a file is not read from front to back.
struct InOrder<'a> {
    image: &'a MemImage,
    /// Where the latest read of each file ended.
    ends: Mutex<HashMap<Ino, u64>>,
}

impl Image for InOrder<'_> {
    sinterfs_model::delegate_image!(
        image: info, inode, read_dir, lookup, parent, read_link, extents, release
    );

    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let read = self.image.read_at(ino, offset, buf)?;
        // one byte makes a block be decoded ahead of its use
        if buf.len() > 1 {
            let end = offset + read as u64;
            let before = self.ends.lock().unwrap().insert(ino, end);
            assert!(before.is_none_or(|before| before <= offset), "{ino:?}");
        }
        Ok(read)
    }
}

#[test]
fn files_whose_content_is_checked_in_order_are_read_in_order() {
    let (image, _) = woven();
    let image = image.checked_in_order();
    let in_order = || InOrder {
        image: &image,
        ends: Mutex::default(),
    };
    for threads in [1, 4] {
        let (_guard, target) = target();
        let options = ExtractOptions {
            threads,
            cached: 8 * 4096,
            ..Default::default()
        };
        image.take_kept();
        extract(&in_order(), &target, &options, &Quiet).unwrap();
        let kept = image.take_kept();
        assert!(kept.now.is_empty(), "{threads} threads: {kept:?}");
        assert_all_same(&image, &target);
        verify(&in_order(), threads, &Quiet).unwrap();
        for order in [ArchiveOrder::Path, ArchiveOrder::Image] {
            let options = ArchiveOptions {
                threads,
                order,
                ahead: 2 * 4096,
                held: 3 * 4096,
                ..ArchiveOptions::of(ArchiveFormat::Tar)
            };
            let image = in_order();
            let mut archive = Archive::plan(&image, &options, &Quiet).unwrap();
            archive.keep_in(tempfile::tempfile().unwrap());
            archive.write(&mut Vec::new()).unwrap();
            assert_eq!(archive.later_bytes(), 0);
        }
    }
}
