//! Files by definition: the image of a tree with them is the one that mksquashfs makes, for every
//! source and format.

#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::archives::has;
use support::{build, scratch, sinter};

/// What every version of mksquashfs since 4.5 takes.
const OLD: &[&str] = &[
    "new/below c 600 1 2 3 4",
    "new d 2750 7 8",
    "/disk b 660 0 6 259 70000",
    "old m 4711 1 1",
    "pipe i 622 0 0 f",
    "socket i 700 0 0 s",
    "link s 777 5 5 to a file",
    "\"two words\" d 755 0 0",
    "at D 1000000000 700 0 0",
    "old2 M 1000000001 640 9 9",
];

/// What newer ones take, too.
const NEW: &[&str] = &[
    "old x user.text=some text",
    "new x user.more=1",
    "dir/host l outside",
    "symlink l leads",
    "followed h leads",
    "dir m 711 3 3",
    "old2 x user.octal=0t\\101\\012",
    "old2 x user.hex=0x0041ff",
    "old2 x user.base=0sSGVsbG8=",
    "S S @77 777 0 0 x",
    "C C 78 600 0 0 1 3",
    "B B 78 600 0 0 1 3",
    "I I 79 600 0 0 f",
];

fn make(work: &Path) {
    fs::create_dir_all(work.join("tree/dir")).unwrap();
    for (name, text) in [("old", "1"), ("old2", "22"), ("dir/in", "333")] {
        fs::write(work.join("tree").join(name), text).unwrap();
    }
    fs::write(work.join("outside"), "content of the system").unwrap();
    let mode = fs::Permissions::from_mode(0o4751);
    fs::set_permissions(work.join("outside"), mode).unwrap();
    std::os::unix::fs::symlink("outside", work.join("leads")).unwrap();
    // times that every format has
    let mut touch = Command::new("find");
    touch.current_dir(work).args([
        ".",
        "-depth",
        "-exec",
        "touch",
        "-h",
        "-d",
        "2021-01-02",
        "{}",
        "+",
    ]);
    told(&mut touch);
}

/// Makes an image of a source with definitions.
fn packed(work: &Path, source: &str, image: &str, definitions: &[&str]) -> Output {
    let mut build = sinter();
    build
        .current_dir(work)
        .args(["build", source, "-q", "-l1", "--force"]);
    build.args(["-o", image]);
    for definition in definitions {
        build.args(["--pseudo", definition]);
    }
    build.output().unwrap()
}

fn told(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What unsquashfs lists of an image, a line a file, and the attributes.
fn facts(work: &Path, image: &str) -> Vec<String> {
    let mut list = Command::new("unsquashfs");
    let list = told(list.current_dir(work).args(["-UTC", "-lln", image]));
    let fact = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        // mksquashfs gives what it makes the time of the day
        let is_young = |word: &&str| word.starts_with("202") && word.len() == 10;
        match words.iter().position(is_young) {
            Some(at) => [&words[..at], &words[at + 2..]].concat().join(" "),
            None => words.join(" "),
        }
    };
    let files = list.lines().filter(|line| line.contains("squashfs-root"));
    let mut facts: Vec<String> = files.map(fact).collect();
    facts.sort_unstable();
    facts.extend(attributes(work, image));
    facts
}

/// Returns an image with sockets as a tar, which leaves them out and names them.
fn tar_of(work: &Path, image: &str) -> Vec<u8> {
    let mut archive = sinter();
    let archive = archive.current_dir(work).args(["extract", image, "--tar"]);
    let output = archive.output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{image}: {words}");
    assert!(words.contains(": not kept by tar: sockets"), "{words}");
    output.stdout
}

/// The extended attributes of an image's files, as an archive has them.
fn attributes(work: &Path, image: &str) -> Vec<String> {
    let tar = tar_of(work, image);
    let tar = String::from_utf8_lossy(&tar);
    let records = tar.split("SCHILY.xattr.").skip(1);
    let mut records: Vec<_> = records.filter_map(|text| text.lines().next()).collect();
    records.sort_unstable();
    records.into_iter().map(str::to_owned).collect()
}

fn compare(work: &Path, mksquashfs: &Path, definitions: &[&str], more: &[&str]) {
    make(work);
    let output = packed(work, "tree", "ours.sqfs", definitions);
    assert!(output.status.success(), "{output:?}");
    let mut theirs = Command::new(mksquashfs);
    theirs
        .current_dir(work)
        .args(["tree", "theirs.sqfs", "-noappend", "-quiet", "-xattrs"]);
    for definition in definitions {
        theirs.args(["-p", definition]);
    }
    told(&mut theirs);
    let (ours, theirs) = (facts(work, "ours.sqfs"), facts(work, "theirs.sqfs"));
    assert!(ours.len() > definitions.len() / 2, "{ours:?}");
    assert_eq!(ours, theirs, "{}", mksquashfs.display());
    for part in more {
        assert!(ours.iter().any(|fact| fact.contains(part)), "{ours:?}");
    }
}

#[test]
fn images_are_those_of_mksquashfs() {
    let dir = scratch();
    if has("mksquashfs") && has("unsquashfs") {
        compare(dir.path(), Path::new("mksquashfs"), OLD, &["2001-09-09"]);
    }
}

#[test]
fn images_are_those_of_newer_mksquashfs() {
    let dir = scratch();
    let Some(peer) = std::env::var_os("SINTER_PEER_SQUASHFS") else {
        // CI has Debian's alone, which the test above compares with
        eprintln!(
            "NOT RUN: SINTER_PEER_SQUASHFS does not name a directory with squashfs-tools 4.7"
        );
        return;
    };
    if has("unsquashfs") {
        compare(
            dir.path(),
            &PathBuf::from(peer).join("mksquashfs"),
            &[OLD, NEW].concat(),
            &["2001-09-09", "user.text=some text"],
        );
    }
}

#[test]
fn every_source_and_format_has_the_same_files() {
    let dir = scratch();
    let work = dir.path();
    make(work);
    let tar = Command::new("tar")
        .current_dir(work)
        .args(["-C", "tree", "-cf", "t.tar", "."])
        .status();
    assert!(tar.unwrap().success());
    build(
        "dwarfs",
        &work.join("tree"),
        &work.join("t.dwarfs"),
        &["-l1"],
    );
    fs::create_dir(work.join("empty")).unwrap();
    let all = [OLD, NEW, &["old3 L old2", "host2 L dir/host"]].concat();
    let mut expected = None;
    for (source, format) in [
        ("tree", "dwarfs"),
        ("tree", "squashfs"),
        ("tree", "erofs"),
        ("t.tar", "squashfs"),
        ("t.dwarfs", "squashfs"),
    ] {
        let image = format!("out.{format}");
        let output = packed(work, source, &image, &all);
        assert!(output.status.success(), "{source} {format}: {output:?}");
        let tar = tar_of(work, &image);
        let host = told(sinter().current_dir(work).args(["cat", &image, "host2"]));
        assert_eq!(host, "content of the system");
        match &expected {
            None => expected = Some(tar),
            Some(expected) => assert!(*expected == tar, "{source} {format}"),
        }
    }
}

#[test]
fn refuses_invalid_definitions() {
    let dir = scratch();
    let work = dir.path();
    make(work);
    for (wrong, why) in [
        (&["old d 755 0 0"][..], "it exists already"),
        (&["none m 755 0 0"], "no such file"),
        (&["none/x d 755 0 0"], "define it, too"),
        (&["old/x d 755 0 0"], "not a directory"),
        (&["x d 755 0 0", "x d 755 0 0"], "it exists already"),
        (&["x f 755 0 0 touch ran"], "commands are not run"),
        (&["x l dir-that-is-not"], "cannot inspect"),
        (&["x l tree"], "a directory cannot be added"),
        (&["x L dir"], "second name"),
        (&["old x user.a=1", "old x user.a=2"], "twice"),
    ] {
        let output = packed(work, "tree", "no.sqfs", wrong);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && words.contains(why),
            "{wrong:?}: {words}"
        );
        assert!(!work.join("no.sqfs").exists());
    }
    assert!(!work.join("ran").exists());
    // an excluded name may be made anew, and a file holds definitions
    fs::write(
        work.join("defs"),
        "# a device in place of a file\nold c 600 0 0 \\\n 1 3\n",
    )
    .unwrap();
    let mut build = sinter();
    build
        .current_dir(work)
        .args(["build", "tree", "-q", "-o", "t.dwarfs", "--exclude=/old"]);
    told(build.args(["--pseudo-file", "defs"]));
    let list = told(sinter().current_dir(work).args(["ls", "-l", "t.dwarfs"]));
    assert!(
        list.lines()
            .any(|line| line.starts_with("crw-------") && line.ends_with("old")),
        "{list}"
    );
}

#[test]
fn merges_layers_and_composefs_have_definitions_too() {
    let dir = scratch();
    let work = dir.path();
    make(work);
    fs::create_dir_all(work.join("other/dir")).unwrap();
    fs::write(work.join("other/dir/more"), "4444").unwrap();
    let definitions = [
        "dir/made d 750 1 2",
        "dir/made/c c 600 0 0 1 3",
        "old m 600 7 8",
        "dir/taken l outside",
    ];
    let definitions = definitions.iter().flat_map(|text| ["--pseudo", *text]);
    let definitions: Vec<_> = definitions.collect();
    let list = |image: &str| told(sinter().current_dir(work).args(["ls", "-lR", image]));
    for (verb, sources, more, image) in [
        (
            "merge",
            &["tree", "other"][..],
            &["--overlay"][..],
            "m.dwarfs",
        ),
        ("build", &["tree", "other"], &[], "l.dwarfs"),
        (
            "build",
            &["tree", "other"],
            &["--digest-store", "store"],
            "l.cfs",
        ),
        ("build", &["tree"], &["--digest-store", "store"], "t.cfs"),
    ] {
        let mut command = sinter();
        command
            .current_dir(work)
            .args([verb, "-q", "-o", image])
            .args(sources);
        told(command.args(more).args(&definitions));
        let listed = list(image);
        let has = |start: &str, end: &str| {
            let mut lines = listed.lines();
            lines.any(|line| line.starts_with(start) && line.ends_with(end))
        };
        assert!(has("drwxr-x---", "dir/made"), "{image}: {listed}");
        assert!(has("crw-------", "dir/made/c"), "{image}: {listed}");
        assert!(has("-rw-------", "old"), "{image}: {listed}");
        assert!(has("-rws", "dir/taken"), "{image}: {listed}");
        assert_eq!(
            has("-", "dir/more"),
            !image.starts_with('t'),
            "{image}: {listed}"
        );
        let mut cat = sinter();
        cat.current_dir(work).args(["cat", image, "dir/taken"]);
        if image.ends_with("cfs") {
            cat.args(["--objects", "store"]);
        }
        assert_eq!(told(&mut cat), "content of the system", "{image}");
    }
}
