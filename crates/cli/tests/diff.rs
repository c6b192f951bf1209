//! `sinter diff`: every kind of change between directories and images is shown, and nothing else.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use support::{run, scratch, sinter};

/// Runs a comparison; gives exit code and lines.
fn diff(work: &Path, args: &[&str]) -> (i32, Vec<String>) {
    let output = sinter()
        .current_dir(work)
        .arg("diff")
        .args(args)
        .output()
        .unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let code = output.status.code().unwrap();
    assert!(
        output.stderr.is_empty(),
        "{:?}",
        String::from_utf8_lossy(&output.stderr)
    );
    (code, lines.lines().map(str::to_owned).collect())
}

fn make(tree: &Path) {
    fs::create_dir_all(tree.join("dir/sub")).unwrap();
    for (name, content) in [
        ("same", "same"),
        ("bytes", "abcdef"),
        ("longer", "abc"),
        ("mode", "mode"),
        ("time", "time"),
        ("gone", "gone"),
        ("moved", "the file that goes elsewhere"),
        ("twin", "two of them"),
        ("dir/becomes-file", "x"),
        ("dir/sub/deep", "deep"),
        ("\u{7}odd\n", "odd"),
    ] {
        fs::write(tree.join(name), content).unwrap();
    }
    fs::File::create(tree.join("hole"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    fs::hard_link(tree.join("twin"), tree.join("twin2")).unwrap();
    symlink("a", tree.join("link")).unwrap();
    set_times(tree);
}

/// Returns everything the same time.
fn set_times(dir: &Path) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_symlink() && path.is_dir() {
            set_times(&path);
        }
        set_time(&path, 1_000_000_000);
    }
    set_time(dir, 1_000_000_000);
}

fn set_time(path: &Path, secs: u64) {
    let time = rustix::fs::Timespec {
        tv_sec: secs.cast_signed(),
        tv_nsec: 5,
    };
    let times = rustix::fs::Timestamps {
        last_access: time,
        last_modification: time,
    };
    let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
    rustix::fs::utimensat(rustix::fs::CWD, path, &times, flags).unwrap();
}

fn change(tree: &Path) {
    fs::write(tree.join("bytes"), "abcdEf").unwrap();
    fs::write(tree.join("longer"), "abcd").unwrap();
    fs::set_permissions(tree.join("mode"), fs::Permissions::from_mode(0o4711)).unwrap();
    fs::remove_file(tree.join("gone")).unwrap();
    fs::rename(tree.join("moved"), tree.join("dir/elsewhere")).unwrap();
    fs::remove_file(tree.join("twin2")).unwrap();
    fs::remove_file(tree.join("dir/becomes-file")).unwrap();
    fs::create_dir(tree.join("dir/becomes-file")).unwrap();
    fs::write(tree.join("dir/becomes-file/inside"), "i").unwrap();
    fs::remove_dir_all(tree.join("dir/sub")).unwrap();
    fs::remove_file(tree.join("link")).unwrap();
    symlink("b", tree.join("link")).unwrap();
    fs::write(tree.join("new"), "new").unwrap();
    // a byte in the middle of a terabyte
    let hole = fs::OpenOptions::new()
        .write(true)
        .open(tree.join("hole"))
        .unwrap();
    std::os::unix::fs::FileExt::write_all_at(&hole, b"!", 1 << 39).unwrap();
    drop(hole);
    fs::set_permissions(
        tree.join("dir/becomes-file"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    fs::set_permissions(
        tree.join("dir/becomes-file/inside"),
        fs::Permissions::from_mode(0o644),
    )
    .unwrap();
    set_times(tree);
    set_time(&tree.join("time"), 1_000_000_001);
}

const CHANGES: &[&str] = &[
    "~ bytes: content",
    "~ dir/becomes-file: type - -> d, mode 0644 -> 0755",
    "+ dir/becomes-file/inside",
    "- dir/sub",
    "- dir/sub/deep",
    "- gone",
    "~ hole: content",
    "~ link: target a -> b",
    "~ longer: size 3 -> 4",
    "~ mode: mode 0644 -> 4711",
    "> moved -> dir/elsewhere",
    "+ new",
    "~ time: mtime 1000000000.000000005 -> 1000000001.000000005",
    "~ twin: links 2, first twin -> 1",
    "- twin2",
];

#[test]
fn every_change_is_shown_for_every_pair_of_sources() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    make(&path("old"));
    make(&path("new"));
    assert_eq!(diff(work.path(), &["old", "new"]), (0, Vec::new()));
    change(&path("new"));
    let build = |tree: &str, image: &str, flags: &[&str]| {
        let paths = [path(tree), "-o".into(), path(image)];
        let args = ["build", "-q", "-l1"]
            .iter()
            .chain(flags)
            .map(std::path::PathBuf::from);
        run(args.chain(paths));
    };
    build("old", "old.dwarfs", &["--time-resolution=1ns"]);
    build("new", "new.dwarfs", &["--time-resolution=1ns"]);
    build("new", "new.erofs", &[]);
    build("old", "old.squashfs", &[]);
    assert_eq!(diff(work.path(), &["old", "old.dwarfs"]), (0, Vec::new()));
    assert_eq!(diff(work.path(), &["old.squashfs", "old"]), (0, Vec::new()));
    assert_eq!(
        diff(work.path(), &["new.erofs", "new.dwarfs"]),
        (0, Vec::new())
    );
    for pair in [
        ["old", "new"],
        ["old", "new.dwarfs"],
        ["old.dwarfs", "new.erofs"],
        ["old.dwarfs", "new.dwarfs"],
    ] {
        for threads in ["-j1", "-j5"] {
            let (code, lines) = diff(work.path(), &[pair[0], pair[1], threads]);
            assert_eq!(lines, CHANGES, "{pair:?}");
            assert_eq!(code, 1);
        }
    }
    // whole seconds are all that SquashFS has
    let (_, lines) = diff(work.path(), &["old.squashfs", "new.dwarfs"]);
    assert!(
        lines.contains(&"~ time: mtime 1000000000 -> 1000000001".to_owned()),
        "{lines:?}"
    );
    let (_, lines) = diff(work.path(), &["new", "old"]);
    assert!(
        lines.contains(&"> dir/elsewhere -> moved".to_owned()),
        "{lines:?}"
    );
}

#[test]
fn fields_can_be_ignored_and_json_says_the_same() {
    let work = scratch();
    make(&work.path().join("old"));
    make(&work.path().join("new"));
    change(&work.path().join("new"));
    let all = "--ignore=type,mode,size,mtime,target,links,content";
    let (code, lines) = diff(work.path(), &["old", "new", all, "--no-renames"]);
    assert_eq!(code, 1);
    assert_eq!(
        lines,
        [
            "+ dir/becomes-file/inside",
            "+ dir/elsewhere",
            "- dir/sub",
            "- dir/sub/deep",
            "- gone",
            "- moved",
            "+ new",
            "- twin2",
        ]
    );
    let (_, json) = diff(work.path(), &["old", "new", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.join("\n")).unwrap();
    let changes = json["changes"].as_array().unwrap();
    assert_eq!(changes.len(), CHANGES.len());
    assert_eq!(
        changes[9]["fields"]["mode"],
        serde_json::json!(["0644", "4711"])
    );
    assert_eq!(changes[10]["to"], "dir/elsewhere");
    let wrong = sinter()
        .args(["diff", "--ignore=colour", "a", "b"])
        .output()
        .unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    let absent = sinter()
        .current_dir(work.path())
        .args(["diff", "old", "absent"])
        .output();
    assert_eq!(absent.unwrap().status.code(), Some(5));
}

#[test]
fn a_damaged_image_is_an_error_and_no_difference() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    make(&path("old"));
    run([
        Path::new("build"),
        Path::new("-q"),
        Path::new("-l0"),
        &path("old"),
        Path::new("-o"),
        &path("old.dwarfs"),
    ]);
    let mut image = fs::read(path("old.dwarfs")).unwrap();
    let at = image
        .windows(9)
        .position(|bytes| bytes == b"goes else")
        .unwrap();
    image[at] ^= 1;
    fs::write(path("old.dwarfs"), image).unwrap();
    let output = sinter()
        .current_dir(work.path())
        .args(["diff", "old.dwarfs", "old"])
        .output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}
