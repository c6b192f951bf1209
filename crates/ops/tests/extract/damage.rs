//! What damage costs: the files concerned and nothing else.

use std::fs;
use std::ops::Range;
use std::path::Path;

use sinterfs_model::{Kind, Quiet};
use sinterfs_ops::{ExtractOptions, Follow, Overwrite, extract, resolve};
use sinterfs_testkit::{Builder, Piece, meta, noise, sample};

use crate::support::{Notes, assert_same};
use crate::{relative, some_paths, target};

#[test]
fn a_damaged_block_costs_only_its_files() {
    let image = sample(0);
    let find = |path: &[u8]| resolve(&image, path, Follow::Nothing).unwrap();
    image.damage(find(b"docs/big"), 2_000_000);
    let (_guard, target) = target();
    let notes = Notes::default();
    let report = extract(&image, &target, &some_paths(&["docs", "zz-big"]), &notes).unwrap();
    // The file, and its two other names.
    assert_eq!(report.failed, 3, "{:?}", notes.warnings());
    assert!(notes.warnings().iter().any(|text| {
        text.starts_with("docs/big: corrupt image: block at 0x") && text.contains("checksum")
    }));
    for gone in ["docs/big", "docs/deep/another-big", "zz-big"] {
        assert!(!target.join(gone).exists(), "{gone}");
    }
    assert_same(
        &image,
        find(b"docs/read-only"),
        &target.join("docs/read-only"),
    );

    let (_guard, target) = crate::target();
    let strict = ExtractOptions {
        continue_on_error: false,
        ..Default::default()
    };
    let error = extract(&image, &target, &strict, &Quiet).unwrap_err();
    assert_eq!(error.kind(), Kind::Corrupt);
    assert_eq!(error.concerned_path(), Some(Path::new("docs/big")));
    assert!(!target.join("docs/big").exists());
}

#[test]
fn readable_parts_are_salvaged() {
    let mut builder = Builder::new(meta(0o755, 0, 0), 1 << 16);
    let content = noise(6, 8 << 16);
    let pieces = [Piece::Data(content.clone()), Piece::Hole(10_000)];
    let file = builder.file(Builder::ROOT, b"file", meta(0o644, 0, 0), &pieces);
    builder.link(Builder::ROOT, b"name", file);
    builder.file(Builder::ROOT, b"sound", meta(0o644, 0, 0), &pieces[..1]);
    let image = builder.finish(0);
    // two of its blocks, one of them the last
    image.damage(image.ino(file), 70_000);
    image.damage(image.ino(file), (8 << 16) - 1);
    let mut expected = content.clone();
    expected[1 << 16..2 << 16].fill(0);
    expected[7 << 16..].fill(0);
    expected.resize((8 << 16) + 10_000, 0);
    for (threads, cached) in [(1, 1 << 30), (4, 0)] {
        let options = ExtractOptions {
            owner: false,
            salvage: true,
            threads,
            cached,
            ..Default::default()
        };
        let (_guard, target) = target();
        let notes = Notes::default();
        let report = extract(&image, &target, &options, &notes).unwrap();
        assert_eq!(
            (report.damaged, report.failed),
            (1, 0),
            "{:?}",
            notes.warnings()
        );
        assert!(fs::read(target.join("file")).unwrap() == expected);
        assert!(fs::read(target.join("name")).unwrap() == expected);
        assert!(fs::read(target.join("sound")).unwrap() == content);
        let lost = "file: corrupt image: restored with zeros for 131072 bytes";
        let told = notes.warnings();
        assert!(told.iter().any(|text| text.starts_with(lost)), "{told:?}");
    }
}

/// Salvages the one file of an image; returns its bytes and the warnings.
fn salvaged(image: &dyn sinterfs_model::Image, cached: u64) -> (Vec<u8>, Vec<String>) {
    let options = ExtractOptions {
        owner: false,
        salvage: true,
        cached,
        ..Default::default()
    };
    let (_guard, target) = target();
    let notes = Notes::default();
    let report = extract(image, &target, &options, &notes).unwrap();
    assert_eq!(report.failed, 0, "{:?}", notes.warnings());
    (fs::read(target.join("file")).unwrap(), notes.warnings())
}

#[test]
fn a_lost_block_costs_no_other_extent() {
    // blocks of 128 KiB, the last of which has 100 bytes, as a fragment
    for (whole, lost) in [(1, 0..1), (4, 0..4), (9, 1..9)] {
        let mut builder = Builder::new(meta(0o755, 0, 0), 128 << 10);
        let content = noise(7, (whole << 17) + 100);
        let pieces = [Piece::Data(content.clone())];
        let file = builder.file(Builder::ROOT, b"file", meta(0o644, 0, 0), &pieces);
        let image = builder.finish(0);
        let mut expected = content;
        for block in lost.clone() {
            image.damage(image.ino(file), ((block as u64) << 17) + 5);
            expected[block << 17..(block + 1) << 17].fill(0);
        }
        for cached in [0, 1 << 30] {
            let (bytes, told) = salvaged(&image, cached);
            assert!(bytes == expected, "{lost:?}: {told:?}");
            let count = format!("zeros for {} bytes", lost.len() << 17);
            assert!(told.iter().any(|text| text.contains(&count)), "{told:?}");
        }
    }
}

#[test]
fn pages_between_unreadable_sectors_are_salvaged() {
    let mut builder = Builder::new(meta(0o755, 0, 0), 1 << 20);
    let content = noise(8, (1 << 20) - 3000);
    let pieces = [Piece::Data(content.clone())];
    let file = builder.file(Builder::ROOT, b"file", meta(0o644, 0, 0), &pieces);
    let image = builder.finish(0);
    // only two pages can be read: one that is far from both ends, and the last
    let (one, last) = (77 * 4096, 255 * 4096);
    let failing = Failing {
        image: &image,
        ino: image.ino(file),
        ranges: vec![0..one, one + 4096..last],
    };
    let mut expected = content;
    expected[..one as usize].fill(0);
    expected[one as usize + 4096..last as usize].fill(0);
    for cached in [0, 1 << 30] {
        let (bytes, told) = salvaged(&failing, cached);
        assert!(bytes == expected, "{told:?}");
    }
}

#[test]
fn a_failed_replacement_leaves_the_old_file() {
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let file = b.file(
        Builder::ROOT,
        b"f",
        meta(0o644, 0, 0),
        &[Piece::Data(noise(1, 9000))],
    );
    let image = b.finish(0);
    let (_guard, target) = target();
    let replace = ExtractOptions {
        overwrite: Overwrite::Replace,
        ..Default::default()
    };
    extract(&image, &target, &replace, &Quiet).unwrap();
    image.damage(image.ino(file), 8999);
    let report = extract(&image, &target, &replace, &Quiet).unwrap();
    assert_eq!(report.failed, 1);
    assert_eq!(relative(&target), ["f"]);
    assert!(fs::read(target.join("f")).unwrap() == noise(1, 9000));
}

/// An image of which the extents of one file can't be listed, or ranges of it can't be read.
struct Failing<'a> {
    image: &'a sinterfs_testkit::MemImage,
    ino: sinterfs_model::Ino,
    /// What is unreadable as sectors of a disk are; if there is nothing, no extents are listed.
    ranges: Vec<Range<u64>>,
}

impl sinterfs_model::Image for Failing<'_> {
    sinterfs_model::delegate_image!(image: info, inode, read_dir, lookup, parent, read_link);

    fn extents(
        &self,
        ino: sinterfs_model::Ino,
        from: u64,
        visit: &mut dyn FnMut(sinterfs_model::Extent) -> std::ops::ControlFlow<()>,
    ) -> sinterfs_model::Result<()> {
        if ino == self.ino && self.ranges.is_empty() {
            Err(sinterfs_model::Error::corrupt("no extents"))
        } else {
            self.image.extents(ino, from, visit)
        }
    }

    fn read_at(
        &self,
        ino: sinterfs_model::Ino,
        offset: u64,
        buf: &mut [u8],
    ) -> sinterfs_model::Result<usize> {
        let end = offset + buf.len() as u64;
        let mut bad = self.ranges.iter();
        if ino == self.ino && bad.any(|bad| bad.start < end && offset < bad.end) {
            let error = std::io::Error::from_raw_os_error(5);
            return Err(sinterfs_model::Error::io("cannot read", error));
        }
        self.image.read_at(ino, offset, buf)
    }
}

#[test]
fn extents_that_cannot_be_listed_cost_only_their_file() {
    let image = sample(0);
    let find = |path: &[u8]| resolve(&image, path, Follow::Nothing).unwrap();
    let damaged = Failing {
        image: &image,
        ino: find(b"docs/small"),
        ranges: Vec::new(),
    };
    for cached in [0, 1 << 30] {
        let (_guard, target) = target();
        let notes = Notes::default();
        let options = ExtractOptions {
            cached,
            ..some_paths(&["docs"])
        };
        let report = extract(&damaged, &target, &options, &notes).unwrap();
        assert_eq!(report.failed, 1, "{:?}", notes.warnings());
        assert!(!target.join("docs/small").exists());
        let other = find(b"docs/read-only");
        assert_same(&image, other, &target.join("docs/read-only"));
    }
}
