//! Walks, lists, finds, prints and verifies images from memory.

#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::io::Write;
use std::sync::atomic::Ordering;

use sinterfs_model::{Error, FileType, Image, Ino, Kind, Quiet, Rdev};
use sinterfs_ops::{
    Follow, ListOptions, Row, Visit, WalkStep, cat, list, resolve, row, verify, walk,
};
use sinterfs_testkit::{Builder, MemImage, Piece, meta, noise, sample};
use support::{Notes, content, paths_in_image};

const ROOT: sinterfs_testkit::Id = Builder::ROOT;

fn small() -> MemImage {
    let mut b = Builder::new(meta(0o755, 1, 2), 4096);
    let a = b.dir(ROOT, b"a", meta(0o755, 0, 0));
    b.dir(a, b"empty", meta(0o755, 0, 0));
    let file = b.file(a, b"x", meta(0o644, 0, 0), &[Piece::Data(vec![1; 5])]);
    b.link(ROOT, b"a-link", file);
    b.file(ROOT, b"a\x01", meta(0o644, 0, 0), &[]);
    b.special(
        ROOT,
        b"\xff",
        meta(0o600, 0, 0),
        FileType::CharDevice,
        Rdev { major: 1, minor: 3 },
    );
    b.finish(3)
}

fn visits(image: &dyn Image, mut decide: impl FnMut(&str) -> WalkStep) -> Vec<String> {
    let mut seen = Vec::new();
    walk(image, image.info().root, &mut |visit| {
        let line = match visit {
            Visit::Enter(entry) => format!("{}+{}", entry.depth, entry.path.escape_ascii()),
            Visit::Leave(entry) => format!("{}-{}", entry.depth, entry.path.escape_ascii()),
            Visit::Broken(_, error) => return Err(error),
        };
        seen.push(line.clone());
        Ok(decide(&line))
    })
    .unwrap();
    seen
}

#[test]
fn a_walk_is_in_order_and_can_be_steered() {
    let image = small();
    let all = [
        "0+a",
        "1+a/empty",
        "1-a/empty",
        "1+a/x",
        "0-a",
        r"0+a\x01",
        "0+a-link",
        r"0+\xff",
    ];
    assert_eq!(visits(&image, |_| WalkStep::On), all);
    let over = visits(&image, |line| {
        if line == "0+a" {
            WalkStep::Over
        } else {
            WalkStep::On
        }
    });
    assert_eq!(over, ["0+a", r"0+a\x01", "0+a-link", r"0+\xff"]);
    let stop = visits(&image, |line| {
        if line == "1-a/empty" {
            WalkStep::Stop
        } else {
            WalkStep::On
        }
    });
    assert_eq!(stop, all[..3]);
}

#[test]
fn a_tree_of_any_depth_can_be_walked() {
    const DEPTH: usize = 100_000;
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let mut dir = ROOT;
    for _ in 0..DEPTH {
        dir = b.dir(dir, b"d", meta(0o755, 0, 0));
        b.special(
            dir,
            b"f",
            meta(0o600, 0, 0),
            FileType::Fifo,
            Rdev::default(),
        );
    }
    let image = b.finish(0);
    let (mut entered, mut left, mut deepest) = (0, 0, 0);
    walk(&image, image.info().root, &mut |visit| {
        match visit {
            Visit::Enter(entry) => {
                entered += 1;
                deepest = deepest.max(entry.path.len());
            }
            _ => left += 1,
        }
        Ok(WalkStep::On)
    })
    .unwrap();
    assert_eq!((entered, left, deepest), (2 * DEPTH, DEPTH, 2 * DEPTH + 1));
    let report = verify(&image, 1, &Quiet).unwrap();
    assert_eq!((report.entries, report.problems), (2 * DEPTH as u64, 0));
    let path = "d/".repeat(DEPTH);
    assert!(resolve(&image, path.as_bytes(), Follow::All).is_ok());
}

/// Walks an image to its end; returns the paths that could not be walked, and why.
fn broken(image: &dyn Image) -> Vec<String> {
    let mut broken = Vec::new();
    walk(image, Ino(0), &mut |visit| {
        if let Visit::Broken(entry, error) = visit {
            broken.push(format!("{}: {error}", entry.path.escape_ascii()));
        }
        Ok(WalkStep::On)
    })
    .unwrap();
    broken
}

#[test]
fn directories_that_hold_themselves_are_refused() {
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let outer = b.dir(ROOT, b"outer", meta(0o755, 0, 0));
    let inner = b.dir(outer, b"inner", meta(0o755, 0, 0));
    b.link(inner, b"again", outer);
    let found = broken(&b.finish(0));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("outer/inner/again: "), "{found:?}");
    assert!(
        found[0].ends_with("corrupt image: a directory is in more than one place"),
        "{found:?}"
    );

    // No cycle, but ways that double with every level.
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let mut dir = ROOT;
    for _ in 0..60 {
        let next = b.dir(dir, b"one", meta(0o755, 0, 0));
        b.link(dir, b"two", next);
        dir = next;
    }
    let error = walk(&b.finish(0), Ino(0), &mut |_| Ok(WalkStep::On)).unwrap_err();
    assert_eq!(error.kind(), Kind::Corrupt);
}

#[test]
fn paths_are_found() {
    let image = sample(6);
    let find = |path: &str, follow| resolve(&image, path.as_bytes(), follow);
    let small = find("docs/small", Follow::Nothing).unwrap();
    for path in [
        "/docs/small",
        "//docs//./small",
        "docs/deep/../small",
        "../docs/small",
    ] {
        assert_eq!(find(path, Follow::Nothing).unwrap(), small, "{path}");
    }
    for path in ["", "/", ".", "..", "docs/.."] {
        assert_eq!(
            find(path, Follow::Nothing).unwrap(),
            image.info().root,
            "{path}"
        );
    }
    let link = find("link", Follow::Nothing).unwrap();
    assert_eq!(find("link", Follow::Parents).unwrap(), link);
    assert_eq!(find("link", Follow::All).unwrap(), small);
    assert_eq!(find("twin/small", Follow::Parents).unwrap(), small);
    assert_eq!(find("docs/up/../link", Follow::All).unwrap(), small);
    let cases = [
        (
            "twin/small",
            Follow::Nothing,
            Kind::NotDirectory,
            "not a directory",
        ),
        ("docs/none", Follow::All, Kind::NotFound, "no such file"),
        (
            "docs/small/",
            Follow::All,
            Kind::NotDirectory,
            "not a directory",
        ),
        (
            "docs/small/x",
            Follow::All,
            Kind::NotDirectory,
            "not a directory",
        ),
        ("docs/\0", Follow::All, Kind::Invalid, "a NUL"),
        ("broken", Follow::All, Kind::NotFound, "no such file"),
        ("loop-a", Follow::All, Kind::Loop, "too many"),
    ];
    for (path, follow, kind, text) in cases {
        let error = find(path, follow).unwrap_err();
        assert_eq!(error.kind(), kind, "{path}");
        assert!(
            error.to_string().starts_with(path) && error.to_string().contains(text),
            "{error}"
        );
    }
}

fn rows(image: &dyn Image, path: &[u8], options: ListOptions) -> Vec<Row> {
    let mut rows = Vec::new();
    let start = resolve(image, path, Follow::Nothing).unwrap();
    list(
        image,
        start,
        path,
        options,
        &mut sinterfs_ops::Unread::default(),
        &mut |row| {
            rows.push(row.clone());
            Ok(WalkStep::On)
        },
    )
    .unwrap();
    rows
}

#[test]
fn rows_have_all_attributes() {
    let image = sample(0);
    let recursive = ListOptions {
        recursive: true,
        ..Default::default()
    };
    let all = rows(&image, b"", recursive);
    assert_eq!(all.len(), paths_in_image(&image).len());
    let of = |path: &str| all.iter().find(|row| row.path == path.as_bytes()).unwrap();
    assert_eq!(of("docs/big").link, None);
    assert_eq!(
        of("docs/deep/another-big").link.as_deref(),
        Some(&b"docs/big"[..])
    );
    assert_eq!(of("zz-big").link.as_deref(), Some(&b"docs/big"[..]));
    assert_eq!((of("zz-big").nlink, of("zz-big").size), (3, 3_000_001));
    assert_eq!(of("link").target.as_deref(), Some(&b"docs/small"[..]));
    assert_eq!(
        of("disk").rdev,
        Some(Rdev {
            major: 259,
            minor: 70_000
        })
    );
    assert_eq!(
        (of("docs/hole-only").size, of("docs/hole-only").allocated),
        (5 << 20, 0)
    );
    assert_eq!(
        (of("docs/deep/tool").mode, of("docs/deep/tool").uid),
        (0o6755, 1234)
    );
    let times = of("docs/small").times;
    assert_eq!(
        (times.modified.secs, times.modified.nanos),
        (-5, 500_000_000)
    );

    let flat = rows(&image, b"docs/deep", ListOptions::default());
    let names: Vec<_> = flat
        .iter()
        .map(|row| String::from_utf8_lossy(&row.path))
        .collect();
    let expected = ["another-big", "mode-zero", "set-gid", "tool"];
    assert_eq!(names, expected.map(|name| format!("docs/deep/{name}")));
    let itself = ListOptions {
        itself: true,
        ..Default::default()
    };
    assert_eq!(rows(&image, b"docs", itself)[0].kind, FileType::Directory);
    assert_eq!(
        rows(&image, b"link", ListOptions::default())[0].kind,
        FileType::Symlink
    );
    assert_eq!(
        row(&image, Ino(99_999), b"x").unwrap_err().kind(),
        Kind::NotFound
    );
}

#[test]
fn content_is_printed_in_order() {
    let mut b = Builder::new(meta(0o755, 0, 0), 1 << 20);
    let pieces = [
        Piece::Data(noise(1, 9_000_001)),
        Piece::Hole(5 << 20),
        Piece::Data(vec![7; 3]),
    ];
    let file = b.file(ROOT, b"f", meta(0o644, 0, 0), &pieces);
    let none = b.file(ROOT, b"none", meta(0o644, 0, 0), &[]);
    let image = b.finish(0);
    let (file, none) = (image.ino(file), image.ino(none));
    for threads in [1, 2, 5] {
        let mut out = Vec::new();
        assert_eq!(
            cat(&image, file, threads, &mut out).unwrap(),
            out.len() as u64
        );
        assert!(out == content(&image, file), "{threads} threads");
        assert_eq!(cat(&image, none, threads, &mut Vec::new()).unwrap(), 0);
        let error = cat(&image, image.info().root, threads, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid);
    }
    image.damage(file, 5 << 20);
    for threads in [1, 3] {
        let mut out = Vec::new();
        assert_eq!(
            cat(&image, file, threads, &mut out).unwrap_err().kind(),
            Kind::Corrupt
        );
        assert!(out == noise(1, 9_000_001)[..5 << 20]);
        let error = cat(&image, file, threads, &mut Full(100)).unwrap_err();
        assert_eq!(error.kind(), Kind::Io);
    }
}

/// A stream that ends, as a pipe to a program that has seen enough.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        let count = self.0.min(data.len());
        self.0 -= count;
        Ok(count)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_good_image_has_no_problems() {
    let image = sample(1);
    for threads in [1, 4] {
        let notes = Notes::default();
        let report = verify(&image, threads, &notes).unwrap();
        assert_eq!(notes.warnings(), [""; 0]);
        assert_eq!((report.problems, report.entries, report.files), (0, 43, 25));
        let expected = notes.expected.lock().unwrap()[0].1;
        assert_eq!(*notes.done.lock().unwrap(), expected);
        assert_eq!(
            (report.files, report.bytes),
            (expected.items, expected.bytes)
        );
    }
    let notes = Notes::default();
    notes.stop.store(true, Ordering::Relaxed);
    assert_eq!(
        verify(&image, 2, &notes).unwrap_err().kind(),
        Kind::Cancelled
    );
}

#[test]
fn problems_are_reported_with_their_paths() {
    let image = sample(0);
    for path in [&b"docs/big"[..], b"docs/sparse-start"] {
        let ino = resolve(&image, path, Follow::Nothing).unwrap();
        image.damage(ino, image.inode(ino).unwrap().size - 1);
    }
    let notes = Notes::default();
    let report = verify(&image, 2, &notes).unwrap();
    let warnings = notes.warnings();
    assert_eq!(report.problems, warnings.len() as u64);
    for path in [
        "docs/big: corrupt image: block at",
        "docs/sparse-start: corrupt image: block at",
    ] {
        assert!(
            warnings.iter().any(|text| text.starts_with(path)),
            "{warnings:?}"
        );
    }
}

#[test]
fn trees_that_do_not_fit_are_problems() {
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let dir = b.dir(ROOT, b"dir", meta(0o755, 0, 0));
    b.file(dir, b"same", meta(0o644, 0, 0), &[]);
    b.file(dir, b"same", meta(0o644, 0, 0), &[]);
    b.file(dir, b"..", meta(0o644, 0, 0), &[]);
    let moved = b.dir(ROOT, b"moved", meta(0o755, 0, 0));
    let mut image = b.finish(0);
    image.lie_about_parent(moved, image.ino(dir));
    let notes = Notes::default();
    let report = verify(&image, 1, &notes).unwrap();
    assert_eq!(report.problems, 4, "{:?}", notes.warnings());
    let expected = [
        "dir/..: corrupt image: that can't be the name of a file",
        "dir/same: corrupt image: the name is listed but not found",
        "dir/same: corrupt image: the names of a directory are not in order",
        "moved: corrupt image: the directory has another parent",
    ];
    assert_eq!(notes.warnings(), expected);
}

/// An image of which one directory and one inode can't be read.
struct Lazy(MemImage, Ino, Ino);

impl Image for Lazy {
    sinterfs_model::delegate_image!(0: info, lookup, parent, read_link, extents, read_at);

    fn inode(&self, ino: Ino) -> sinterfs_model::Result<sinterfs_model::Inode> {
        if ino == self.2 {
            Err(Error::corrupt("bad inode"))
        } else {
            self.0.inode(ino)
        }
    }
    fn read_dir(
        &self,
        dir: Ino,
        from: sinterfs_model::Cursor,
        visit: &mut dyn FnMut(sinterfs_model::Dirent<'_>) -> std::ops::ControlFlow<()>,
    ) -> sinterfs_model::Result<()> {
        if dir == self.1 {
            Err(Error::corrupt("bad directory"))
        } else {
            self.0.read_dir(dir, from, visit)
        }
    }
}

#[test]
fn damage_costs_only_the_damaged_file() {
    let image = sample(0);
    let find = |path: &[u8]| resolve(&image, path, Follow::Nothing).unwrap();
    let (dir, inode) = (find(b"docs/deep"), find(b"docs/small"));
    let image = Lazy(image, dir, inode);
    let notes = Notes::default();
    let report = verify(&image, 2, &notes).unwrap();
    // Besides the two, the file that has one of its names in the directory is short of that.
    assert_eq!(report.problems, 3, "{:?}", notes.warnings());
    assert!(
        notes
            .warnings()
            .contains(&"docs/deep: corrupt image: bad directory".into())
    );
    assert!(
        notes
            .warnings()
            .contains(&"docs/small: corrupt image: bad inode".into())
    );

    let target = tempfile::tempdir().unwrap();
    let notes = Notes::default();
    let options = sinterfs_ops::ExtractOptions {
        owner: false,
        ..Default::default()
    };
    let report = sinterfs_ops::extract(&image, target.path(), &options, &notes).unwrap();
    let devices = if support::is_root() { 0 } else { 2 };
    assert_eq!(report.failed, 2 + devices, "{:?}", notes.warnings());
    assert!(target.path().join("docs/deep").is_dir() && target.path().join("zz-big").is_file());
    assert!(!target.path().join("docs/small").exists());
}
