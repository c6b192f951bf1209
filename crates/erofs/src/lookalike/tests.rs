//! Lookalikes as our own reader sees them.

use std::ops::ControlFlow;

use sinterfs_model::{Cursor, ExtentSource, FileType, Ino};
use sinterfs_testkit::{Builder, MemImage, Piece, meta, noise, sample};

use super::*;
use crate::read::{Erofs, ReadOptions};

fn look(image: MemImage) -> (Arc<dyn Image>, Arc<Lookalike>) {
    let image: Arc<dyn Image> = Arc::new(image);
    let made = Lookalike::new(Arc::clone(&image), Shown::default());
    (image, Arc::new(made.unwrap()))
}

fn open(made: &Arc<Lookalike>) -> Erofs {
    let source = Arc::clone(made) as Arc<dyn ReadAt>;
    Erofs::open(source, &ReadOptions::default()).unwrap()
}

fn names(image: &dyn Image, dir: Ino) -> Vec<(Vec<u8>, Ino)> {
    let mut names = Vec::new();
    let listed = image.read_dir(dir, Cursor::START, &mut |dirent| {
        names.push((dirent.name.to_vec(), dirent.ino));
        ControlFlow::Continue(())
    });
    listed.unwrap();
    names
}

fn content(image: &dyn Image, ino: Ino) -> Vec<u8> {
    let mut data = vec![0; image.inode(ino).unwrap().size as usize];
    assert_eq!(image.read_at(ino, 0, &mut data).unwrap(), data.len());
    data
}

/// Compares all below a directory, and counts names.
fn compare(a: &dyn Image, dir: Ino, b: &dyn Image, other: Ino) -> usize {
    let (left, right) = (names(a, dir), names(b, other));
    let just = |names: &[(Vec<u8>, Ino)]| names.iter().map(|one| one.0.clone()).collect::<Vec<_>>();
    assert_eq!(just(&left), just(&right));
    let mut count = left.len();
    for ((name, ino), (_, other)) in left.into_iter().zip(right) {
        let name = String::from_utf8_lossy(&name).into_owned();
        let (one, two) = (a.inode(ino).unwrap(), b.inode(other).unwrap());
        assert_eq!(
            (one.kind, one.nlink, one.rdev),
            (two.kind, two.nlink, two.rdev),
            "{name}"
        );
        let owner =
            |meta: sinterfs_model::Meta| (meta.mode, meta.uid, meta.gid, meta.times.modified);
        assert_eq!(owner(one.meta), owner(two.meta), "{name}");
        assert_eq!(a.xattrs(ino).unwrap(), b.xattrs(other).unwrap(), "{name}");
        match one.kind {
            FileType::Directory => count += compare(a, ino, b, other),
            FileType::File => assert!(content(a, ino) == content(b, other), "{name}"),
            FileType::Symlink => {
                assert_eq!(
                    a.read_link(ino).unwrap(),
                    b.read_link(other).unwrap(),
                    "{name}"
                );
            }
            _ => {}
        }
    }
    count
}

fn same(image: MemImage) -> (Erofs, usize) {
    let (image, made) = look(image);
    let erofs = open(&made);
    let count = compare(&*image, image.info().root, &erofs, erofs.info().root);
    (erofs, count)
}

#[test]
fn everything_is_there() {
    for mask in [0, 1, 5] {
        let (erofs, count) = same(sample(mask));
        assert_eq!(count, 43);
        assert_ne!(erofs.info().root, Ino(0));
    }
    let (_, made) = look(sample(0));
    let times = made.losses().first().unwrap();
    assert!(times.what.starts_with("access or inode change times") && times.count > 30);
}

#[test]
fn directories_of_every_length_are_there() {
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    for len in (0..230).chain([400, 1000]) {
        let dir = b.dir(
            Builder::ROOT,
            format!("{len}").as_bytes(),
            meta(0o755, 0, 0),
        );
        for number in 0..len {
            let name = format!("{number:04}");
            b.symlink(
                dir,
                name.as_bytes(),
                meta(0o777, 0, 0),
                &vec![b't'; number * 5 % 4096],
            );
        }
    }
    b.symlink(
        Builder::ROOT,
        b"longest",
        meta(0o777, 0, 0),
        &vec![b'l'; 4096],
    );
    assert!(same(b.finish(3)).1 > 20_000);
}

#[test]
fn attributes_are_there() {
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    for number in 0..400 {
        let file = b.file(
            Builder::ROOT,
            format!("{number}").as_bytes(),
            meta(0o644, 0, 0),
            &[],
        );
        b.xattr(file, b"security.selinux", b"system_u:object_r:usr_t:s0\0");
        for own in 0..number % 300 {
            b.xattr(
                file,
                format!("user.{own}").as_bytes(),
                format!("{}", number / 2).as_bytes(),
            );
        }
        b.xattr(file, b"user.large", &vec![b'v'; number * 160]);
    }
    let (_, count) = same(b.finish(0));
    assert_eq!(count, 400);
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    b.xattr(Builder::ROOT, b"btrfs.x", b"");
    b.xattr(Builder::ROOT, b"user.x", &vec![0; 65_536]);
    let (_, made) = look(b.finish(0));
    let counts: Vec<u64> = made.losses().iter().map(|loss| loss.count).collect();
    assert_eq!(counts, [1, 1, 1]);
}

fn holes(image: &dyn Image, ino: Ino) -> Vec<(u64, u64)> {
    let mut found: Vec<(u64, u64)> = Vec::new();
    let shown = image.extents(ino, 0, &mut |extent| {
        if extent.source == ExtentSource::Hole {
            match found.last_mut() {
                Some(last) if last.1 == extent.offset => last.1 += extent.len,
                _ => found.push((extent.offset, extent.offset + extent.len)),
            }
        }
        ControlFlow::Continue(())
    });
    shown.unwrap();
    found
}

#[test]
fn holes_are_kept_and_maps_stay_small() {
    let part = |len| Piece::Data(noise(1, len));
    let (kib, gib) = (1_u64 << 10, 1_u64 << 30);
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let mut file = |name: &str, pieces: &[Piece]| {
        b.file(Builder::ROOT, name.as_bytes(), meta(0o644, 0, 0), pieces);
    };
    file("a", &[Piece::Hole(5 * gib), part(1), Piece::Hole(5 * gib)]);
    file("b", &[part(65_536), Piece::Hole(64 * kib), part(10)]);
    file(
        "c",
        &[part(4095), Piece::Hole(4097), part(8192), Piece::Hole(100)],
    );
    file("d", &[Piece::Hole(1 << 50), part(3), Piece::Hole(1 << 60)]);
    file("e", &[Piece::Hole(9)]);
    let (image, made) = look(b.finish(0));
    assert!(
        made.inodes.len() < 1 << 20,
        "{} bytes of inodes",
        made.inodes.len()
    );
    let erofs = open(&made);
    let find = |image: &dyn Image, name: &str| {
        let ino = image
            .lookup(image.info().root, name.as_bytes())
            .unwrap()
            .unwrap();
        (ino, holes(image, ino))
    };
    let chunk = 256 * kib;
    let end = 10 * gib + 1;
    let all = |name| find(&erofs, name).1;
    assert_eq!(all("a"), [(0, 5 * gib), (5 * gib + chunk, end)]);
    assert_eq!(all("b"), find(&*image, "b").1);
    assert_eq!(all("c"), [(4096, 8192), (16384, 16484)]);
    assert_eq!(all("d").len(), 2);
    assert_eq!(all("e"), [(0, 9)]);
    for name in ["a", "b", "c", "d", "e"] {
        let ((one, _), (two, _)) = (find(&*image, name), find(&erofs, name));
        let size = image.inode(one).unwrap().size;
        assert_eq!(erofs.inode(two).unwrap().size, size);
        for at in [0, 4090, 5 * gib - 5, (1 << 50) - 7, size.saturating_sub(20)] {
            let (mut left, mut right) = ([1; 100], [2; 100]);
            let count = image.read_at(one, at, &mut left).unwrap();
            assert_eq!(erofs.read_at(two, at, &mut right).unwrap(), count);
            assert_eq!(left[..count], right[..count], "{name} at {at}");
        }
    }
}

#[test]
fn reports_addresses_beyond_32_bits() {
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let step = 1 << 44;
    for name in ["a", "b", "c"] {
        let far = [
            Piece::Data(noise(1, 9)),
            Piece::Hole(step),
            Piece::Data(noise(2, 9)),
        ];
        b.file(Builder::ROOT, name.as_bytes(), meta(0o644, 0, 0), &far);
    }
    b.file(
        Builder::ROOT,
        b"z",
        meta(0o644, 0, 0),
        &[Piece::Data(noise(3, 99))],
    );
    let (image, mut made) = look(b.finish(0));
    // chunks are of 256 MiB here, so this is still below 16 TiB
    assert!(!made.content.is_wide());
    let mut space = Space::new();
    let first = space.add(Ino(0), 0, 40 << 40).unwrap();
    let next = space.add(Ino(1), 0, 9).unwrap();
    assert_eq!(next - first, (40 << 40) / BLOCK);
    assert!(space.is_wide() && space.add(Ino(2), 0, 1 << 50).is_err());
    let shown = Shown::default();
    let mut scan = Scan::new(&*image, shown);
    scan.content = space;
    let scan = scan.run().unwrap();
    let first = first_block(image.info().totals, &scan, [0; 16]).unwrap();
    let wide = Lookalike {
        first,
        inodes: scan.inodes,
        xattrs: scan.xattrs,
        directories: scan.directories,
        content: scan.content,
        losses: Vec::new(),
        image: Arc::clone(&image),
    };
    made = Arc::new(wide);
    let erofs = open(&made);
    let ino = |name: &str| {
        erofs
            .lookup(erofs.info().root, name.as_bytes())
            .unwrap()
            .unwrap()
    };
    assert_eq!(content(&erofs, ino("z")), noise(3, 99));
    for name in ["a", "b", "c"] {
        let mut end = [0; 9];
        assert_eq!(erofs.read_at(ino(name), step + 9, &mut end).unwrap(), 9);
        assert_eq!(end[..], noise(2, 9));
        assert_eq!(holes(&erofs, ino(name)).len(), 1);
    }
}

#[test]
fn damage_is_an_error_and_not_zeros() {
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let file = b.file(
        Builder::ROOT,
        b"f",
        meta(0o644, 0, 0),
        &[Piece::Data(noise(1, 9000))],
    );
    let image = b.finish(0);
    image.damage(image.ino(file), 4096);
    let (_, made) = look(image);
    let mut block = [0; 4096];
    made.read_at(CONTENT, &mut block).unwrap();
    assert_eq!(block[..], noise(1, 4096));
    assert!(made.read_at(CONTENT + 4096, &mut block).is_err());
    made.read_at(CONTENT + 8192, &mut block).unwrap();
    assert_eq!(block[9000 - 8192..], [0; 4096 - (9000 - 8192)]);
    assert_eq!(made.len(), CONTENT + 12288);
    assert!(made.read_at(CONTENT + 8192, &mut [0; 4097]).is_err());
    assert!(made.read_at(u64::MAX, &mut [0; 2]).is_err());
}

#[test]
fn hostile_trees_are_refused() {
    for name in [&b""[..], b"a/b", b"a\0b", b"..", &[b'n'; 256]] {
        let mut b = Builder::new(meta(0o755, 0, 0), 4096);
        b.file(Builder::ROOT, name, meta(0o644, 0, 0), &[]);
        let image: Arc<dyn Image> = Arc::new(b.finish(0));
        assert!(Lookalike::new(image, Shown::default()).is_err(), "{name:?}");
    }
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let dir = b.dir(Builder::ROOT, b"dir", meta(0o755, 0, 0));
    b.link(dir, b"loop", dir);
    let image: Arc<dyn Image> = Arc::new(b.finish(0));
    let error = Lookalike::new(image, Shown::default()).unwrap_err();
    assert_eq!(error.kind(), sinterfs_model::Kind::Corrupt, "{error}");
}
