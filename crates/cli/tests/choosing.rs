//! Rules about what is left out: every source obeys them as rsync does; and what becomes of owners.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::archives::has;
use support::{run, scratch, sinter};

/// Makes directories and files of names.
fn make(root: &Path) {
    for name in [
        "a.o",
        "keep/a.o",
        "keep/b.c",
        "keep/deep/c.o",
        "deep/keep/d.o",
        "tmp/x",
        "x/tmp",
        "x/y/z.c",
    ] {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }
    fs::hard_link(root.join("a.o"), root.join("x/linked")).unwrap();
    std::os::unix::fs::symlink("a.o", root.join("x/symlink.o")).unwrap();
}

/// Lists the names below a directory.
fn names(root: &Path) -> Vec<String> {
    let find = Command::new("find")
        .arg(".")
        .current_dir(root)
        .output()
        .unwrap();
    let mut names: Vec<_> = String::from_utf8(find.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    names.sort_unstable();
    names
}

/// Makes an image of a source and extracts it.
fn built(work: &Path, command: &str, source: &str, flags: &[&str]) -> Vec<String> {
    let image = work.join("out.dwarfs");
    let to = work.join("out");
    let _ = fs::remove_dir_all(&to);
    let mut build = sinter();
    build
        .current_dir(work)
        .args([command, source, "-q", "--force", "-o"]);
    let output = build.arg(&image).args(flags).output().unwrap();
    assert!(output.status.success(), "{source} {flags:?}: {output:?}");
    run([
        "extract".as_ref(),
        "-q".as_ref(),
        "-o".as_ref(),
        to.as_os_str(),
        image.as_os_str(),
    ]);
    names(&to)
}

/// Makes the sources of one tree: a directory, an archive, images of three formats, and layers.
fn sources(work: &Path) -> [&'static str; 6] {
    make(&work.join("tree"));
    fs::create_dir_all(work.join("empty")).unwrap();
    let tar = Command::new("tar")
        .current_dir(work)
        .args(["-C", "tree", "-cf", "t.tar", "."])
        .status();
    assert!(tar.unwrap().success());
    for format in ["dwarfs", "squashfs", "erofs"] {
        support::build(
            format,
            &work.join("tree"),
            &work.join(format!("t.{format}")),
            &["-l1"],
        );
    }
    [
        "tree",
        "t.tar",
        "t.dwarfs",
        "t.squashfs",
        "t.erofs",
        "empty",
    ]
}

#[test]
fn nothing_is_taken_of_an_empty_list_and_nothing_is_lost_behind_a_symlink() {
    let dir = scratch();
    let work = dir.path();
    make(&work.join("tree"));
    std::os::unix::fs::symlink("keep", work.join("tree/link")).unwrap();
    fs::write(work.join("none"), "\n").unwrap();
    fs::write(work.join("some"), "./link\nkeep/a.o\n").unwrap();
    assert_eq!(built(work, "build", "tree", &["--files-from=none"]), ["."]);
    let some = built(work, "build", "tree", &["--files-from=some"]);
    assert_eq!(some, [".", "./keep", "./keep/a.o", "./link"]);
    for path in ["link/a.o", "link/none"] {
        let mut build = sinter();
        let build = build.current_dir(work).args(["build", "tree", "-o", "x"]);
        let output = build.args(["--only", path]).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && told.contains(path), "{told}");
        assert_eq!(told.contains("through a symlink"), path == "link/a.o");
    }
}

#[test]
fn every_source_obeys_rules_as_rsync_does() {
    let dir = scratch();
    let work = dir.path();
    let sources = sources(work);
    fs::write(work.join("rules"), "# first\n+ /keep/a.o\n*.o\n").unwrap();
    let sets: [&[&str]; 8] = [
        &["--exclude=*.o"],
        &["--include=/keep/*.o", "--exclude=*.o"],
        &["--exclude=*.o", "--include=/keep/*.o"],
        &["--include=*/", "--include=*.c", "--exclude=*"],
        &["--include=/x/", "--include=/x/**", "--exclude=*"],
        &["--exclude=tmp/"],
        &["--exclude=/deep", "--include=deep"],
        &["--exclude-from=rules", "--include=tmp", "--exclude=/x/*"],
    ];
    let has_rsync = has("rsync");
    let mut seen = Vec::new();
    for set in sets {
        let expected = built(work, "build", "tree", set);
        for source in &sources[1..5] {
            assert_eq!(
                built(work, "build", source, set),
                expected,
                "{source} {set:?}"
            );
        }
        assert_eq!(
            built(work, "convert", "t.squashfs", set),
            expected,
            "{set:?}"
        );
        let layers: Vec<&str> = set.iter().copied().chain(["tree"]).collect();
        assert_eq!(built(work, "build", "empty", &layers), expected, "{set:?}");
        if has_rsync {
            let to = work.join("rsync");
            let _ = fs::remove_dir_all(&to);
            let mut rsync = Command::new("rsync");
            rsync.current_dir(work).arg("-a").args(set);
            let status = rsync.args(["tree/", "rsync/"]).status().unwrap();
            assert!(status.success());
            assert_eq!(names(&to), expected, "{set:?}");
        }
        seen.push(expected);
    }
    assert_eq!(seen[1], {
        let mut more = seen[0].clone();
        more.push("./keep/a.o".into());
        more.sort_unstable();
        more
    });
    assert_eq!(seen[2], seen[0]);
}

#[test]
fn rules_of_a_merge_are_about_the_whole() {
    let dir = scratch();
    let work = dir.path();
    sources(work);
    let whole = built(
        work,
        "merge",
        "tree",
        &["t.dwarfs", "t.tar", "--overlay", "--exclude=/keep"],
    );
    assert!(
        !whole.iter().any(|name| name.starts_with("./keep")),
        "{whole:?}"
    );
    let below = built(
        work,
        "merge",
        "tree",
        &["--exclude=/keep", "--exclude=/tree/x/*.o"],
    );
    assert!(below.contains(&"./tree/keep/a.o".to_owned()), "{below:?}");
    assert!(
        !below.contains(&"./tree/x/symlink.o".to_owned()),
        "{below:?}"
    );
}

#[test]
fn one_file_system_is_for_directories() {
    let dir = scratch();
    let work = dir.path();
    for source in &sources(work)[1..3] {
        let mut build = sinter();
        build
            .current_dir(work)
            .args(["build", source, "-x", "-o", "none.dwarfs"]);
        let output = build.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(words.contains("is for directories"), "{words}");
    }
    built(work, "build", "tree", &["-x", "t.tar"]);
}

#[test]
fn owners_and_groups_are_mapped() {
    let dir = scratch();
    let work = dir.path();
    fs::create_dir(work.join("tree")).unwrap();
    fs::write(work.join("tree/f"), "f").unwrap();
    let tar = |name: &str, owner: &str, group: &str| {
        let mut tar = Command::new("tar");
        tar.current_dir(work)
            .args(["-C", "tree", "-rf", "t.tar", "--transform", name]);
        tar.args([
            format!("--owner=:{owner}"),
            format!("--group=:{group}"),
            "f".to_owned(),
        ]);
        assert!(tar.status().unwrap().success());
    };
    tar("s/f/a/", "0", "0");
    tar("s/f/b/", "999", "5");
    tar("s/f/c/", "1000", "6");
    let flags = [
        "--uid-map=0:100000:1000",
        "--uid-map=999:1",
        "--gid-map=5:7",
        "--id-offset=10",
        "-fsquashfs",
        "-l1",
    ];
    let mut build = sinter();
    build
        .current_dir(work)
        .args(["build", "t.tar", "-q", "-o", "t.sqfs"]);
    assert!(build.args(flags).status().unwrap().success());
    if !has("unsquashfs") {
        return;
    }
    let list = Command::new("unsquashfs")
        .arg("-lln")
        .arg(work.join("t.sqfs"))
        .output()
        .unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    for (name, ids) in [("a", "100010/10"), ("b", "101009/17"), ("c", "1010/16")] {
        let line = list
            .lines()
            .find(|line| line.ends_with(&format!("root/{name}")));
        assert!(
            line.unwrap().contains(&format!(" {ids} ")),
            "{name}: {list}"
        );
    }
    for wrong in [
        ["--uid-map=1", "-q"],
        ["--uid-map=1:2", "--all-root"],
        ["--gid-map=1:2", "--set-group=3"],
    ] {
        let mut build = sinter();
        build
            .current_dir(work)
            .args(["build", "t.tar", "-o", "no.sqfs"])
            .args(wrong);
        assert_eq!(build.output().unwrap().status.code(), Some(2), "{wrong:?}");
    }
}
