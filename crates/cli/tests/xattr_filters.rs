//! Extended attributes chosen by their names: those that mksquashfs and unsquashfs choose.

#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::archives::{has, words_of};
use support::{is_root, scratch, sinter};

const NAMES: &[&str] = &[
    "user.one",
    "user.two",
    "user.selinux",
    "trusted.one",
    "security.selinux",
];

fn done(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        words_of(&output)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn make(work: &Path) {
    fs::create_dir_all(work.join("tree/dir")).unwrap();
    fs::write(work.join("tree/dir/file"), "x").unwrap();
    for name in NAMES {
        let mut set = Command::new("setfattr");
        done(
            set.current_dir(work)
                .args(["-n", name, "-v", "v", "tree/dir/file", "tree/dir"]),
        );
    }
}

/// The attributes of a directory and of the file in it.
fn attributes(dir: &Path) -> String {
    let mut get = Command::new("getfattr");
    done(
        get.current_dir(dir)
            .args(["-R", "-h", "-d", "-m", "-", "dir"]),
    )
}

/// Finds a tool of squashfs-tools 4.6 or newer, which knows these options.
fn newer(tool: &str) -> Option<PathBuf> {
    let dirs = std::env::var_os("SINTER_PEER_SQUASHFS")?;
    let tool = std::env::split_paths(&dirs)
        .map(|dir| dir.join(tool))
        .find(|tool| tool.is_file());
    if tool.is_none() {
        eprintln!("NOT RUN: no squashfs-tools 4.6 (SINTER_PEER_SQUASHFS)");
    }
    tool
}

/// What is asked, and which of `NAMES` stay.
const CASES: &[(&[&str], &[usize])] = &[
    (&[], &[0, 1, 2, 3, 4]),
    (&["-xattrs-include", "^user\\."], &[0, 1, 2]),
    (&["-xattrs-exclude", "one"], &[1, 2, 4]),
    (
        &["-xattrs-exclude", "^(user|trusted)\\.(one|two)$"],
        &[2, 4],
    ),
    (
        &["-xattrs-include", "selinux", "-xattrs-exclude", "^sec"],
        &[2],
    ),
    (&["-no-xattrs"], &[]),
];

/// The same options of ours.
fn ours(options: &[&str]) -> Vec<String> {
    let long = |option: &&str| {
        if option.starts_with("-x") || option.starts_with("-n") {
            format!("-{option}")
        } else {
            (*option).to_owned()
        }
    };
    options.iter().map(long).collect()
}

#[test]
fn builds_keep_selected_xattrs() {
    if !is_root() || !has("setfattr") {
        return;
    }
    let (work, mksquashfs) = (scratch(), newer("mksquashfs"));
    let work = work.path();
    make(work);
    for (number, (options, stay)) in CASES.iter().enumerate() {
        let mut expected = None;
        if let Some(mksquashfs) = &mksquashfs {
            let mut theirs = Command::new(mksquashfs);
            theirs
                .current_dir(work)
                .args(["tree", "theirs.sqfs", "-noappend", "-quiet"]);
            done(theirs.args(*options));
            done(
                sinter()
                    .current_dir(work)
                    .args(["extract", "-q", "theirs.sqfs", "-o"])
                    .arg(format!("theirs{number}")),
            );
            expected = Some(attributes(&work.join(format!("theirs{number}"))));
        }
        for format in ["dwarfs", "squashfs", "erofs"] {
            let (image, out) = (format!("{number}.{format}"), format!("{number}-{format}"));
            let mut build = sinter();
            build
                .current_dir(work)
                .args(["build", "-q", "-l1", "tree", "-o", &image, "-f", format]);
            done(build.args(ours(options)));
            done(
                sinter()
                    .current_dir(work)
                    .args(["extract", "-q", &image, "-o", &out]),
            );
            let found = attributes(&work.join(&out));
            for (index, name) in NAMES.iter().enumerate() {
                let times = found.matches(&format!("{name}=")).count();
                assert_eq!(
                    times,
                    if stay.contains(&index) { 2 } else { 0 },
                    "{options:?} {format}: {found}"
                );
            }
            if let Some(expected) = &expected {
                assert_eq!(found, *expected, "{options:?} {format}");
            }
        }
    }
}

#[test]
fn extraction_restores_selected_xattrs() {
    if !is_root() || !has("setfattr") {
        return;
    }
    let (work, unsquashfs) = (scratch(), newer("unsquashfs"));
    let work = work.path();
    make(work);
    done(
        sinter()
            .current_dir(work)
            .args(["build", "-q", "-l1", "tree", "-o", "i.sqfs"]),
    );
    for (number, (options, stay)) in CASES.iter().enumerate() {
        let out = format!("ours{number}");
        let mut extract = sinter();
        extract
            .current_dir(work)
            .args(["extract", "-q", "i.sqfs", "-o", &out]);
        done(extract.args(ours(options)));
        let found = attributes(&work.join(&out));
        assert_eq!(
            found.matches('=').count(),
            2 * stay.len(),
            "{options:?}: {found}"
        );
        if let Some(unsquashfs) = &unsquashfs {
            let theirs = format!("theirs{number}");
            let mut command = Command::new(unsquashfs);
            command.current_dir(work).args(["-q", "-n", "-d", &theirs]);
            done(command.args(*options).arg("i.sqfs"));
            assert_eq!(found, attributes(&work.join(theirs)), "{options:?}");
        }
        let mut tar = sinter();
        tar.current_dir(work)
            .args(["extract", "-q", "i.sqfs", "--tar"]);
        let tar = done(tar.args(ours(options)));
        for (index, name) in NAMES.iter().enumerate() {
            let is_there = tar.contains(&format!("SCHILY.xattr.{name}="));
            assert_eq!(is_there, stay.contains(&index), "{options:?} {name}");
        }
    }
}

#[test]
fn wrong_expressions_are_refused() {
    let work = scratch();
    let work = work.path();
    fs::create_dir(work.join("tree")).unwrap();
    for option in ["--xattrs-include", "--xattrs-exclude"] {
        let mut build = sinter();
        build
            .current_dir(work)
            .args(["build", "tree", "-o", "x.dwarfs", option, "("]);
        let output = build.output().unwrap();
        assert!(!output.status.success());
        assert!(
            words_of(&output).contains("not a regular expression"),
            "{}",
            words_of(&output)
        );
        let mut build = sinter();
        build.current_dir(work).args([
            "build",
            "tree",
            "-o",
            "x.dwarfs",
            option,
            "a",
            "--no-xattrs",
        ]);
        assert!(!build.output().unwrap().status.success());
    }
}

#[test]
fn other_names_take_these_options() {
    if !is_root() || !has("setfattr") {
        return;
    }
    let work = scratch();
    let work = work.path();
    make(work);
    let called = |name: &str, args: &[&str]| {
        let link = work.join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sinter"), &link).unwrap();
        }
        done(Command::new(link).current_dir(work).args(args))
    };
    called(
        "mksquashfs",
        &["tree", "i.sqfs", "-xattrs-exclude", "trusted"],
    );
    called(
        "unsquashfs",
        &["-q", "-n", "-xattrs-include", "one", "-d", "one", "i.sqfs"],
    );
    called(
        "unsquashfs",
        &["-q", "-n", "-no-xattrs", "-d", "none", "i.sqfs"],
    );
    let found = attributes(&work.join("one"));
    assert_eq!(found.matches("user.one=").count(), 2, "{found}");
    assert_eq!(found.matches('=').count(), 2, "{found}");
    assert!(!attributes(&work.join("none")).contains('='));
    assert!(called("sqfs2tar", &["i.sqfs"]).contains("SCHILY.xattr.user.two="));
    assert!(!called("sqfs2tar", &["-X", "i.sqfs"]).contains("SCHILY.xattr"));
}
