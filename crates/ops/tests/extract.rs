//! Extracts images from memory and compares what is on disk, field by field.

#![allow(clippy::unwrap_used, reason = "all of this is test code")]
#![allow(clippy::disallowed_methods, reason = "a test fails without threads")]

mod support;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use sinterfs_model::{FileType, Kind, Quiet, Rdev};
use sinterfs_ops::{ExtractOptions, Follow, Overwrite, extract, resolve};
use sinterfs_testkit::{Builder, Piece, meta, noise, sample, skip};
use support::{Notes, assert_all_same, assert_same, is_root, paths_on_disk};

fn target() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out");
    (dir, target)
}

fn some_paths(paths: &[&str]) -> ExtractOptions {
    ExtractOptions {
        paths: paths.iter().map(PathBuf::from).collect(),
        ..Default::default()
    }
}

fn relative(root: &Path) -> Vec<String> {
    paths_on_disk(root)
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}

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
fn paths_and_globs_select() {
    let image = sample(0);
    let globs = |globs: &[&str]| ExtractOptions {
        globs: globs.iter().map(ToString::to_string).collect(),
        ..Default::default()
    };
    let cases: [(ExtractOptions, &[&str]); 6] = [
        (some_paths(&["docs/small"]), &["docs", "docs/small"]),
        (
            some_paths(&["/docs/deep/set-gid/", "link"]),
            &["docs", "docs/deep", "docs/deep/set-gid", "link"],
        ),
        (
            globs(&["docs/sp*"]),
            &["docs", "docs/sparse", "docs/sparse-start"],
        ),
        (globs(&["*/mode-zero"]), &[]),
        (
            globs(&["**/mode-zero"]),
            &["docs", "docs/deep", "docs/deep/mode-zero"],
        ),
        (
            ExtractOptions {
                strip: 1,
                ..some_paths(&["docs/deep", "zz-big"])
            },
            &[
                "deep",
                "deep/another-big",
                "deep/mode-zero",
                "deep/set-gid",
                "deep/tool",
            ],
        ),
    ];
    for (options, expected) in cases {
        let (_guard, target) = target();
        let notes = Notes::default();
        let report = extract(&image, &target, &options, &notes).unwrap();
        assert_eq!(relative(&target), expected, "{options:?}");
        assert_eq!(report.failed, u64::from(expected.is_empty()), "{options:?}");
    }
    let bad = extract(&image, &target().1, &globs(&["a[b"]), &Quiet).unwrap_err();
    assert_eq!(bad.kind(), Kind::Invalid);
}

#[test]
fn a_target_with_something_in_it_is_refused_unless_told_otherwise() {
    let image = sample(0);
    let (_guard, target) = target();
    fs::create_dir(&target).unwrap();
    fs::write(target.join("mine"), "x").unwrap();
    let refused = extract(&image, &target, &ExtractOptions::default(), &Quiet).unwrap_err();
    assert_eq!(refused.kind(), Kind::Invalid);
    assert_eq!(relative(&target), ["mine"]);
    let file = extract(
        &image,
        &target.join("mine"),
        &ExtractOptions::default(),
        &Quiet,
    );
    assert!(
        file.unwrap_err()
            .to_string()
            .contains("can't open the target")
    );
}

#[test]
fn replacing_can_be_repeated_and_keeping_keeps() {
    if !is_root() {
        return skip("owners and devices need root");
    }
    let image = sample(3);
    let (_guard, target) = target();
    let replace = ExtractOptions {
        overwrite: Overwrite::Replace,
        ..Default::default()
    };
    let first = extract(&image, &target, &replace, &Quiet).unwrap();
    fs::write(target.join("docs/small"), "changed").unwrap();
    fs::remove_file(target.join("docs/big")).unwrap();
    fs::set_permissions(target.join("docs"), fs::Permissions::from_mode(0o000)).unwrap();
    let again = extract(&image, &target, &replace, &Quiet).unwrap();
    assert_eq!(first, again);
    assert_all_same(&image, &target);

    fs::write(target.join("docs/small"), "changed").unwrap();
    fs::remove_file(target.join("docs/big")).unwrap();
    let keep = ExtractOptions {
        overwrite: Overwrite::Keep,
        ..Default::default()
    };
    let report = extract(&image, &target, &keep, &Quiet).unwrap();
    assert_eq!(fs::read(target.join("docs/small")).unwrap(), b"changed");
    assert_eq!((report.files + report.links, report.failed), (1, 0));
    let big = resolve(&image, b"docs/big", Follow::Nothing).unwrap();
    assert!(fs::read(target.join("docs/big")).unwrap() == support::content(&image, big));
}

#[test]
fn further_names_of_a_kept_file_have_the_content_of_the_image() {
    let mut builder = Builder::new(meta(0o755, 0, 0), 1 << 16);
    let file = builder.file(
        Builder::ROOT,
        b"a",
        meta(0o644, 0, 0),
        &[Piece::Data(b"image".to_vec())],
    );
    for name in [b"b", b"c", b"d"] {
        builder.link(Builder::ROOT, name, file);
    }
    let image = builder.finish(0);
    for (threads, kept) in [(1, "a"), (4, "a"), (1, "c")] {
        let (_guard, target) = target();
        fs::create_dir(&target).unwrap();
        fs::write(target.join(kept), "theirs").unwrap();
        let keep = ExtractOptions {
            overwrite: Overwrite::Keep,
            owner: false,
            threads,
            ..Default::default()
        };
        let report = extract(&image, &target, &keep, &Quiet).unwrap();
        assert_eq!((report.kept, report.failed), (1, 0));
        assert_eq!((report.files, report.links), (1, 2));
        for name in ["a", "b", "c", "d"] {
            let expected = if name == kept { "theirs" } else { "image" };
            assert_eq!(fs::read_to_string(target.join(name)).unwrap(), expected);
            let links = fs::metadata(target.join(name)).unwrap().nlink();
            assert_eq!(links, if name == kept { 1 } else { 3 }, "{name}");
        }
    }
}

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

    let (_guard, target) = self::target();
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
fn hostile_names_stay_out() {
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let content = [Piece::Data(b"evil".to_vec())];
    let dir = b.dir(Builder::ROOT, b"dir", meta(0o755, 0, 0));
    for name in [
        &b".."[..],
        b".",
        b"",
        b"a/b",
        b"../up",
        b"/abs",
        b"nul\0",
        &[b'x'; 300],
    ] {
        b.file(dir, name, meta(0o644, 0, 0), &content);
    }
    let up = b.dir(dir, b"../updir", meta(0o755, 0, 0));
    b.file(up, b"inside", meta(0o644, 0, 0), &content);
    let up = b.dir(dir, b"..", meta(0o755, 0, 0));
    b.file(up, b"inside", meta(0o644, 0, 0), &content);
    b.file(dir, b"good", meta(0o644, 0, 0), &content);
    let image = b.finish(0);
    let (guard, target) = target();
    let notes = Notes::default();
    let report = extract(&image, &target, &ExtractOptions::default(), &notes).unwrap();
    assert_eq!(relative(guard.path()), ["out", "out/dir", "out/dir/good"]);
    assert_eq!(report.failed, 10, "{:?}", notes.warnings());
}

#[test]
fn symlinks_lead_no_write_out() {
    let (guard, target) = target();
    let outside = guard.path().join("outside");
    fs::create_dir_all(outside.join("deep")).unwrap();
    fs::write(outside.join("victim"), "old").unwrap();
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o701)).unwrap();

    // The image: a symlink and a directory of one name, so that a file is to go through it.
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let text = outside.as_os_str().as_encoded_bytes();
    b.symlink(Builder::ROOT, b"twice", meta(0o777, 0, 0), text);
    let twice = b.dir(Builder::ROOT, b"twice", meta(0o755, 0, 0));
    b.file(
        twice,
        b"victim",
        meta(0o644, 0, 0),
        &[Piece::Data(b"evil".to_vec())],
    );
    // The target: symlinks where directories and files are to be.
    let docs = b.dir(Builder::ROOT, b"docs", meta(0o755, 0, 0));
    b.file(
        docs,
        b"victim",
        meta(0o644, 0, 0),
        &[Piece::Data(b"evil".to_vec())],
    );
    b.file(
        Builder::ROOT,
        b"file",
        meta(0o644, 0, 0),
        &[Piece::Data(b"evil".to_vec())],
    );
    b.special(
        Builder::ROOT,
        b"fifo",
        meta(0o666, 0, 0),
        FileType::Fifo,
        Rdev::default(),
    );
    let image = b.finish(0);

    for overwrite in [Overwrite::Replace, Overwrite::Keep] {
        let _ = fs::remove_dir_all(&target);
        fs::create_dir(&target).unwrap();
        symlink(&outside, target.join("docs")).unwrap();
        symlink(outside.join("victim"), target.join("file")).unwrap();
        symlink(outside.join("new"), target.join("fifo")).unwrap();
        let options = ExtractOptions {
            overwrite,
            ..Default::default()
        };
        extract(&image, &target, &options, &Quiet).unwrap();
        assert_eq!(fs::read(outside.join("victim")).unwrap(), b"old");
        assert_eq!(relative(&outside), ["deep", "victim"]);
        let mode = fs::metadata(&outside).unwrap().mode() & 0o7777;
        assert_eq!(mode, 0o701, "{overwrite:?}");
        let replaced = !target.join("file").is_symlink();
        assert_eq!(replaced, overwrite == Overwrite::Replace);
        assert_eq!(
            target.join("docs").is_symlink(),
            overwrite == Overwrite::Keep
        );
    }
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

#[test]
fn attributes_are_restored() {
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let file = b.file(Builder::ROOT, b"f", meta(0o444, 3, 4), &[]);
    b.xattr(file, b"user.colour", b"blue\0green");
    b.xattr(file, b"nonsense", b"x");
    let image = b.finish(0);
    let (_guard, target) = target();
    let notes = Notes::default();
    let report = extract(&image, &target, &ExtractOptions::default(), &notes).unwrap();
    assert_eq!((report.failed, report.files), (0, 1));
    let mut value = [0; 64];
    match rustix::fs::getxattr(target.join("f"), "user.colour", &mut value) {
        Ok(len) => {
            assert_eq!(&value[..len], b"blue\0green");
            assert_eq!(report.imperfect, 1, "{:?}", notes.warnings());
        }
        Err(_) => skip("the file system of the temporary directory has no user attributes"),
    }
}

#[test]
fn stopping_leaves_no_partial_file() {
    let image = sample(0);
    let (_guard, target) = target();
    let notes = Notes::default();
    notes.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let stopped = extract(&image, &target, &ExtractOptions::default(), &notes).unwrap_err();
    assert_eq!(stopped.kind(), Kind::Cancelled);
    assert!(image.touched().is_empty());
}

/// A file system of one mebibyte in memory.
struct Tiny(tempfile::TempDir);

impl Tiny {
    fn new() -> rustix::io::Result<Self> {
        let dir = tempfile::tempdir().unwrap();
        let flags = rustix::mount::MountFlags::empty();
        rustix::mount::mount("tiny", dir.path(), "tmpfs", flags, c"size=1m")?;
        Ok(Self(dir))
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let flags = rustix::mount::UnmountFlags::DETACH;
        rustix::mount::unmount(self.0.path(), flags).unwrap();
    }
}

#[test]
fn a_full_disk_ends_the_work() {
    let Ok(tiny) = Tiny::new() else {
        return skip("a small file system needs root");
    };
    let mut b = Builder::new(meta(0o755, 0, 0), 1 << 20);
    let tall = [
        Piece::Data(noise(1, 20 << 20)),
        Piece::Data(noise(2, 20 << 20)),
    ];
    b.file(
        Builder::ROOT,
        b"small",
        meta(0o644, 0, 0),
        &[Piece::Data(vec![1; 9])],
    );
    b.file(Builder::ROOT, b"tall", meta(0o644, 0, 0), &tall);
    b.file(
        Builder::ROOT,
        b"wide",
        meta(0o644, 0, 0),
        &[Piece::Data(noise(3, 3 << 20))],
    );
    let image = b.finish(0);
    for threads in [1, 4] {
        let target = tiny.0.path().join(threads.to_string());
        let options = ExtractOptions {
            threads,
            ..Default::default()
        };
        let error = extract(&image, &target, &options, &Quiet).unwrap_err();
        assert!(error.to_string().contains("No space left"), "{error}");
        assert_eq!(relative(&target), ["small"]);
    }
}

#[test]
fn ordinary_users_get_what_they_can() {
    if !is_root() {
        return skip("to become an ordinary user needs root");
    }
    let image = sample(0);
    let (guard, target) = target();
    fs::set_permissions(guard.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let options = ExtractOptions {
        threads: 1,
        owner: false,
        ..Default::default()
    };
    let notes = Notes::default();
    let report = std::thread::scope(|scope| {
        let user = scope.spawn(|| {
            // Changes only this thread, and there is one thread only.
            let (uid, gid) = (
                rustix::fs::Uid::from_raw(65_534),
                rustix::fs::Gid::from_raw(65_534),
            );
            rustix::thread::set_thread_groups(&[]).unwrap();
            rustix::thread::set_thread_res_gid(gid, gid, gid).unwrap();
            rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
            extract(&image, &target, &options, &notes).unwrap()
        });
        user.join().unwrap()
    });
    assert_eq!(
        (report.failed, report.imperfect),
        (2, 0),
        "{:?}",
        notes.warnings()
    );
    assert!(
        notes
            .warnings()
            .iter()
            .all(|text| text.contains("special file"))
    );
    let stat = |path: &str| fs::symlink_metadata(target.join(path)).unwrap();
    assert_eq!(stat("docs/deep/tool").mode() & 0o7777, 0o755);
    assert_eq!(
        (stat("docs/deep/tool").uid(), stat("docs/deep/tool").mtime()),
        (65_534, 1_400_000_002)
    );
    assert_eq!(stat("docs/deep/set-gid").mode() & 0o7777, 0o775);
    assert_eq!(stat("docs/deep").mode() & 0o7777, 0o555);
    assert_eq!(stat("docs/deep/mode-zero").mode() & 0o7777, 0);
    let big = resolve(&image, b"docs/big", Follow::Nothing).unwrap();
    assert!(fs::read(target.join("zz-big")).unwrap() == support::content(&image, big));
}

#[test]
fn permissions_can_be_left_to_the_umask() {
    let image = sample(0);
    let (_guard, target) = target();
    let options = ExtractOptions {
        permissions: false,
        owner: false,
        times: false,
        ..Default::default()
    };
    extract(&image, &target, &options, &Quiet).unwrap();
    let probe = tempfile::tempdir().unwrap();
    fs::write(probe.path().join("f"), "").unwrap();
    fs::create_dir(probe.path().join("d")).unwrap();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().mode() & 0o7777;
    assert_eq!(
        mode(target.join("docs/deep/tool")),
        mode(probe.path().join("f"))
    );
    assert_eq!(mode(target.join("docs/deep")), mode(probe.path().join("d")));
    let age = fs::metadata(target.join("docs/small"))
        .unwrap()
        .modified()
        .unwrap()
        .elapsed();
    assert!(age.unwrap().as_secs() < 600);
}

#[test]
fn owners_and_permissions_are_right_whatever_the_directory_gives_new_files() {
    if !is_root() {
        return skip("owners need root");
    }
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let modes = [0, 0o444, 0o600, 0o640, 0o644, 0o664, 0o666, 0o755, 0o777];
    for (number, mode) in (0_u8..).zip(modes.into_iter().chain([0o1644, 0o2755, 0o4755])) {
        for (kind, owner) in [(b'a', (0, 0)), (b'b', (1234, 0)), (b'c', (0, 1234))] {
            let mut meta = meta(mode, 5, 6);
            (meta.uid, meta.gid) = owner;
            let data = [Piece::Data(vec![kind; 100])];
            b.file(Builder::ROOT, &[kind, b'a' + number], meta, &data);
            b.symlink(Builder::ROOT, &[b'l', kind, b'a' + number], meta, b"x");
        }
    }
    let image = b.finish(0);
    for threads in [1, 2] {
        let (guard, target) = target();
        // what is made in it gets this group and not ours
        std::os::unix::fs::chown(guard.path(), None, Some(4321)).unwrap();
        fs::set_permissions(guard.path(), fs::Permissions::from_mode(0o2777)).unwrap();
        fs::create_dir(&target).unwrap();
        assert_eq!(fs::metadata(&target).unwrap().gid(), 4321);
        let notes = Notes::default();
        let options = ExtractOptions {
            threads,
            ..Default::default()
        };
        let report = extract(&image, &target, &options, &notes).unwrap();
        assert_eq!(
            (report.failed, report.imperfect),
            (0, 0),
            "{:?}",
            notes.warnings()
        );
        assert_all_same(&image, &target);
    }
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
