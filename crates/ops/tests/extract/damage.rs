//! What damage costs: the files concerned and nothing else.

use std::fs;
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
fn what_can_be_read_is_salvaged() {
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

/// An image of which the extents of one file can't be listed.
struct Unlisted<'a>(&'a sinterfs_testkit::MemImage, sinterfs_model::Ino);

impl sinterfs_model::Image for Unlisted<'_> {
    fn info(&self) -> &sinterfs_model::ImageInfo {
        self.0.info()
    }

    fn inode(&self, ino: sinterfs_model::Ino) -> sinterfs_model::Result<sinterfs_model::Inode> {
        self.0.inode(ino)
    }

    fn read_dir(
        &self,
        dir: sinterfs_model::Ino,
        from: sinterfs_model::Cursor,
        visit: &mut dyn FnMut(sinterfs_model::Dirent<'_>) -> std::ops::ControlFlow<()>,
    ) -> sinterfs_model::Result<()> {
        self.0.read_dir(dir, from, visit)
    }

    fn lookup(
        &self,
        dir: sinterfs_model::Ino,
        name: &[u8],
    ) -> sinterfs_model::Result<Option<sinterfs_model::Ino>> {
        self.0.lookup(dir, name)
    }

    fn parent(&self, dir: sinterfs_model::Ino) -> sinterfs_model::Result<sinterfs_model::Ino> {
        self.0.parent(dir)
    }

    fn read_link(&self, ino: sinterfs_model::Ino) -> sinterfs_model::Result<Vec<u8>> {
        self.0.read_link(ino)
    }

    fn extents(
        &self,
        ino: sinterfs_model::Ino,
        from: u64,
        visit: &mut dyn FnMut(sinterfs_model::Extent) -> std::ops::ControlFlow<()>,
    ) -> sinterfs_model::Result<()> {
        match ino == self.1 {
            true => Err(sinterfs_model::Error::corrupt("no extents")),
            false => self.0.extents(ino, from, visit),
        }
    }

    fn read_at(
        &self,
        ino: sinterfs_model::Ino,
        offset: u64,
        buf: &mut [u8],
    ) -> sinterfs_model::Result<usize> {
        self.0.read_at(ino, offset, buf)
    }
}

#[test]
fn extents_that_cannot_be_listed_cost_only_their_file() {
    let image = sample(0);
    let find = |path: &[u8]| resolve(&image, path, Follow::Nothing).unwrap();
    let damaged = Unlisted(&image, find(b"docs/small"));
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
