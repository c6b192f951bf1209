//! Which paths are extracted, and what becomes of what is there already.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use sinterfs_model::{Kind, Quiet};
use sinterfs_ops::{ExtractOptions, Follow, Overwrite, extract, resolve};
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
