//! Which paths are extracted, and what becomes of what is there already.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use sinterfs_model::{Kind, Quiet};
use sinterfs_ops::{
    Archive, ArchiveFormat, ArchiveOptions, ExtractOptions, Follow, Overwrite, extract, resolve,
};
use sinterfs_testkit::{Builder, Piece, meta, sample, skip};

use crate::support::{self, Notes, assert_all_same, is_root};
use crate::{relative, some_paths, target};

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
    let without = |exclude: &[&str], max_depth| ExtractOptions {
        exclude: exclude.iter().map(ToString::to_string).collect(),
        max_depth,
        ..some_paths(&["docs/deep", "link"])
    };
    let cases: [(ExtractOptions, &[&str]); 4] = [
        (
            without(&["mode-*", "docs/*/set-gid"], None),
            &[
                "docs",
                "docs/deep",
                "docs/deep/another-big",
                "docs/deep/tool",
                "link",
            ],
        ),
        (without(&["deep", "set-gid/x"], None), &["link"]),
        (without(&[], Some(2)), &["docs", "docs/deep", "link"]),
        (without(&["link"], Some(2)), &["docs", "docs/deep"]),
    ];
    for (options, expected) in cases {
        let (_guard, target) = target();
        let report = extract(&image, &target, &options, &Quiet).unwrap();
        assert_eq!(relative(&target), expected, "{options:?}");
        assert_eq!(report.failed, 0, "{options:?}");
    }
    let bad = extract(&image, &target().1, &without(&["a/[b"], None), &Quiet).unwrap_err();
    assert_eq!(bad.kind(), Kind::Invalid);
    let bad = extract(&image, &target().1, &globs(&["a[b"]), &Quiet).unwrap_err();
    assert_eq!(bad.kind(), Kind::Invalid);
}

#[test]
fn refuses_a_target_that_is_not_empty_without_force() {
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

/// Two directories, both of which lose their names: of each pair of entries in them one has the
/// name of the other.
fn pairs() -> sinterfs_testkit::MemImage {
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let plain = meta(0o644, 0, 0);
    let [a, z] = [b"a", b"z"].map(|name| b.dir(Builder::ROOT, name, meta(0o755, 0, 0)));
    let text = |text: &str| [Piece::Data(text.into())];
    let shared = b.file(a, b"both", plain, &text("one file"));
    b.link(z, b"both", shared);
    for (dir, content) in [(a, "first"), (z, "second")] {
        b.file(dir, b"file", plain, &text(content));
        b.symlink(dir, b"link", meta(0o777, 0, 0), content.as_bytes());
    }
    // a directory and a file, either way, and directories with equal and other permissions
    let dir = b.dir(a, b"dir-file", meta(0o755, 0, 0));
    b.file(dir, b"inside", plain, &text("inside"));
    b.file(z, b"dir-file", plain, &text("lost"));
    b.file(a, b"file-dir", plain, &text("file"));
    let dir = b.dir(z, b"file-dir", meta(0o755, 0, 0));
    b.file(dir, b"lost", plain, &text("lost"));
    for (name, mode) in [(&b"same"[..], 0o755), (b"other", 0o700)] {
        let dirs = [
            b.dir(a, name, meta(0o755, 0, 0)),
            b.dir(z, name, meta(mode, 0, 0)),
        ];
        b.file(dirs[0], b"one", plain, &text("1"));
        b.file(dirs[1], b"two", plain, &text("2"));
        b.file(dirs[0], b"file", plain, &text("first"));
        b.file(dirs[1], b"file", plain, &text("second"));
    }
    b.finish(0)
}

const REPORTED: [&str; 7] = [
    "z/dir-file",
    "z/file",
    "z/file-dir",
    "z/link",
    "z/other",
    "z/other/file",
    "z/same/file",
];

#[test]
fn entries_that_get_one_name_are_reported_whatever_is_replaced() {
    let image = pairs();
    for overwrite in [Overwrite::Refuse, Overwrite::Replace, Overwrite::Keep] {
        let (_guard, target) = target();
        let notes = Notes::default();
        let options = ExtractOptions {
            strip: 1,
            overwrite,
            owner: false,
            report_owner: false,
            ..Default::default()
        };
        let report = extract(&image, &target, &options, &notes).unwrap();
        let warnings = notes.warnings();
        let names = warnings.iter().map(|text| text.split(':').next().unwrap());
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        assert_eq!(names, REPORTED, "{overwrite:?}");
        assert_eq!((report.failed, report.kept), (7, 0), "{overwrite:?}");
        let read = |name: &str| fs::read_to_string(target.join(name)).unwrap();
        assert_eq!(
            (read("file"), read("file-dir")),
            ("first".into(), "file".into())
        );
        assert_eq!(
            (read("both"), read("dir-file/inside")),
            ("one file".into(), "inside".into())
        );
        for dir in ["same", "other"] {
            assert_eq!(relative(&target.join(dir)), ["file", "one", "two"]);
            assert_eq!(read(&format!("{dir}/file")), "first");
        }
        assert_eq!(
            fs::read_link(target.join("link")).unwrap().to_str(),
            Some("first")
        );
    }
}

#[test]
fn entries_of_an_archive_that_get_one_name_are_reported() {
    let image = pairs();
    for format in [
        ArchiveFormat::Tar,
        ArchiveFormat::Cpio,
        ArchiveFormat::Mtree,
    ] {
        let notes = Notes::default();
        let options = ArchiveOptions {
            strip: 1,
            ..ArchiveOptions::of(format)
        };
        let archive = Archive::plan(&image, &options, &notes).unwrap();
        let report = archive.write(&mut Vec::new()).unwrap();
        assert_eq!(
            (report.failed, notes.warnings().len()),
            (7, 7),
            "{format:?}"
        );
    }
}

#[test]
fn existing_directories_are_kept_and_unfinished_ones_completed() {
    let mut b = Builder::new(meta(0o711, 0, 0), 4096);
    for name in [&b"mine"[..], b"unfinished", b"new"] {
        let dir = b.dir(Builder::ROOT, name, meta(0o755, 0, 0));
        b.xattr(dir, b"user.of", b"image");
        b.file(dir, b"f", meta(0o644, 0, 0), &[Piece::Data(b"f".to_vec())]);
    }
    let image = b.finish(0);
    let (_guard, target) = target();
    let mode = |name: &str| fs::metadata(target.join(name)).unwrap().mode() & 0o7777;
    let permit = |name: &str, mode| {
        fs::set_permissions(target.join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    fs::create_dir_all(target.join("mine")).unwrap();
    fs::create_dir(target.join("unfinished")).unwrap();
    for (name, mode) in [("", 0o750), ("mine", 0o700), ("unfinished", 0o1700)] {
        permit(name, mode);
    }
    let keep = ExtractOptions {
        overwrite: Overwrite::Keep,
        owner: false,
        ..Default::default()
    };
    let report = extract(&image, &target, &keep, &Quiet).unwrap();
    assert_eq!((report.files, report.failed), (3, 0));
    let modes = ["", "mine", "unfinished", "new"].map(mode);
    assert_eq!(modes, [0o750, 0o700, 0o755, 0o755]);
    let mut value = [0; 16];
    assert!(rustix::fs::getxattr(target.join("mine"), "user.of", &mut value).is_err());
    // a target that a killed extraction made
    permit("", 0o1700);
    extract(&image, &target, &keep, &Quiet).unwrap();
    assert_eq!(mode(""), 0o711);
}

#[test]
fn leftovers_of_killed_extractions_are_removed_and_nothing_else() {
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let content = [Piece::Data(b"image".to_vec())];
    let dir = b.dir(Builder::ROOT, b"d", meta(0o755, 0, 0));
    b.file(dir, b"f", meta(0o644, 0, 0), &content);
    b.file(dir, b".sinter-4194303-7", meta(0o644, 0, 0), &content);
    let image = b.finish(0);
    let (_guard, target) = target();
    let own = format!(".sinter-{}-999999", std::process::id());
    // processes have smaller numbers; this one runs
    let dead = [
        "d/.sinter-4194304-0",
        ".sinter-4194305-1",
        "d/.sinter-4194304-8.d",
        ".sinter-4194305-9.d",
    ];
    let dead_dirs = &dead[2..];
    let others = [
        "d/.sinter-1-1",
        "d/.sinter-4194304-0.txt",
        "d/.sinter-4194304-0.d.txt",
        // no directory
        "d/.sinter-4194304-10.d",
        "d/.sinter-4194304",
        "d/.sinter-x-1",
        "e/.sinter-4194304-0",
    ];
    for overwrite in [Overwrite::Replace, Overwrite::Keep] {
        let _ = fs::remove_dir_all(&target);
        fs::create_dir_all(target.join("d/.sinter-4194304-3")).unwrap();
        fs::create_dir(target.join("e")).unwrap();
        for name in dead_dirs {
            let below = target.join(name).join("below/deeper");
            fs::create_dir_all(&below).unwrap();
            fs::write(below.join("half"), "x").unwrap();
            std::os::unix::fs::symlink("/", below.join("link")).unwrap();
            let closed = fs::Permissions::from_mode(0o000);
            fs::set_permissions(below.parent().unwrap(), closed).unwrap();
        }
        for name in dead[..2].iter().chain(&others) {
            fs::write(target.join(name), "x").unwrap();
        }
        let options = ExtractOptions {
            overwrite,
            owner: false,
            ..Default::default()
        };
        let lock = fs::File::open(&target).unwrap();
        lock.lock_shared().unwrap();
        extract(&image, &target, &options, &Quiet).unwrap();
        assert!(
            dead.iter().all(|name| target.join(name).exists()),
            "another one is running"
        );
        drop(lock);
        extract(&image, &target, &options, &Quiet).unwrap();
        assert!(
            dead.iter().all(|name| !target.join(name).exists()),
            "{overwrite:?}"
        );
        assert!(
            others.iter().all(|name| target.join(name).exists()),
            "{overwrite:?}"
        );
        assert!(target.join("d/.sinter-4194304-3").is_dir());
        assert!(
            target.join("d/.sinter-4194303-7").exists(),
            "the image has it"
        );
        assert!(!target.join(&own).exists());
    }
    // a target that holds nothing else counts as empty
    fs::remove_dir_all(&target).unwrap();
    fs::create_dir(&target).unwrap();
    fs::write(target.join(dead[1]), "x").unwrap();
    extract(&image, &target, &ExtractOptions::default(), &Quiet).unwrap();
    assert!(!target.join(dead[1]).exists());
}

#[test]
fn twenty_thousand_levels_take_no_longer_than_twenty_thousand_directories() {
    const LEVELS: usize = 20_000;
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let mut dir = Builder::ROOT;
    for _ in 0..LEVELS {
        dir = b.dir(dir, b"d", meta(0o750, 5, 6));
    }
    b.file(
        dir,
        b"f",
        meta(0o644, 0, 0),
        &[Piece::Data(b"deep".to_vec())],
    );
    let image = b.finish(0);
    let (guard, target) = target();
    let begun = std::time::Instant::now();
    let report = extract(&image, &target, &ExtractOptions::default(), &Quiet).unwrap();
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    assert_eq!((report.failed, report.directories), (0, LEVELS as u64));
    // no path leads so far
    let mut at = sinterfs_platform::Directory::open(&target, sinterfs_platform::OpenFor::Walk);
    for _ in 0..LEVELS {
        let next = at
            .unwrap()
            .child(b"d", sinterfs_platform::OpenFor::Walk)
            .unwrap();
        let found = sinterfs_platform::Directory::status_of(next.as_file()).unwrap();
        assert_eq!(found.meta.mode, 0o750);
        at = Ok(next);
    }
    assert_eq!(at.unwrap().status(b"f").unwrap().size, 4);
    let removed = std::process::Command::new("rm")
        .arg("-rf")
        .arg(guard.path())
        .status();
    assert!(removed.unwrap().success());
}
